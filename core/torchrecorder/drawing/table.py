"""The layers of a model as rows, for a table beside the picture or in place of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from torchrecorder.drawing.labels.flops import flops_by_call
from torchrecorder.drawing.labels.names import class_name, clean, run_name
from torchrecorder.drawing.labels.units import shape
from torchrecorder.graph import Graph
from torchrecorder.view.fold import CallRun, call_runs

MAX_ROWS = 1000
_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One layer, or several that are the same again."""

    label: str
    """Its depth and its number among all of that depth, `2-1`; `0` for the model."""
    level: int
    name: str
    """Its path from the layer around it."""
    layer: str
    """Its class."""
    repeat: int
    output: str
    """The shapes it gives."""
    params: int
    """Parameters of one of them."""
    flops: int
    """Floating-point operations of one of them; 0 where no rule is known."""


def layer_table(graph: Graph, *, depth: int | Literal["all"] = "all") -> tuple[Row, ...]:
    """The rows of the model, a layer before those in it, up to `MAX_ROWS`.

    Args:
        graph: The Graph.
        depth: How many levels of calls below the model are listed.
    """
    return tuple(row for row, _ in zip(_rows(graph, call_runs(graph, depth)), range(MAX_ROWS), strict=False))


def _rows(graph: Graph, runs: list[CallRun]) -> Iterator[Row]:
    flops = flops_by_call(graph)
    numbers: dict[int, int] = {}
    for run in runs:
        number = numbers[run.level] = numbers.get(run.level, 0) + 1
        call = graph.calls[run.calls[0]]
        module = graph.modules.get(call.module) if call.kind == "module" else None
        around = "" if call.parent is None else graph.calls[call.parent].module
        name = run_name(graph, [graph.calls[c].module for c in run.calls], around)
        outputs = (graph.values[value].meta for value in call.outputs.values())
        yield Row(
            label=f"{run.level}-{number}" if run.level else "0",
            level=run.level,
            name=clean(name, _MAX_NAME),
            layer=clean(class_name(module) if module else call.module, _MAX_NAME),
            repeat=len(run.calls),
            output=", ".join(shape(meta.shape) for meta in outputs if meta),
            params=module.params.total if module else 0,
            flops=flops.get(call.id, 0),
        )
