"""Exchanges that let fewer lines of a strip cross: a thing takes another place in its row, a line the other side.

The strip is placed anew for each, and what crosses is counted, so that no estimate can be wrong.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.model import LEFT, RIGHT, Side, Wire
from torchrecorder.layout.paper.panels import Key

_AT = 0.5  # points: rounding
WireKey = tuple[Key, Key, int]
RowSets = tuple[frozenset[Key], ...]


class Order(NamedTuple):
    """What an exchange changes: the rows, and the sides on which lines pass that have a choice."""

    rows: tuple[tuple[Key, ...], ...]
    sides: dict[WireKey, int]
    is_mirrored: bool = False
    """Whether lines pass on the other side than usual where they have a choice."""

    def mirrored(self, first: int = 0) -> Order:
        """The same from right to left, but for some of the first rows."""
        sides = {wire: -side for wire, side in self.sides.items()}
        return Order((*self.rows[:first], *(row[::-1] for row in self.rows[first:])), sides, not self.is_mirrored)


class Orders(dict[RowSets, Order]):
    """The best orders of one picture, by what is in each row, and how much more may be tried for others."""

    left: int = tuning.ARRANGED


def wire_key(wire: Wire) -> WireKey:
    return wire.tail.key, wire.head.key, wire.source


def crossing(wires: Sequence[Wire]) -> list[tuple[Wire, Wire]]:
    """Pairs of lines that cross; those of one source part and join instead."""
    level = sorted(
        (y, min(x, to), max(x, to), i)
        for i, wire in enumerate(wires)
        for (x, y), (to, end) in pairwise(wire.points)
        if y == end and x != to
    )
    heights = [y for y, *_ in level]
    pairs: dict[tuple[int, int], tuple[Wire, Wire]] = {}
    for j, wire in enumerate(wires):
        for (x, y), (to, end) in pairwise(wire.points):
            if x != to:
                continue
            top, bottom = sorted((y, end))
            for _, left, right, i in level[bisect_right(heights, top + _AT) : bisect_left(heights, bottom - _AT)]:
                if left + _AT < x < right - _AT and wires[i].source != wire.source:
                    pairs[min(i, j), max(i, j)] = wires[i], wire
    return [*pairs.values()]


def least_crossed(side: Side, wires: Sequence[Wire]) -> tuple[Side, int]:
    """The end of a line from the border with those sides only from which it crosses the fewest, and how many."""
    parts = [(x, *sorted((y, to))) for wire in wires for (x, y), (_, to) in pairwise(wire.points)]
    near = [x for x, top, bottom in parts if top + _AT < side.y < bottom - _AT]
    crossed = {way: sum((x - end) * way > _AT for x in near) for way, end in side.ends.items()}
    least = min(crossed.values())
    return side._replace(ends={way: end for way, end in side.ends.items() if crossed[way] == least}), least


def exchanges(order: Order, crossed: Sequence[tuple[Wire, Wire]], wires: Sequence[Wire], first: int) -> Iterator[Order]:
    """The orders that differ by one exchange of what crosses; what comes in an order from outside is last."""
    at = {key: (r, i) for r, row in enumerate(order.rows) for i, key in enumerate(row)}
    tried = set()
    for wire in dict.fromkeys(wire for pair in crossed for wire in pair):
        key = wire_key(wire)
        for side in (LEFT, RIGHT):
            if wire.head.row - wire.tail.last > 1 and order.sides.get(key) != side:
                yield order._replace(sides={**order.sides, key: side})
        for end in (wire.tail, wire.head):
            if end.key in at and end.key not in tried:
                tried.add(end.key)
                yield from _moved(order, *at[end.key], wires, first) if at[end.key][0] >= first else ()
    for port in (port for row in order.rows[:first] for port in row if port in tried):
        yield from _moved(order, *at[port], wires, first)


def _moved(order: Order, r: int, i: int, wires: Sequence[Wire], first: int) -> Iterator[Order]:
    """One thing in other places of its row, the nearest first; then with the rows below it, or all, in its order."""
    row = order.rows[r]
    rest = (*row[:i], *row[i + 1 :])
    rows = [(*rest[:j], row[i], *rest[j:]) for j in sorted(range(len(row)), key=lambda j: abs(j - i)) if j != i]
    for moved in rows:
        below = follow([moved, *order.rows[r + 1 :]], wires)
        above = follow([moved, *order.rows[first:r][::-1]], wires)[:0:-1]
        before = order.rows[:r]
        yield order._replace(rows=(*before, moved, *order.rows[r + 1 :]))
        yield order._replace(rows=(*before, *below))
        yield order._replace(rows=(*before[:first], *above, *below))


def follow(rows: Sequence[tuple[Key, ...]], wires: Sequence[Wire]) -> list[tuple[Key, ...]]:
    """Each row but the first in the order of what it is joined to in those before it, and of the arguments of that."""
    near: dict[Key, list[tuple[Key, float]]] = {}
    for wire in wires:
        near.setdefault(wire.head.key, []).append((wire.tail.key, 0.5))
        near.setdefault(wire.tail.key, []).append((wire.head.key, wire.argument))
    place = {key: i / len(rows[0]) for i, key in enumerate(rows[0])}
    long = {key: len(row) for row in rows for key in row}
    ordered = [rows[0]]
    for row in rows[1:]:
        own = {key: i / len(row) for i, key in enumerate(row)}
        for key in row:
            joined = [place[end] + (by - 0.5) / long[end] for end, by in near.get(key, ()) if end in place]
            own[key] = sum(joined) / len(joined) if joined else own[key]
        ordered.append(tuple(sorted(row, key=lambda key: own[key])))
        place |= own
    return ordered
