"""The model as a tree of lines, for readers of plain text: terminals, manual pages, screen readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from torchrecorder.drawing.labels.names import class_name, clean, run_name
from torchrecorder.drawing.labels.summaries import summary
from torchrecorder.drawing.labels.units import count, shape
from torchrecorder.graph import Graph, Module
from torchrecorder.view.fold import CallRun, call_runs

MAX_LINES = 400
_NAME_WIDTH = 100


@dataclass(frozen=True, slots=True)
class _Row:
    stem: str
    """The branches before the name."""
    name: str
    line: str
    shape: str
    params: str


def tree(graph: Graph, *, depth: int | Literal["all"] = "all") -> str:
    """The calls of the model, one a line, with the shape each gives and its parameters.

    Equal neighbours are one line with `×N`.

    Args:
        graph: The Graph.
        depth: How many levels of calls below the model are listed.
    """
    rows = [_row(graph, run, stem) for run, stem in _stems(call_runs(graph, depth))]
    left = "\n".join(_aligned(rows[:MAX_LINES]))
    more = len(rows) - MAX_LINES
    return left + (f"\n… {more} more\n" if more > 0 else "\n")


def _stems(runs: Sequence[CallRun]) -> Iterator[tuple[CallRun, str]]:
    """Each run with the branches drawn before it."""
    is_last = _last_of_siblings(runs)
    open_levels: list[bool] = []
    for run, last in zip(runs, is_last, strict=True):
        del open_levels[max(run.level - 1, 0) :]
        stem = "".join("│  " if is_open else "   " for is_open in open_levels)
        yield run, (stem + ("└─ " if last else "├─ ")) if run.level else ""
        if run.level:
            open_levels.append(not last)


def _last_of_siblings(runs: Sequence[CallRun]) -> list[bool]:
    found, below = [], {0}
    for run in reversed(runs):
        found.append(run.level not in below)
        below = {level for level in below if level < run.level} | {run.level}
    return found[::-1]


def _row(graph: Graph, run: CallRun, stem: str) -> _Row:
    call = graph.calls[run.calls[0]]
    around = "" if call.parent is None else graph.calls[call.parent].module
    module = graph.modules.get(call.module) if call.kind == "module" else None
    times = f" ×{len(run.calls)}" if len(run.calls) > 1 else ""
    name = clean(run_name(graph, [graph.calls[c].module for c in run.calls], around), _NAME_WIDTH)
    if module is None:
        return _Row(stem, name, "function" + times, _output(graph, run), "")
    line = clean(_layer(module) + times, _NAME_WIDTH)
    if not run.level:
        return _Row("", line, "", _output(graph, run), _params(module))
    return _Row(stem, name, line, _output(graph, run), _params(module))


def _layer(module: Module) -> str:
    cls = class_name(module)
    return summary(cls, module.extra_repr) if module.native else cls


def _output(graph: Graph, run: CallRun) -> str:
    metas = [graph.values[value].meta for value in graph.calls[run.calls[-1]].outputs.values()]
    return ", ".join(shape(meta.shape) for meta in metas[:3] if meta is not None) + (", …" if len(metas) > 3 else "")


def _params(module: Module) -> str:
    total = module.params.total
    return "" if not total else f"{total:,}" if total < 100_000 else count(total)


def _aligned(rows: Sequence[_Row]) -> Iterator[str]:
    """The rows in columns as wide as what is in them."""
    cells = [(row.stem + row.name, row.line, row.shape, row.params) for row in rows]
    widths = [max((len(cell[i]) for cell in cells), default=0) for i in range(4)]
    for name, line, out, params in cells:
        text = f"{name:<{widths[0]}}  {line:<{widths[1]}}  {out:<{widths[2]}}  {params:>{widths[3]}}"
        yield text.rstrip()
