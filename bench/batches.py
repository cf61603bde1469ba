"""Whether axes that are said to follow the batch do: nets of the lists of `unseen.py`, recorded again with more of it.

    python bench/batches.py own/impala own/deeponet …   # without a name all of them

Each input is repeated along its axes that are said to be the batch; then all sizes that are said to follow it are to be
as many times larger, and no others. Of nets that do something else for more examples it is only counted that they do.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "core")]

from bench.figures import Figure, show  # noqa: E402
from bench.unseen import NETS  # noqa: E402
from torchrecorder import capture  # noqa: E402
from torchrecorder.errors import ForwardError  # noqa: E402
from torchrecorder.graph import Graph  # noqa: E402
from torchrecorder.running.nested import map_tensors, named_tensors  # noqa: E402

TIMES = 3


def main() -> None:
    graphs: list[Graph] = []
    others, wrong, missed = 0, 0, 0
    for net in NETS:
        if net.name in sys.argv[1:] or not sys.argv[1:]:
            model, args, kwargs = net.load()
            with torch.no_grad():
                graphs.append(graph := capture(model, args, kwargs))
                again = _again(graph, *net.load()) if graph.batch else graph
            if again is None or [op.name for op in graph.ops] != [op.name for op in again.ops]:
                others += 1
                print(f"{net.name}: no other batch")
                continue
            for value in (value for op in graph.ops for value in op.outputs):
                axes, before, after = graph.batch.get(value, ()), graph.values[value].shape, again.values[value].shape
                for axis, (size, more) in enumerate(zip(before, after, strict=True)):
                    if axis in axes and more != size * TIMES:
                        wrong += 1
                        print(f"{net.name}: axis {axis} of {before} is said to follow, and is {more}")
                    missed += axis not in axes and more != size
    show(
        [
            Figure("nets that say where the batch is, of " + str(len(graphs)), sum(bool(g.batch) for g in graphs), ""),
            Figure("nets that do something else with more of it", others, ""),
            Figure("axes said to follow the batch that do not", wrong, "", 0),
            Figure("axes not said to follow it that do", missed, ""),
        ]
    )


def _again(graph: Graph, model: Any, args: Any, kwargs: Any) -> Graph | None:
    """The recording with larger inputs; None if the net takes no other batch."""
    inputs = dict(named_tensors((args, kwargs), objects=True))
    begun = list(graph.inputs.values())
    if len(inputs) != len(begun):
        return None
    axes = dict(zip(map(id, inputs.values()), (graph.batch.get(value, ()) for value in begun), strict=True))

    def larger(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.repeat([TIMES if axis in axes[id(tensor)] else 1 for axis in range(tensor.ndim)])

    try:
        return capture(model, *map_tensors((args, kwargs), larger))
    except ForwardError:
        return None


if __name__ == "__main__":
    main()
