"""Which output of a node each of its edges carries: what a layer gives twice are two things, on lines of their own."""

from __future__ import annotations

from collections.abc import Sequence

from torchrecorder.graph.model import Graph
from torchrecorder.view import Node, View

_GIVING = ("call", "op", "function")
_MOVES = 30  # changes of shape that are followed from what is read to what was given


def outputs(view: View, flows: Sequence[tuple[int, int]]) -> dict[int, int]:
    """By position of an edge the number of the output that it carries, 0 for the first that its tail gives.

    `flows` are the tails of edges and their positions.
    """
    numbers: dict[int, int] = {}
    given: dict[int, list[object]] = {}
    values: dict[int, set[int]] = {}
    for tail, position in flows:
        values.setdefault(tail, set()).add(view.edges[position].value)
    for tail, position in flows:
        node = view.nodes[tail]
        if node.kind in _GIVING and len(values[tail]) > 1:
            edge = view.edges[position]
            part = edge.part if view.nodes[edge.head].kind == "output" else ""  # each part has an end of its own
            known, output = given.setdefault(tail, []), (_output(view.graph, node, edge.value), part)
            known += [output] if output not in known else []
            numbers[position] = known.index(output)
    return numbers


def _output(graph: Graph, node: Node, value: int) -> object:
    """What tells an output from others of its node: its path in a call, or its op and place; None if not known."""
    calls = {call for part in (node, *node.parts) for call in part.calls}
    ops = {op for part in (node, *node.parts) for op in part.own_ops}
    for _ in range(_MOVES):
        producer = graph.values[value].producer
        if producer is None:
            return None
        op = graph.ops[producer]
        around = [row.id for row in graph.around(op.call) if row.id in calls]
        paths = (path for call in around for path, given in graph.calls[call].outputs.items() if given == value)
        if (path := next(paths, None)) is not None:
            return path
        if around or producer in ops:
            return op.name, op.source, graph.values[value].index
        if not op.inputs:
            return None
        value = op.inputs[0]
    return None
