"""The proof of sizes on lines: each is that of a value which the line carries, between its tail and its head."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from torchrecorder.graph import Graph, Op, symbolic

if TYPE_CHECKING:
    from torchrecorder.layout.model import Layout
    from torchrecorder.view import Edge, View

_SIZE = r"(?:\d+|\d*N(?:/\d+)?)"
_SHAPE = re.compile(rf"{_SIZE}(?:×{_SIZE})*(?= · |$)")


def faults(view: View, letter: str, layout: Layout) -> Iterator[str]:
    """Sentences on the lines of a picture, or of an inset, that say a shape which no value on their way has."""
    edges: dict[tuple[str, str], list[Edge]] = {}
    for edge in view.edges:
        tail = view.nodes[edge.tail]
        for key in {tail.id, *(tail.links if tail.kind == "from" else ())}:
            edges.setdefault((f"{letter}{key}", f"{letter}{edge.head}"), []).append(edge)
    for line in layout.lines:
        said = _SHAPE.match(line.word)
        if said is None or said[0].isdigit() or line.ends not in edges:  # the number of an output
            continue
        carried = {value for edge in edges[line.ends] for value in _carried(view, edge)}
        shapes = {_shape(view.graph, value) for value in carried}
        if said[0] not in shapes | {*_of_other_turns(view.graph, carried)}:
            yield f"“{line.word}” on the line from {line.ends[0]} to {line.ends[1]} is not the shape of what it carries"


def _carried(view: View, edge: Edge) -> set[int]:
    """The value that the head reads, and those that it is made of, up to the one that the tail gives."""
    tails = [view.nodes[edge.tail], *(view.nodes[link] for link in view.nodes[edge.tail].links)]
    parts = [part for tail in tails for part in (tail, *tail.parts)]
    calls, ops = {call for part in parts for call in part.calls}, {op for part in parts for op in part.own_ops}
    value, way = edge.value, {edge.value}
    while (producer := view.graph.values[value].producer) is not None:
        op = view.graph.ops[producer]
        if producer in ops or not calls.isdisjoint(row.id for row in view.graph.around(op.call)):
            return way
        if not op.inputs:
            break
        value = op.inputs[0]
        way.add(value)
    is_end = any(value in part.values for part in parts)
    return way if is_end else {edge.value}  # a later turn of what is drawn once


def _of_other_turns(graph: Graph, carried: Collection[int]) -> Iterator[str]:
    """Shapes of what the same line of code gives elsewhere, of as many elements on each axis."""
    makers = ((op, value) for value in carried if (op := graph.values[value].producer) is not None)
    places = {_place(graph, graph.ops[op]): graph.values[value].shape for op, value in makers}
    for row in graph.ops:
        shape = places.get(_place(graph, row))
        yield from (_shape(graph, value) for value in row.outputs if shape and graph.values[value].shape == shape)


def _place(graph: Graph, op: Op) -> tuple[object, ...]:
    return op.source, op.offset, graph.calls[op.call].module


def _shape(graph: Graph, value: int) -> str:
    meta = symbolic(graph, value)
    return "" if meta is None else "×".join(map(str, meta.shape))
