"""What a build costs when nothing has changed: `nox -s bench -- cache_warm`.

CPU time of this process, the least of several builds. A build is all that a front end asks the core for: options are
read, manifests compared, pictures read and fitted into their pages; only the tool's own work is not in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import Figure, show
from torchrecorder.page import Outcome
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import DiagramRequest, Settings, read_request
from torchrecorder.worker.client import Worker

_REPEAT = 7
_LAYER = """from torch import nn

class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc, self.act, self.norm = nn.Linear(width, width), nn.ReLU(), nn.LayerNorm(width)

    def forward(self, x):
        return x + self.norm(self.act(self.fc(x)))
"""
_NET = """from torch import nn
from {package}.layer import Layer

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.Sequential(*(Layer(8) for _ in range(depth)))
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.blocks(x))
"""


def main() -> None:
    """Print the figures."""
    show(rows())


def rows() -> Iterator[Figure | str]:
    """The figures, each beside its goal."""
    with tempfile.TemporaryDirectory(prefix="torchrecorder-bench-") as folder:
        yield from _many_diagrams(Path(folder, "many"))
        yield from _large_package(Path(folder, "large"))


def _many_diagrams(root: Path) -> Iterator[Figure | str]:
    """100 models of one package, from the cache of this machine and from a committed one."""
    _write(root / "nets", {"__init__": "", "layer": _LAYER, "net": _NET.format(package="nets")})
    requests = [read_request(f"nets.net.Net({2 + i})", {"shape": "1,8"}) for i in range(100)]
    local = Settings.for_project(root, path=["."])
    committed = replace(local, cache=root / "local", committed=root / "diagrams")
    for name, settings in (("own", local), ("committed", committed)):
        Pipeline(settings, writes_committed=True).run(requests)
        for what, end in (("found (Sphinx)", _signatures), ("shown (MkDocs)", pictures)):
            seconds = _least(lambda s=settings, f=end: f(Pipeline(s, _no_worker).run(requests)))
            yield Figure(f"100 diagrams, {name} cache, {what}", seconds * 1e3, "ms", 10)
    yield f"modules loaded besides: {_loaded(root) or 'none'}"


def _large_package(root: Path) -> Iterator[Figure]:
    """A model of a package with 228 modules, as timm has, and ten more of them."""
    parts = {f"part{i}": _LAYER for i in range(225)}
    imports = "".join(f"from large import part{i}\n" for i in range(225))
    _write(root / "large", {"__init__": imports, "layer": _LAYER, "net": _NET.format(package="large")})
    _write(root / "large", parts)
    requests = [read_request(f"large.net.Net({2 + i})", {"shape": "1,8"}) for i in range(51)]
    settings = Settings.for_project(root, path=["."])
    Pipeline(settings).run(requests)
    one = _least(lambda: _check(settings, requests[:1]))
    all_ = _least(lambda: _check(settings, requests))
    yield Figure("check of a package of 228 modules", one * 1e3, "ms", 15)
    yield Figure("each further diagram of it", max(0.0, all_ - one) / 50 * 1e3, "ms", 0.1)


def _signatures(outcomes: dict[DiagramRequest, Outcome]) -> None:
    for outcome in outcomes.values():
        assert outcome.diagram is not None, outcome.error
        outcome.signature()
        _ = outcome.diagram.classes


def pictures(outcomes: dict[DiagramRequest, Outcome]) -> None:
    for outcome in outcomes.values():
        diagram = outcome.loaded().diagram
        assert diagram is not None, outcome.error
        _ = diagram.svg


def _check(settings: Settings, requests: list[DiagramRequest]) -> None:
    recordings = Pipeline(settings).recordings()
    for request in requests:
        assert recordings.kept(request.recording) is not None


def _no_worker(path: object) -> Worker:
    raise AssertionError("a build in which nothing changed starts no process")


def _write(folder: Path, modules: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        file = folder / f"{name}.py"
        file.write_text(text)
        os.utime(file, (1e9, 1e9))


def _least(work: Callable[[], None]) -> float:
    work()
    times = []
    for _ in range(_REPEAT):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


_PROBE = """
import sys
from pathlib import Path
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import Settings, read_request
root = Path(sys.argv[1])
request = read_request("nets.net.Net(2)", {"shape": "1,8"})
outcome = Pipeline(Settings.for_project(root, path=["."])).run([request])[request]
assert outcome.diagram and outcome.diagram.svg
print(*sorted({"torch", "graphviz", "nets", "numpy", "subprocess"} & set(sys.modules)))
"""


def _loaded(root: Path) -> str:
    command = [sys.executable, "-c", _PROBE, str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
