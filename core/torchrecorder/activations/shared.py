"""Right rows for modules that a network holds in several places.

torchinfo gives each module one place, the last; calls through another one then stand under the wrong parent, behind
containers that nobody called, with parameters counted twice. Here the calls are watched too, and the rows are put where
they belong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from torch import nn

from torchrecorder.activations.calls import Call, in_order
from torchrecorder.activations.rows import Row, Table


def has_shared_modules(net: nn.Module) -> bool:
    """Whether some module can be reached by two paths."""
    paths: Counter[nn.Module] = Counter()
    pending = [net]
    while pending:
        module = pending.pop()
        paths[module] += 1
        if paths[module] > 1:
            return True
        pending += [one for one in module._modules.values() if one is not None]
    return False


def with_calls_in_place(table: Table, calls: list[Call]) -> Table:
    """The table with its rows arranged by the calls that were seen.

    torchinfo does not see calls of scripted modules. Where there are some its table is left alone.
    """
    if sum(row.executed for row in table.summary_list) != sum(1 for _ in in_order(calls)):
        return table
    executed = iter([row for row in table.summary_list if row.executed])
    rows: list[Row] = []
    for call in calls:
        _place(call, next(executed), executed, rows)
    _count(rows)
    new: Any = type(table)
    return cast("Table", new(rows, table.input_size, table.total_input, table.formatting))


def _place(call: Call, row: Row, executed: Iterator[Row], rows: list[Row]) -> None:
    """Append the row of a call and the rows below it; containers that were passed by get a row each."""
    rows.append(row)
    paths = _paths(call.module)
    taken: Counter[nn.Module] = Counter()
    passed_by: list[Row] = []
    for inner in call.inner:
        inner_row = next(executed)
        ways = paths.get(inner.module)
        if ways is None:  # called, but not from below this module: it stays where torchinfo puts it
            _place(inner, inner_row, executed, rows)
            continue
        way = ways[min(taken[inner.module], len(ways) - 1)]
        taken[inner.module] += 1
        passed_by = _containers(row, way[:-1], passed_by, rows)
        inner_row.var_name, inner_row.depth = way[-1][0], row.depth + len(way)
        inner_row.parent_info = passed_by[-1] if passed_by else row
        _place(inner, inner_row, executed, rows)


Way = list[tuple[str, nn.Module]]
"""Attribute names and modules from below a module down to another."""


def _paths(module: nn.Module) -> dict[nn.Module, list[Way]]:
    """All ways down from a module."""
    found: dict[nn.Module, list[Way]] = {}
    pending: list[Way] = [[(name, one)] for name, one in reversed(module._modules.items()) if one is not None]
    while pending:
        way = pending.pop()
        here = way[-1][1]
        found.setdefault(here, []).append(way)
        pending += [[*way, (name, one)] for name, one in reversed(here._modules.items()) if one is not None]
    return found


def _containers(row: Row, way: Way, before: list[Row], rows: list[Row]) -> list[Row]:
    """Rows for containers that are no calls; those of the row before this one are not repeated."""
    new: Any = type(row)
    kept: list[Row] = []
    for place, (name, module) in enumerate(way):
        if len(kept) == place < len(before) and before[place].module is module:
            kept.append(before[place])
            continue
        kept.append(new(name, module, row.depth + place + 1, kept[-1] if kept else row))
        rows.append(kept[-1])
    return kept


def _count(rows: list[Row]) -> None:
    """Number the rows, and count each parameter in the first row that shows it."""
    numbers: Counter[int] = Counter()
    seen: set[nn.Module] = set()
    open_rows: list[tuple[int, Row]] = []
    counted: set[nn.Parameter] = set()
    for place, row in enumerate(rows):
        numbers[row.depth] += 1
        row.depth_index = numbers[row.depth]
        row.is_recursive = row.module in seen
        seen.add(row.module)
        row.children = _below(rows, place)
        while open_rows and open_rows[-1][1].depth >= row.depth:
            counted.update(open_rows.pop()[1].module.parameters())
        if not row.is_recursive:
            _without(row, counted)
        open_rows.append((place, row))


def _below(rows: list[Row], place: int) -> list[Row]:
    end = place + 1
    while end < len(rows) and rows[end].depth > rows[place].depth:
        end += 1
    return rows[place + 1 : end]


def _without(row: Row, counted: set[nn.Parameter]) -> None:
    """Give the row the parameters that no earlier row has shown."""
    own = [parameter for parameter in row.module.parameters() if parameter not in counted]
    row.num_params = sum(parameter.numel() for parameter in own)
    row.trainable_params = sum(parameter.numel() for parameter in own if parameter.requires_grad)
    row.param_bytes = sum(parameter.numel() * parameter.element_size() for parameter in own)
