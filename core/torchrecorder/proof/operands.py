"""The proof that lines say which operand they bring: `a − b` is not `b − a`, nor are tokens before others behind them.

What minds the order of its operands gets the first from the left, or from above where its data leaves at the right;
a line that brings one out of its turn says which one it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from torchrecorder.proof.facts import SIGNS

if TYPE_CHECKING:
    from torchrecorder.graph import Graph, Op
    from torchrecorder.layout.model import Layout, Line
    from torchrecorder.view import Node, View

_SAID = re.compile(r"(?:^| · )(\d+)(?:st|nd|rd|th) operand$")
_SIDED = {sign for name, sign in SIGNS.items() if name not in ("add", "mul")}
_CLOSE = 1.0
"""Points within which two lines come in at one place."""


def faults(view: View, letter: str, layout: Layout) -> Iterator[str]:
    """Sentences on operands that stand in another order than they say."""
    figures = {figure.key: figure for figure in layout.nodes}
    for node in (node for node in view.nodes if node.kind == "op" and f"{letter}{node.id}" in figures):
        key, op = f"{letter}{node.id}", view.graph.ops[node.own_ops[0]]
        figure = figures[key]
        if not (figure.is_round and figure.words[0].text in _SIDED) and not _joins_tokens(view.graph, op):
            continue
        leaves_right = any(
            line.ends[0] == key and line.curve[0][0] > figure.rect.right - _CLOSE for line in layout.lines
        )
        in_turn: list[tuple[int, Line]] = []
        for place, line in _lines(view, letter, node, layout, op):
            if said := _SAID.search(line.part):
                if int(said[1]) != place + 1:
                    yield f"operand {place + 1} of node {key} is said to be another"
            else:
                in_turn.append((place, line))
        in_turn.sort(key=lambda it: it[0])
        for (a, first), (b, second) in pairwise(in_turn):
            if a != b and not _is_before(first, second, 1 if leaves_right else 0):
                yield f"operands {a + 1} and {b + 1} of node {key} stand the other way round"


def without_operand(part: str) -> str:
    """The words of a line for what it carries, without those for which operand that is."""
    return _SAID.sub("", part)


def _joins_tokens(graph: Graph, op: Op) -> bool:
    """Whether an op has an equation, or makes an axis longer that is neither of examples, of channels nor the last."""
    if op.name == "einsum":
        return True
    if op.name not in ("cat", "concat", "concatenate"):
        return False
    given, made = graph.values[op.inputs[0]].shape, graph.values[op.outputs[0]].shape
    longer = [axis for axis in range(min(len(given), len(made))) if given[axis] != made[axis]]
    reading = {it.name for it in graph.ops if not {*it.inputs}.isdisjoint(op.outputs)}
    has_channels = len(made) != 3 or any(re.match("conv|(batch|group|instance)_norm", name) for name in reading)
    return len(longer) == 1 and longer[0] in range(2 if has_channels else 1, len(made) - 1)


def _lines(view: View, letter: str, node: Node, layout: Layout, op: Op) -> Iterator[tuple[int, Line]]:
    """The lines that end at a node, each with the place of the operand that it brings alone."""
    operands = op.inputs[::-1] if op.target.rpartition(".")[2].startswith("__r") else op.inputs
    tails = dict[str, int]()
    for edge in view.edges:
        at = [i for i, value in enumerate(operands) if value == edge.value]
        if edge.head == node.id and len(at) == 1:
            tails |= {f"{letter}{tail}": at[0] for tail in (edge.tail, *view.nodes[edge.tail].links)}
    ending = (line for line in layout.lines if line.ends[1] == f"{letter}{node.id}" and line.tip is not None)
    yield from ((tails[line.ends[0]], line) for line in ending if line.ends[0] in tails)


def _is_before(line: Line, other: Line, axis: int) -> bool:
    ends = [line.tip, other.tip]
    (a, b), (c, d) = ((point[axis], point[1 - axis]) for point in ends if point is not None)
    return a < c if abs(a - c) > _CLOSE else b <= d + _CLOSE
