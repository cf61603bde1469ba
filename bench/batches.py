"""Whether axes that are said to follow the batch do: models of lists of `unseen.py`, recorded again with more of it.

    python bench/batches.py 359             # a list; all of them without a number
    python bench/batches.py 359 own/rife …  # of a list, some

Each input is repeated along its axes that are said to be the batch, or along the first of all if none is said; then all
sizes that are said to follow it are to be as many times larger, and no others. Of models that do something else for
more examples, as those that take them one by one, only what layers give is looked at that run as often. For a size
that follows but is not said to, the op that loses it is told; where none is said, the line that refutes it.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import torch

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "core")]

from bench.figures import Figure, show  # noqa: E402
from bench.unseen import NETS, names  # noqa: E402
from bench.zoo import host  # noqa: E402
from bench.zoo.libraries import LIBRARIES  # noqa: E402
from torchrecorder import capture  # noqa: E402
from torchrecorder.graph import Graph  # noqa: E402
from torchrecorder.graph.batch import lost  # noqa: E402
from torchrecorder.recording import batch_axes  # noqa: E402
from torchrecorder.running.nested import map_tensors, named_tensors  # noqa: E402

TIMES = 3
OF_NETS = {net.name: net for net in NETS}
WRONG, MISSED, UNSAID = (
    "said to follow it that do not",
    "that follow it and are numbers",
    "that follow it and are left out",
)
LAYERS = "that follow it in layers of other ops"


def main() -> None:
    seeds = [word for word in sys.argv[1:] if word.isdigit()]
    chosen = [word for word in sys.argv[1:] if not word.isdigit()]
    models = [name for seed in seeds or [""] for name in names(*filter(None, [seed]))]
    host.define_missing_operators()
    counts, of_models = Counter[str](), Counter[str]()
    for name in models:
        if not chosen or name in chosen:
            result, died = host.in_child(partial(_phases, name), {"found": {}, "lines": []})
            found = Counter({died: 1} if died else result["found"])
            print(*result["lines"], sep="\n", end="\n" * bool(result["lines"]))
            counts += found
            of_models.update([*found])
            print(f"{name}: {dict(found)}", flush=True)
    show(
        [
            *(Figure(f"models: {what}", count, "") for what, count in sorted(of_models.items())),
            *(Figure(f"sizes {what}", counts[what], "") for what in (WRONG, MISSED, UNSAID, LAYERS)),
        ]
    )


def _phases(name: str) -> Iterator[host.Result]:
    lines: list[str] = []
    try:
        with torch.no_grad():
            found = Counter(_findings(name, lines))
    except Exception as error:
        found = Counter({f"{type(error).__name__}: {error}"[:100]: 1})
    yield {"done": True, "found": found, "lines": lines}


class _Told(batch_axes._Trial):
    """A trial of an axis that tells where it was given up."""

    where: ClassVar[list[str]] = []

    def __setattr__(self, name: str, value: object) -> None:
        if value is True and name in ("is_refuted", "has_decided", "is_doubted") and not getattr(self, name, False):
            own = [it for it in traceback.extract_stack() if not re.search(r"/torch/|/torchrecorder/", it.filename)]
            at = own[-2]
            self.where.append(f"    {name} of {self.batch}: {Path(at.filename).name}:{at.lineno} {at.line}")
        super().__setattr__(name, value)


def _findings(name: str, lines: list[str]) -> Iterator[str]:
    """The kind of each finding; of sizes that are not said, the ops that lose them are added to the lines."""
    build, args, kwargs, graph = _loaded(name)
    if not graph.batch:
        lines += dict.fromkeys(_Told.where)
        yield "no batch is said"
    try:
        again = _again(graph, build(), args, kwargs)
    except Exception:
        again = None
    if again is None or _ops(graph) != _ops(again):
        yield "other ops with more of it" if again else "not recorded with more of it"
        for before, after, axes in _of_layers(graph, again) if again else ():
            yield from [WRONG for axis in axes if after[axis] != before[axis] * TIMES]
            yield from [LAYERS] * bool(axes)
        return
    doubtful = lost(graph)
    is_missed: set[int] = set()
    for op in graph.ops:
        for value in op.outputs:
            before, after = graph.values[value].shape, again.values[value].shape
            axes, others = graph.batch.get(value, ()), [*zip(before, after, strict=True)]
            follows = tuple(axis for axis, (size, more) in enumerate(others) if size != more)
            yield from [WRONG for axis in axes if axis not in follows or after[axis] != before[axis] * TIMES]
            missed = [UNSAID if value in doubtful else MISSED for axis in follows if axis not in axes]
            yield from missed
            if missed or {*axes} - {*follows}:
                is_missed.add(value)
                if graph.batch and is_missed.isdisjoint(op.inputs):
                    said = [(graph.values[it].shape, graph.batch.get(it, ())) for it in op.inputs]
                    lines.append(f"    {op.name} {dict(op.attrs)} {said} → {before} {after} said {axes} {op.source}")


def _of_layers(graph: Graph, again: Graph) -> Iterator[tuple[Sequence[Any], Sequence[Any], Sequence[int]]]:
    """Shapes of what a layer gives in both recordings, and its axes that are said to follow the batch."""
    here, there = (Counter(call.module for call in it.calls) for it in (graph, again))
    calls = {call.module: call for call in again.calls if here[call.module] == there[call.module] == 1}
    for call in (call for call in graph.calls if call.module in calls):
        for path, value in call.outputs.items():
            if (other := calls[call.module].outputs.get(path)) is not None:
                shapes = graph.values[value].shape, again.values[other].shape
                if len({*map(len, shapes)}) == 1:
                    yield *shapes, graph.batch.get(value, ())


def _ops(graph: Graph) -> list[tuple[str, list[int]]]:
    """The ops in their order, each with how many axes its outputs have: `squeeze` takes that of a single example."""
    return [(op.name, [len(graph.values[value].shape) for value in op.outputs]) for op in graph.ops]


def _loaded(name: str) -> tuple[Callable[[], Any], Any, Any, Graph]:
    """How the model is built again, its inputs, and its recording: the first, since code may keep sizes of one."""
    vars(batch_axes)["_Trial"] = _Told
    torch.manual_seed(0)
    if name in OF_NETS:
        model, args, kwargs = OF_NETS[name].load()
        return lambda: OF_NETS[name].load()[0], args, kwargs, capture(model, args, kwargs)
    entry = next(entry for entry in LIBRARIES[name.partition("/")[0]]() if entry.name == name)
    inputs, graph = host.recorded(entry.build().eval())
    torch.manual_seed(0)
    return lambda: entry.build().eval(), inputs.args, inputs.kwargs, graph


def _again(graph: Graph, model: Any, args: Any, kwargs: Any) -> Graph | None:
    """The recording with larger inputs; None if it is not known which of them those are."""
    inputs = dict(named_tensors((args, kwargs), objects=True))
    begun = list(graph.inputs.values())
    if len(inputs) != len(begun):
        return None
    given = zip(map(id, inputs.values()), begun, strict=True)
    axes = {at: graph.batch.get(value, () if graph.batch else (0,)) for at, value in given}

    def larger(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.repeat([TIMES if axis in axes[id(tensor)] else 1 for axis in range(tensor.ndim)])

    return capture(model, *map_tensors((args, kwargs), larger), run="meta" if graph.info.executed == "meta" else "auto")


if __name__ == "__main__":
    main()
