"""Whether pictures are true, and what it costs to prove it: `nox -s bench -- proofs`.

The pictures are those of 100 real models and of the nets that tests have, at three depths and with the options that
change what is drawn. Folders of Graphs as JSON may be given instead: `python bench/proofs.py FOLDER ...`.
"""

from __future__ import annotations

import gc
import importlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "core")]

from bench.figures import Figure, show  # noqa: E402
from bench.picture_graphs import graphs  # noqa: E402
from torchrecorder.drawing.draw import DrawJob, draw  # noqa: E402
from torchrecorder.engine import find_engine  # noqa: E402
from torchrecorder.graph import Graph, from_json  # noqa: E402
from torchrecorder.labels.labels import words  # noqa: E402
from torchrecorder.proof import ProvedViews, Prover  # noqa: E402
from torchrecorder.request import DrawingOptions  # noqa: E402
from torchrecorder.view import Views  # noqa: E402

drawing: Any = importlib.import_module("torchrecorder.drawing.draw")

ASKED = {
    "auto": DrawingOptions(),
    "1": DrawingOptions(depth=1),
    "all": DrawingOptions(depth="all"),
    "fold: no": DrawingOptions(fold=False),
    "expand: **": DrawingOptions(expand=("**",)),
    "collapse: *": DrawingOptions(collapse=("*",)),
}
"""What is asked for, by what it is called in a figure; a focus is on a module of each Graph."""


def main(folders: list[str]) -> None:
    if folders:
        sets = {Path(folder).name: read(Path(folder)) for folder in folders}
    else:
        sets = {"real models": graphs([]), "nets of tests": nets()}
    for name, of_set in sets.items():
        show(truth(name, of_set))
    show(cost(next(iter(sets.values()))))


def read(folder: Path) -> dict[str, Graph]:
    return {file.stem: from_json(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))}


def nets() -> dict[str, Graph]:
    """The nets whose pictures were false once, and those of all constructs."""
    import torch

    from tests.core.proof.folded_nets import FOLDED
    from tests.core.proof.loop_nets import LOOPS
    from tests.core.proof.part_nets import PARTS
    from tests.core.proof.unseen_nets import UNSEEN
    from tests.truth.all import CASES
    from torchrecorder.recording.run import capture

    recorded = {}
    with torch.no_grad():
        for case in CASES:
            args, kwargs = case.inputs()
            recorded[case.name] = capture(case.build(), args, kwargs, mode="train" if case.train else "eval")
        for entry in (*LOOPS, *UNSEEN, *FOLDED, *PARTS):
            model, args, kwargs = entry.load()
            recorded[entry.name] = capture(model, args, kwargs)
    return recorded


def truth(name: str, of_set: Mapping[str, Graph]) -> Iterator[Figure | str]:
    """Faults that are left, and what was drawn with less merging; each with its reason as a remark."""
    for asked in (*ASKED, "focus"):
        count = Counter[str]()
        for model, graph in of_set.items():
            options = ASKED.get(asked) or DrawingOptions(focus=first_block(graph) or "")
            try:
                view = ProvedViews(Views(graph, options), words).view()
                left = Prover(view.graph, words).faults(view)
            except Exception as error:
                count["raised"] += 1
                yield f"{name}, {asked}, {model}: raised {error!r}"
                continue
            count["faults"] += len(left)
            count["weakened"] += bool(view.weakened)
            if left or view.weakened:
                yield f"{name}, {asked}, {model}: {left[0].words if left else 'weakened: ' + view.weakened[0]}"
        yield Figure(f"{name} ({len(of_set)}), {asked}: faults left in pictures", count["faults"], goal=0)
        yield Figure(f"{name}, {asked}: pictures that raise", count["raised"], goal=0)
        share = 100 * count["weakened"] / max(len(of_set), 1)
        yield Figure(f"{name}, {asked}: drawn with less merging", share, "%", 5)


def first_block(graph: Graph) -> str | None:
    """The first module with others in it."""
    parents = {call.parent for call in graph.calls}
    blocks = (call.module for call in graph.calls[1:] if call.id in parents and call.kind == "module")
    return next(blocks, None)


def cost(of_set: Mapping[str, Graph]) -> Iterator[Figure]:
    """The time of the proofs of all Views and layouts, those of closed layers included, in what is drawn.

    The least of three runs, without the collector's passes over the many Graphs that only a benchmark holds at once.
    """
    jobs = [DrawJob(graph, "0" * 12, DrawingOptions()) for graph in of_set.values()]
    engine = find_engine("auto")
    draw(jobs[:3], engine)
    gc.collect()
    gc.freeze()
    shares = []
    for _ in range(3):
        with timed(Prover, "faults") as views, timed(drawing, "faults") as layouts:
            start = time.perf_counter()
            draw(jobs, engine)
            whole = time.perf_counter() - start
        shares.append((100 * views[0] / whole, 100 * layouts[0] / whole))
    gc.unfreeze()
    yield Figure("proof of Views, of drawing", min(view for view, _ in shares), "%", 5)
    yield Figure("proof of layouts, of drawing", min(layout for _, layout in shares), "%", 5)


@contextmanager
def timed(owner: Any, name: str) -> Iterator[list[float]]:
    """How many seconds a function takes in all, once the block is left."""
    spent, plain = [0.0], getattr(owner, name)

    def timed_function(*arguments: object) -> object:
        start = time.perf_counter()
        result = plain(*arguments)
        spent[0] += time.perf_counter() - start
        return result

    setattr(owner, name, timed_function)
    try:
        yield spent
    finally:
        setattr(owner, name, plain)


if __name__ == "__main__":
    main(sys.argv[1:])
