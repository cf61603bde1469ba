"""The operands of what minds their order: words say which one a line brings that does not come in in its turn.

A reader takes what comes in from the left as the first operand of `−`, `÷`, `@`, an equation or a row of tokens, or
from above where data flows to the right. A layout leads lines so where it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from torchrecorder.graph import Graph, Op
from torchrecorder.layout.geometry import Point
from torchrecorder.layout.model import PARTS, Figure, Layout
from torchrecorder.view import Node, View
from torchrecorder.view.node_kinds import is_reflected
from torchrecorder.view.templates.words import nth

OPERAND = "operand"
_SIDED = ("−", "÷", "@")
_JOINS = frozenset(("cat", "concat", "concatenate"))
_OF_CHANNELS = ("conv", "batch_norm", "group_norm", "instance_norm")


def is_sided(figure: Figure) -> bool:
    """Whether it is a sign whose operands are not the same in another order."""
    return figure.is_round and figure.words[0].text in _SIDED


def place_among(view: View, head: Node, value: int) -> float:
    """The place of a value among the arguments of what reads it, from 0 to 1; the middle where it is not known."""
    graph = view.graph
    read = [*graph.calls[head.calls[0]].inputs.values()] if head.calls else []
    ops = [graph.ops[op] for op in head.own_ops[:1]] if not read else []
    read += (value for op in ops for value in _operands(op))
    return (read.index(value) + 1) / (len(read) + 1) if value in read else 0.5


def _operands(op: Op) -> Sequence[int]:
    return op.inputs[::-1] if is_reflected(op) else op.inputs


def with_operands(view: View, letter: str, layout: Layout) -> Layout:
    """The layout of a View with a word at each line that brings an operand out of its turn."""
    figures = {figure.key: figure for figure in layout.nodes}
    said = {i: f"{nth(place)} {OPERAND}" for i, place in _out_of_turn(view, letter, figures, layout)}
    lines = [
        line._replace(part=PARTS.join(filter(None, (line.part, said[i])))) if i in said else line
        for i, line in enumerate(layout.lines)
    ]
    return replace(layout, lines=lines) if said else layout


def _out_of_turn(view: View, letter: str, figures: Mapping[str, Figure], layout: Layout) -> Iterator[tuple[int, int]]:
    """The positions of lines that bring operands out of their turn, with the places of these."""
    for node in view.nodes:
        figure = figures.get(f"{letter}{node.id}")
        op = view.graph.ops[node.own_ops[0]] if node.kind == "op" and node.own_ops else None
        if figure is None or op is None or not (is_sided(figure) or _is_in_order(view.graph, op)):
            continue
        operands = [*_operands(op)]
        places = {
            f"{letter}{tail}": operands.index(edge.value)
            for edge in view.edges
            if edge.head == node.id and operands.count(edge.value) == 1
            for tail in (edge.tail, *view.nodes[edge.tail].links)
        }
        is_down = not any(
            line.curve[0][0] >= figure.rect.right - 1.0 for line in layout.lines if line.ends[0] == figure.key
        )
        come: list[tuple[Point, int, int]] = []
        for i, line in enumerate(layout.lines):
            if line.ends[1] == figure.key and line.tip is not None and line.ends[0] in places:
                come.append((_reading(line.tip, is_down=is_down), places[line.ends[0]], i))
        rows = [(place, i) for _, place, i in sorted(come)]
        kept = _longest_rise([place for place, _ in rows])
        yield from ((i, place) for at, (place, i) in enumerate(rows) if at not in kept)


def _is_in_order(graph: Graph, op: Op) -> bool:
    """Whether an op joins tokens, not channels, or has an equation for its operands."""
    if op.name != "einsum" and op.name not in _JOINS:
        return False
    shapes = [graph.values[value].shape for value in (*op.inputs[:1], *op.outputs)]
    along = [axis for axis, sizes in enumerate(zip(*shapes, strict=False)) if len({*sizes}) > 1]
    is_inner = len(along) == 1 and 0 < along[0] < len(shapes[-1]) - 1
    return op.name == "einsum" or (is_inner and (along[0] > 1 or not _are_channels(graph, op.outputs[0])))


def _are_channels(graph: Graph, value: int) -> bool:
    """Whether the second axis of a tensor is one of channels: it has more than three, or a convolution reads it."""
    readers = (op.name for op in graph.ops if value in op.inputs)
    return len(graph.values[value].shape) > 3 or any(name.startswith(_OF_CHANNELS) for name in readers)


def _longest_rise(places: Sequence[int]) -> set[int]:
    """The indices of a longest run of places that rise, the first of them the least."""
    best: list[list[int]] = []
    for at, place in enumerate(places):
        before = max((run for run in best if places[run[-1]] <= place), key=len, default=[])
        best.append([*before, at])
    return {*max(best, key=lambda run: (len(run), [-places[at] for at in run]), default=[])}


def _reading(tip: Point, *, is_down: bool) -> Point:
    x, y = round(tip[0]), round(tip[1])
    return (x, y) if is_down else (y, x)
