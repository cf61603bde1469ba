"""The ways of data that the next turn of a loop reads: back beside what has its place, each in a lane of its own.

Rows and columns know nothing of them. When the inside of a box has its coordinates, each gets the cheapest of the ways
that leave a node by a side, its bottom or its top, pass along one lane, and come to the other by a side or from above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.dot import NEXT_STEP
from torchrecorder.layout.geometry import Point, Rect, around
from torchrecorder.layout.paper.model import LEFT, RIGHT, Piece, RowItem, Wire
from torchrecorder.layout.widths import width
from torchrecorder.view import Edge

_FAR = 1e5  # points: beyond every picture


class NoWayBack(Exception):
    """Something stands in every way from a node to what reads it in the next turn."""


@dataclass(slots=True)
class _Spot:
    """A node where it stands in the box."""

    item: RowItem
    x: float
    y: float

    @property
    def rect(self) -> Rect:
        assert self.item.card is not None
        return Rect.centred(self.x, self.y, 2 * self.item.half, 2 * self.item.card.body)


class _End(NamedTuple):
    """A way to leave or reach a node."""

    points: Sequence[Point]
    low: float
    high: float  # limits of the lane
    price: float


@dataclass(slots=True)
class _Room:
    """Obstacles."""

    solid: list[Rect] = field(default_factory=list)
    lines: list[Rect] = field(default_factory=list)  # straight parts
    back: dict[int, list[Rect]] = field(default_factory=dict)  # those of lines back, by the node that they leave
    spots: dict[int, _Spot] = field(default_factory=dict)

    def add(self, piece: Piece, x: float, y: float, ends: Sequence[int]) -> None:
        """Adds a box; one inside without an end of a line back is solid."""
        for item in piece.items:
            if item.card:
                spot = self.spots[item.key.id] = _Spot(item, x + item.x, y + item.y + item.card.above)
                own, by = spot.rect, tuning.STACK if "repeat" in item.card.figure.flags else 0.0
                self.solid.append(own._replace(right=own.right + by, bottom=own.bottom + by))
                for beside, (dx, dy) in zip(item.card.beside, item.card.places, strict=True):
                    middle = spot.x - dx if item.card.is_to_left else spot.x + dx, spot.y + dy
                    self.lines.append(around((middle, (spot.x, spot.y + dy))))
                    self.solid.append(Rect.centred(*middle, 2 * beside.half, 2 * beside.body))
            elif item.piece:
                inside, left, top = item.piece, x + item.x, y + item.y
                rect = Rect(left - inside.left, top, left + inside.right, top + inside.height)
                if not {*ends}.isdisjoint(nodes_in(inside)):
                    self.add(inside, left, top, ends)
                    self.lines += [rect._replace(right=rect.left), rect._replace(left=rect.right)]
                    self.lines += [rect._replace(bottom=rect.top), rect._replace(top=rect.bottom)]
                    self.solid += [rect._replace(bottom=top + inside.band)] if inside.band else []
                    for word, long, _ in inside.title if not inside.band else ():  # data flows to the right
                        base, start = left + word.y, top + word.x
                        high, low = base - 0.85 * word.size, base + 0.3 * word.size
                        self.solid.append(Rect(high, start - 3.0, low, start + long + 3.0))
                else:
                    self.solid.append(rect)
        for wire in piece.wires:
            self.lines += map(around, pairwise([(px + x, py + y) for px, py in wire.points]))

    def parts(self, but: int | None = None) -> Iterator[Rect]:
        """The straight parts of all lines, but for those back from one node."""
        yield from self.lines
        for tail, parts in self.back.items():
            yield from parts if tail != but else ()

    def crossed(self, start: Point, end: Point, tail: int, *own: Rect) -> float:
        """Number of lines that a straight part crosses; `_FAR` if it lies on one, or passes a thing too closely.

        Lines from the same `tail` may part on the way; `own` are the nodes that it begins or ends at.
        """
        part = around((start, end))
        is_along = part.width < part.height
        beside = tuning.BACK_AIR if is_along else tuning.BACK_PAST
        air = Rect(part.left - beside, part.top - tuning.BACK_PAST, part.right + beside, part.bottom + tuning.BACK_PAST)
        for rect in self.solid:
            if rect.meets(air) and not any(rect.contains(node[:2]) and rect.contains(node[2:]) for node in own):
                return _FAR
        n = 0
        for other in self.parts(tail):
            if (other.width < other.height) == is_along:
                if other.grown(tuning.BACK_CLOSE).meets(part):
                    return _FAR
            else:
                n += other.meets(part)
        return n


def lead_back(piece: Piece, edges: Sequence[tuple[int, Edge]], *, is_sideways: bool) -> None:
    """Adds lines back, with their word, to a box that has its coordinates; it grows at its sides."""
    room = _Room()
    room.add(piece, 0.0, 0.0, [end for _, edge in edges for end in (edge.tail, edge.head)])
    if piece.box is not None:
        room.solid.append(Rect(-_FAR, -_FAR, _FAR, piece.band))
        room.solid.append(Rect(-_FAR, piece.height - 1.0, _FAR, _FAR))
    for side in piece.late.values():  # a line from the border, whichever it comes from
        room.lines += [around(((x, side.y), (way * _FAR, side.y))) for way, x in side.ends.items()]
    if any(end not in room.spots for _, edge in edges for end in (edge.tail, edge.head)):
        raise NoWayBack
    spots = room.spots
    wires = []
    for position, edge in sorted(edges, key=lambda pair: abs(spots[pair[1].tail].y - spots[pair[1].head].y)):
        tail, head = spots[edge.tail], spots[edge.head]
        wire = Wire(tail.item, head.item, edge.tail, [position], is_skip=False)
        wire.points = _way(room, piece, tail, head)
        room.back.setdefault(_source(tail, head), []).extend(map(around, pairwise(wire.points)))
        wires.append(wire)
    for x, _ in (point for wire in wires for point in wire.points):
        piece.left, piece.right = max(piece.left, -x), max(piece.right, x)
    piece.wires += wires
    _say(room, piece, wires[::-1], is_sideways=is_sideways)


def nodes_in(piece: Piece) -> Iterator[int]:
    for item in piece.items:
        if item.card:
            yield item.key.id
        elif item.piece:
            yield from nodes_in(item.piece)


def _way(room: _Room, piece: Piece, tail: _Spot, head: _Spot) -> list[Point]:
    """The cheapest way from a node to one before it, or to itself."""
    usual = LEFT if tail is head else RIGHT
    lanes = _lanes(room, tail, head)
    source = _source(tail, head)
    tried = []
    for leaving in _ends(tail, usual, is_leaving=True):
        for coming in _ends(head, usual, is_leaving=False):
            (x0, y0), (x1, y1) = leaving.points[-1], coming.points[0]
            low, high = max(leaving.low, coming.low), min(leaving.high, coming.high)
            if tail is head and (y0 <= y1 or len(leaving.points) + len(coming.points) > 2):
                continue
            if leaving.low == leaving.high and y1 >= y0:  # from the top down, through the node itself
                continue
            for x in lanes if leaving.low < leaving.high else [x0]:
                if low <= x <= high and (x, x) != (x0, x1):
                    long = abs(x - x0) + abs(y1 - y0) + abs(x - x1)
                    wider = max(-piece.left - x, x - piece.right, 0.0)  # each point of it is as dear as one of length
                    tried.append((long + wider + leaving.price + coming.price, x, leaving, coming))
    best, way = _straight(room, tail, head, source)
    first, last = (tail.rect,), (head.rect,)
    crossed: dict[tuple[Point, Point], float] = {}
    for cost, x, leaving, coming in sorted(tried, key=lambda candidate: candidate[:2]):
        if cost >= best:
            break
        points = [*leaving.points, (x, leaving.points[-1][1]), (x, coming.points[0][1]), *coming.points]
        parts = [(p, q) for p, q in pairwise(points) if p != q]
        for i, (p, q) in enumerate(parts):
            if cost >= best:
                break
            own = first if not i else last if i == len(parts) - 1 else ()
            if (p, q) not in crossed:
                crossed[p, q] = room.crossed(p, q, source, *own)
            cost += tuning.BACK_CROSSING_COSTS * crossed[p, q]
        if cost < best:
            best, way = cost, points
    if not way:
        raise NoWayBack
    return way


def _straight(room: _Room, tail: _Spot, head: _Spot, source: int) -> tuple[float, list[Point]]:
    """Price and points of a straight line between two nodes beside each other, if there is room."""
    left, right = (tail, head) if tail.x < head.x else (head, tail)
    top, bottom = max(left.rect.top, right.rect.top), min(left.rect.bottom, right.rect.bottom)
    best, line = _FAR, list[Point]()
    if left.rect.right < right.rect.left and not (tail.item.is_sign or head.item.is_sign):
        for by in _offsets((bottom - top) / 2, tuning.BACK_OFF):
            points = [(x, (top + bottom) / 2 + by) for x in (left.rect.right, right.rect.left)]
            points = points if tail is left else points[::-1]
            price = right.rect.left - left.rect.right + abs(by) / 4
            price += tuning.BACK_CROSSING_COSTS * room.crossed(points[0], points[1], source, tail.rect, head.rect)
            if price < best:
                best, line = price, points
    return best, line


def _source(tail: _Spot, head: _Spot) -> int:
    """A key that lines share which part on the way; a hook has its own, as its arrow would end on the others."""
    return -1 - tail.item.key.id if tail is head else tail.item.key.id


def _lanes(room: _Room, tail: _Spot, head: _Spot) -> list[float]:
    ends = [(side, spot.x + side * spot.item.half) for spot in (tail, head) for side in (LEFT, RIGHT)]
    lanes = {end + side * tuning.BACK_REACH for side, end in ends}
    for rect in room.solid:
        lanes |= {rect.left - tuning.BACK_AIR - 0.1, rect.right + tuning.BACK_AIR + 0.1}
    for part in room.parts():
        if part.width < part.height:
            lanes |= {part.left - tuning.LANE, part.left, part.left + tuning.LANE}
    return sorted(x for x in lanes if abs(x) < _FAR / 2)


def _ends(spot: _Spot, usual: int, *, is_leaving: bool) -> Iterator[_End]:
    """Ends at the sides; then at the bottom and the top, along which the line leads to its lane."""
    yield from _at_sides(spot, usual)
    top, bottom = spot.rect.top, spot.rect.bottom
    is_stack = spot.item.card is not None and "repeat" in spot.item.card.figure.flags
    for by in _offsets(spot.item.half, [lane * tuning.LANE for lane in (0, 1, -1, 2, -2)]):
        if spot.item.is_sign and by:
            continue
        x, price = spot.x + by, 3 * tuning.BACK_BEND_COSTS + abs(by) / 4
        if is_leaving:
            below = bottom + (tuning.STACK if is_stack else 0.0) + tuning.ARRIVING_TRACK
            yield _End([(x, bottom), (x, below)], -_FAR, _FAR, price)
            yield _End([(x, top)], x, x, tuning.UP_COSTS + abs(by) / 4)
        else:
            yield _End([(x, top - tuning.TRACK), (x, top)], -_FAR, _FAR, price)


def _at_sides(spot: _Spot, usual: int) -> Iterator[_End]:
    half = spot.item.half
    for side in (LEFT, RIGHT):
        for by in _offsets(spot.rect.height / 2, tuning.BACK_OFF):
            reach = (half**2 - by**2) ** 0.5 if spot.item.is_sign else half
            x = spot.x + side * reach
            low, high = sorted((spot.x + side * (half + tuning.BACK_REACH), side * _FAR))
            price = (0.0 if side == usual else tuning.OTHER_SIDE_COSTS) + tuning.BACK_BEND_COSTS + abs(by) / 4
            yield _End([(x, spot.y + by)], low, high, price)


def _offsets(half: float, offsets: Sequence[float]) -> list[float]:
    return [by for by in offsets if abs(by) <= half - 4.0]


def _say(room: _Room, piece: Piece, wires: Sequence[Wire], *, is_sideways: bool) -> None:
    """Puts the word beside a line back, where the box grows the least; in a corner only where it has no room there."""
    sides = width(NEXT_STEP, tuning.SMALL), 0.9 * tuning.SMALL
    across, along = sides[::-1] if is_sideways else sides
    best: tuple[float, Wire, Rect] | None = None
    corners = [
        (x, y)
        for y in (piece.band + along / 2 + tuning.WORD_FROM_BACK, piece.height - along / 2 - tuning.WORD_FROM_BACK)
        for x in (piece.right - across / 2, across / 2 - piece.left)
    ]
    beside = [(wire, place) for wire in wires for place in _places(wire, across, along)]
    for tried in (beside, [(wires[0], corner) for corner in corners]):
        for wire, (x, y) in tried if best is None else ():
            rect = Rect.centred(x, y, across, along)
            near = rect.grown(1.5)
            is_taken = any(map(near.meets, room.solid)) or any(map(near.meets, room.parts()))
            wider = max(-rect.left - piece.left, rect.right - piece.right, 0.0)
            if not is_taken and (best is None or wider < best[0] - 1.0):
                best = wider, wire, rect
    if best is not None:
        _, wire, rect = best
        wire.word, wire.at = NEXT_STEP, rect.middle
        piece.left, piece.right = max(piece.left, -rect.left), max(piece.right, rect.right)


def _places(wire: Wire, across: float, along: float) -> Iterator[Point]:
    """Middles of words: beside the lane, then beside other parts."""
    for (x0, y0), (x1, y1) in sorted(pairwise(wire.points), key=lambda part: -abs(part[0][1] - part[1][1])):
        for at in (0.5, 0.3, 0.7, 0.1, 0.9):
            x, y = x0 + (x1 - x0) * at, y0 + (y1 - y0) * at
            if abs(x1 - x0) < abs(y1 - y0):
                yield x + across / 2 + tuning.WORD_FROM_BACK, y
                yield x - across / 2 - tuning.WORD_FROM_BACK, y
            else:
                yield x, y - along / 2 - tuning.WORD_FROM_BACK
                yield x, y + along / 2 + tuning.WORD_FROM_BACK
