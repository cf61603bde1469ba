"""Graphs made of Graphs: rows may be added, taken out, or put into another order, and get new ids in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from torchrecorder.graph.model import Call, Frame, Graph, Op, Value


def renumbered(graph: Graph) -> Graph:
    """The Graph with the place of each call, op, value and frame as its id.

    Until then rows may have any ids that differ, and refer to one another by those. No row may refer to one that is
    not there; axes of the batch may.
    """
    all_rows: tuple[Sequence[Call | Op | Value | Frame], ...] = (graph.calls, graph.ops, graph.values, graph.frames)
    calls, ops, values, frames = ({row.id: place for place, row in enumerate(rows)} for rows in all_rows)

    def at(places: Mapping[int, int], id_: int | None) -> int | None:
        return None if id_ is None else places[id_]

    def all_of(ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(values[id_] for id_ in ids)

    def ends(ids: Mapping[str, int]) -> dict[str, int]:
        return {path: values[id_] for path, id_ in ids.items()}

    failure = graph.info.failure
    return replace(
        graph,
        calls=tuple(
            replace(
                row,
                id=place,
                parent=at(calls, row.parent),
                inputs=ends(row.inputs),
                outputs=ends(row.outputs),
                frame=at(frames, row.frame),
            )
            for place, row in enumerate(graph.calls)
        ),
        ops=tuple(
            replace(
                row,
                id=place,
                call=calls[row.call],
                inputs=all_of(row.inputs),
                outputs=all_of(row.outputs),
                mutates=all_of(row.mutates),
                frame=at(frames, row.frame),
                autograd=tuple(
                    replace(
                        node,
                        inputs=tuple(id_ if id_ < 0 else values[id_] for id_ in node.inputs),
                        outputs=all_of(node.outputs),
                    )
                    for node in row.autograd
                ),
            )
            for place, row in enumerate(graph.ops)
        ),
        values=tuple(replace(row, id=place, producer=at(ops, row.producer)) for place, row in enumerate(graph.values)),
        inputs=ends(graph.inputs),
        outputs={path: all_of(ids) for path, ids in graph.outputs.items()},
        info=graph.info
        if failure is None
        else replace(graph.info, failure=replace(failure, call=at(calls, failure.call))),
        frames=tuple(
            replace(row, id=place, call=calls[row.call], parent=at(frames, row.parent))
            for place, row in enumerate(graph.frames)
        ),
        decisions=tuple(replace(row, values=all_of(row.values)) for row in graph.decisions),
        batch=dict(sorted((values[id_], axes) for id_, axes in graph.batch.items() if id_ in values)),
    )
