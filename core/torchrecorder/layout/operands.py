"""The operands of signs that mind which is which: a word says the second where it stands as the first would.

A reader takes what comes in from the left as the first operand of `−`, `÷` or `@`, or from above where data flows to
the right. A layout leads lines so where it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from torchrecorder.layout.geometry import Point
from torchrecorder.layout.model import PARTS, Figure, Layout, Line
from torchrecorder.view import Node, View
from torchrecorder.view.node_kinds import is_reflected

SECOND = "2nd operand"
_SIDED = ("−", "÷", "@")


def is_sided(figure: Figure) -> bool:
    """Whether it is a sign whose operands are not the same in another order."""
    return figure.is_round and figure.words[0].text in _SIDED


def place_among(view: View, head: Node, value: int) -> float:
    """The place of a value among the arguments of what reads it, from 0 to 1; the middle where it is not known."""
    graph = view.graph
    read = [*graph.calls[head.calls[0]].inputs.values()] if head.calls else []
    ops = [graph.ops[op] for op in head.own_ops[:1]] if not read else []
    read += (value for op in ops for value in (op.inputs[::-1] if is_reflected(op) else op.inputs))
    return (read.index(value) + 1) / (len(read) + 1) if value in read else 0.5


def with_seconds(view: View, letter: str, layout: Layout) -> Layout:
    """The layout of a View with a word at each second operand that comes in where the first is expected."""
    figures = {figure.key: figure for figure in layout.nodes}
    turned = {i for node in view.nodes for i in _turned(view, letter, node, figures, layout)}
    lines = [
        line._replace(part=PARTS.join(filter(None, (line.part, SECOND)))) if i in turned else line
        for i, line in enumerate(layout.lines)
    ]
    return replace(layout, lines=lines) if turned else layout


def _turned(view: View, letter: str, node: Node, figures: Mapping[str, Figure], layout: Layout) -> Iterator[int]:
    """The positions of lines of second operands that come in before the first."""
    figure = figures.get(f"{letter}{node.id}")
    if figure is None or not is_sided(figure):
        return
    places = {
        f"{letter}{tail}": place_among(view, node, edge.value)
        for edge in view.edges
        if edge.head == node.id
        for tail in (edge.tail, *view.nodes[edge.tail].links)
    }
    is_down = not any(
        line.curve[0][0] >= figure.rect.right - 1.0 for line in layout.lines if line.ends[0] == figure.key
    )
    come: list[tuple[Point, float, int]] = []
    for i, line in enumerate(layout.lines):
        if line.ends[1] == figure.key and line.tip is not None and places.get(line.ends[0], 0.5) != 0.5:
            come.append((_reading(line, line.tip, is_down=is_down), places[line.ends[0]], i))
    firsts = [at for at, place, _ in come if place < 0.5]
    yield from (i for at, place, i in come if place > 0.5 and any(at < first for first in firsts))


def _reading(line: Line, tip: Point, *, is_down: bool) -> Point:
    x, y = round(tip[0]), round(tip[1])
    return (x, y) if is_down else (y, x)
