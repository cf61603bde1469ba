"""Graphs made of Graphs: rows may be added, taken out, or put into another order, and get new ids in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from torchrecorder.graph.model import AutogradNode, Call, Decision, Failure, Frame, Graph, Op, Value

_Row = TypeVar("_Row", Call, Op, Value, Frame, Decision, Failure, AutogradNode)
_HELD: Mapping[type, Mapping[str, str]] = {
    Call: {"id": "calls", "parent": "calls", "inputs": "values", "outputs": "values", "frame": "frames"},
    Op: {**dict.fromkeys(("inputs", "outputs", "mutates"), "values"), "id": "ops", "call": "calls", "frame": "frames"},
    Value: {"id": "values", "producer": "ops"},
    Frame: {"id": "frames", "parent": "frames", "call": "calls"},
    Decision: {"values": "values"},
    Failure: {"call": "calls"},
    AutogradNode: {"inputs": "values", "outputs": "values"},
}
"""By class the fields that hold ids of rows, and of which: one, a tuple, or one by path."""


def renumbered(graph: Graph) -> Graph:
    """The Graph with the place of each call, op, value and frame as its id.

    Until then rows may have any ids that differ, and refer to one another by those. No row may refer to one that is
    not there; axes of the batch may.
    """
    tables: dict[str, tuple[Call | Op | Value | Frame, ...]]
    tables = {"calls": graph.calls, "ops": graph.ops, "values": graph.values, "frames": graph.frames}
    places = {name: {row.id: place for place, row in enumerate(rows)} for name, rows in tables.items()}

    def moved(rows: Iterable[_Row]) -> tuple[_Row, ...]:
        return tuple(
            replace(row, **{name: _at(getattr(row, name), places[table]) for name, table in _HELD[type(row)].items()})
            for row in rows
        )

    failure, values = graph.info.failure, places["values"]
    return replace(
        graph,
        calls=moved(graph.calls),
        ops=tuple(replace(op, autograd=moved(op.autograd)) for op in moved(graph.ops)),
        values=moved(graph.values),
        inputs=_at(graph.inputs, values),
        outputs={path: _at(ids, values) for path, ids in graph.outputs.items()},
        info=replace(graph.info, failure=failure and moved([failure])[0]),
        frames=moved(graph.frames),
        decisions=moved(graph.decisions),
        batch=dict(sorted((values[id_], axes) for id_, axes in graph.batch.items() if id_ in values)),
    )


def _at(ids: Any, places: Mapping[int, int]) -> Any:
    if isinstance(ids, tuple):
        return tuple(_at(id_, places) for id_ in ids)
    if isinstance(ids, Mapping):
        return {path: places[id_] for path, id_ in ids.items()}
    return ids if ids is None or ids < 0 else places[ids]  # below 0: a node of autograd in the same op
