"""The proof that the lines into a sign say which operand is which: `a − b` is not `b − a`.

The first operand comes in from the left, or from above at a sign whose data leaves at the right; else the line of the
second one says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from torchrecorder.proof.facts import SIGNS

if TYPE_CHECKING:
    from torchrecorder.layout.model import Layout, Line
    from torchrecorder.view import Node, View

_SECOND = "2nd operand"
_SIDED = {sign for name, sign in SIGNS.items() if name not in ("add", "mul")}
_CLOSE = 1.0
"""Points within which two lines come in at one place."""


def faults(view: View, letter: str, layout: Layout) -> Iterator[str]:
    """Sentences on signs whose operands stand the other way round than they say."""
    signs = {figure.key: figure.rect for figure in layout.nodes if figure.is_round and figure.words[0].text in _SIDED}
    for node in (node for node in view.nodes if f"{letter}{node.id}" in signs):
        key = f"{letter}{node.id}"
        right = signs[key].right
        leaves_right = any(line.ends[0] == key and line.curve[0][0] > right - _CLOSE for line in layout.lines)
        firsts, seconds = ([*_lines(view, letter, node, layout, at)] for at in (0, 1))
        if any(_SECOND in line.part for line in firsts):
            yield f"the first operand of node {key} is said to be the second"
        for first, second in product(firsts, seconds):
            if not _is_before(first, second, 1 if leaves_right else 0) and _SECOND not in second.part:
                yield f"the operands of node {key} stand the other way round"


def without_second(part: str) -> str:
    """The words of a line for what it carries, without that for a second operand."""
    return part.removesuffix(_SECOND).removesuffix(" · ")


def _lines(view: View, letter: str, node: Node, layout: Layout, at: int) -> Iterator[Line]:
    """The lines that end at a sign with the first operand, or with the second."""
    op = view.graph.ops[node.own_ops[0]]
    operands = op.inputs[::-1] if op.target.rpartition(".")[2].startswith("__r") else op.inputs
    tails = set[int]()
    for edge in view.edges:
        if edge.head == node.id and [i for i, value in enumerate(operands) if value == edge.value] == [at]:
            tails |= {edge.tail, *view.nodes[edge.tail].links}
    keys = {f"{letter}{tail}" for tail in tails}
    ending = (line for line in layout.lines if line.ends[1] == f"{letter}{node.id}" and line.tip is not None)
    yield from (line for line in ending if line.ends[0] in keys)


def _is_before(line: Line, other: Line, axis: int) -> bool:
    ends = [line.tip, other.tip]
    (a, b), (c, d) = ((point[axis], point[1 - axis]) for point in ends if point is not None)
    return a < c if abs(a - c) > _CLOSE else b <= d + _CLOSE
