"""What drawing costs, and how large pictures are: `nox -s bench -- draw`.

Prints readings of this machine beside the goals of the design. Other packages are put into folders of their own; where
one is not available, only our own numbers are printed.
"""

from __future__ import annotations

import atexit
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

import torchrecorder
from bench.figures import Figure, show
from bench.nets import MODELS
from tests.core.drawing.engines import finish, link
from tests.core.graph.building import Net, chain
from tests.corpus.torchvision_ops import define_missing_operators
from torchrecorder.engine import find_engine
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import to_dot
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view


def residual(n: int, *, mask: bool = False, skips: int = 0) -> Graph:
    """N ops and layers in residual blocks that are all different, one mask for all, long skips between the ends."""
    net = Net("Big")
    x, given, kept = net.input("x", 1, 4), net.input("mask", 1, 4) if mask else None, []
    for i in range(n // 4):
        with net.call(f"b{i}", f"Block{i}"):
            y = net.layer(f"b{i}.a", "Linear", x, said=f"in_features=4, out_features={i}")
            y = net.op("mul", y, given) if given is not None else net.layer(f"b{i}.b", "ReLU", y)
            x = net.op("add", x, net.layer(f"b{i}.c", "Linear", y, said=f"in_features={i}, out_features=4"))
        if skips and i < n // 8 and i % (n // 8 // skips) == 0:
            kept.append(x)
        if skips and i > n // 8 and kept and i % (n // 8 // skips) == 1:
            x = net.op("cat", x, kept.pop())
    return net.graph(x)


def sizes() -> Iterator[Figure | str]:
    """Bytes of pictures, in ratios to those of other packages."""
    for name, (build, shape) in MODELS.items():
        torch.manual_seed(0)
        net = build().eval()
        ours = {
            "unfolded": len(torchrecorder.draw(net, shape=shape, depth="all", fold=False).svg),
            "folded": len(torchrecorder.draw(net, shape=shape, depth="all").svg),
        }
        yield f"{name}, full depth: {ours['unfolded'] / 1000:.0f} kB unfolded, {ours['folded'] / 1000:.0f} kB folded"
        for other, goal in (("torchview", 0.5), ("torchrecorder", 0.6)):
            theirs, remark = _theirs(other, name)
            if not theirs:
                yield f"    {other}: {remark}"
            else:
                yield f"    {other} {theirs / 1000:.0f} kB{remark}"
                for kind, size in ours.items() if not remark else ():
                    yield Figure(f"{name}, full depth, {kind}: bytes to {other}'s", size / theirs, "×", goal)


def _theirs(package: str, model: str) -> tuple[int, str]:
    """Bytes of another package's SVG at full depth, and a remark; 0 and why, if there is none.

    It runs in a process of its own, with a folder of its own, because an old torchrecorder has our name.
    """
    folder = _folder(package)
    if not folder:
        return 0, "cannot be installed"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((folder, str(Path(__file__).parents[1])))}
    command = [sys.executable, "-c", _SCRIPTS[package], model]
    made = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if made.returncode:
        return 0, f"draws nothing, {made.stderr.splitlines()[-1]}"
    said = made.stderr.split()
    remark = f" at depth {said[-1]}, the deepest that it draws" if said and said[-1] in "1234" else ""
    command = [str(find_engine().path), "-Tsvg"]
    return len(subprocess.run(command, input=made.stdout.encode(), capture_output=True, check=True).stdout), remark


@cache
def _folder(package: str) -> str:
    """Where the package is, put there by pip without its dependencies; empty if that fails."""
    folder = tempfile.mkdtemp(prefix="bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, _PINS[package]]
    return folder if not subprocess.run(command, capture_output=True, check=False).returncode else ""


_PINS = {"torchview": "torchview==0.2.7", "torchrecorder": "torchrecorder==1.0.3"}
_SCRIPTS = {
    "torchview": """
import sys
from bench.nets import MODELS
from torchview import draw_graph
build, shape = MODELS[sys.argv[1]]
print(draw_graph(build(), input_size=shape, depth=20, expand_nested=True).visual_graph.source)
""",
    "torchrecorder": """
import sys
import torchrecorder
from bench.nets import MODELS
build, shape = MODELS[sys.argv[1]]
rec = torchrecorder.record(build(), "net", input_shapes=shape)
for depth in (256, 4, 3, 2, 1):  # it raises an IndexError at the depth of the last layers and beyond
    try:
        print(torchrecorder.make_dot(rec, render_depth=depth).source)
        break
    except IndexError:
        continue
else:
    sys.exit("no depth can be drawn")
print(depth, file=sys.stderr)
""",
}


def times() -> Iterator[Figure | str]:
    """What layout costs the engine and the rest costs us."""
    graphs = {
        "chain of 500": (chain(500), ALL),
        "residual, 500 with 8 long skips": (residual(500, skips=8), ALL),
        "residual, 500 with one mask for all": (residual(500, mask=True), ALL),
        "BERT-base at depth 3": (_bert(), DrawingOptions(depth=3)),
    }
    for name, (graph, options) in graphs.items():
        yield from _time(name, graph, options)


ALL = DrawingOptions(depth="all", expand=("**",))


def _bert() -> Graph:
    define_missing_operators()  # transformers imports torchvision where it is installed
    from transformers import BertConfig, BertModel

    with torch.device("meta"):
        net = BertModel(BertConfig()).eval()
        return capture(net, (torch.zeros(1, 16, dtype=torch.long),))


def _time(name: str, graph: Graph, options: DrawingOptions, times: int = 5) -> Iterator[Figure]:
    """The least of several readings, because other work on the machine only adds to them."""
    readings = [_reading(graph, options) for _ in range(times)]
    n, own, child = readings[0][0], min(r[1] for r in readings), min(r[2] for r in readings)
    yield Figure(f"{name}: layout of {n} nodes by the engine", child, "s", 0.2 if name.startswith("BERT") else None)
    if n > 100:
        yield Figure(f"{name}: own share for 1,000 nodes", own / n * 1e6, "ms", 60)


def _reading(graph: Graph, options: DrawingOptions) -> tuple[int, float, float]:
    """Number of nodes, our own seconds, and those of the engine's process."""
    begun = time.process_time()
    view = make_view(graph, options)
    source = to_dot(view).source
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    drawn_at = time.process_time()
    (layout,) = find_engine().layout([source], timeout_s=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    laid_out_at = time.process_time()
    assert isinstance(layout, str), layout
    link(finish(layout, uid="p", title="", desc=""), {})
    own = time.process_time() - laid_out_at + drawn_at - begun
    return len(view.nodes), own, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    show(reading for readings in (sizes, times) for reading in readings())
