"""The way of each wire by rows, before heights are known: from which side it comes in, its lane, its tracks.

Straight if it can be; else the cheapest free lane: in line with the tail or the head, or beside something in the rows
it passes. It is never behind a thing; where all places are taken, it may lie on another lane, and the check sees it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.exchange import WireKey, wire_key
from torchrecorder.layout.paper.model import LEFT, RIGHT, RowItem, Wire
from torchrecorder.layout.paper.tracks import Tracks

FAR = 1e6  # points: beyond every picture
Span = tuple[float, float]


class Blocked(Exception):
    """Data cannot come to a box by the side: something stands on both sides of it."""

    def __init__(self, box: int, source: int) -> None:
        super().__init__(f"no way to the side of box {box}")
        self.box, self.source = box, source


class _TakenLane(NamedTuple):
    x: float
    first: float
    last: float
    source: int
    named: float = 0.0  # room at its right for a name at its end


class Router:
    def __init__(
        self,
        rows: Sequence[Sequence[RowItem]],
        wires: Sequence[Wire],
        prefer: int,
        sides: Mapping[WireKey, int],
        series: int = tuning.SERIES,
    ) -> None:
        self._rows, self._runs = rows, wires
        self._prefer, self._sides = prefer, sides  # the side on which skips pass, and those of some lines
        self._lanes: list[_TakenLane] = []
        self._taken: dict[tuple[RowItem, int], list[Wire]] = defaultdict(list)  # by item and side
        self._into: dict[RowItem, list[Wire]] = defaultdict(list)
        self._high = [item for row in rows for item in row if item.last > item.row]
        self._from = Counter(wire.tail for wire in wires)
        for wire in wires:
            self._into[wire.head].append(wire)
        self._are_in_series = are_in_series(wires, series)
        self.tracks: dict[int, tuple[int, int]] = {}
        """By the row above a gap, the number of tracks of leaving and of arriving wires."""

    def route(self, spine: Iterable[Wire], reserved: Iterable[tuple[RowItem, int]]) -> None:
        """Sets side, lane and tracks of all wires, those of the spine first; `reserved` sides are taken."""
        main = {id(wire) for wire in spine}
        self._reserved = set(reserved)
        for wire in sorted(self._runs, key=partial(self._turn, main)):
            self._free(wire, main)
            self._route(wire)
        for wires in self._taken.values():
            self._spread(wires)
        for head, wires in self._into.items():
            self._fan(head, [wire for wire in wires if not wire.side])
        gaps: dict[int, tuple[Tracks, Tracks]] = defaultdict(lambda: (Tracks(), Tracks()))
        for wire in self._runs:
            if abs(wire.lane - wire.start) > 0.5:
                gaps[wire.tail.last][0].add(wire.start, wire.lane, wire.source, partial(setattr, wire, "leaving"))
            if not wire.side and abs(wire.lane - wire.end) > 0.5:
                gaps[wire.head.row - 1][1].add(wire.end, wire.lane, wire.source, partial(setattr, wire, "arriving"))
        for gap, (leaving, arriving) in gaps.items():
            self.tracks[gap] = leaving.settle(), arriving.settle()

    def _turn(self, main: set[int], wire: Wire) -> tuple[bool, int, int]:
        """The place of a wire among all: those of the spine first, then by length; the last that leaves at the left."""
        is_early = self._are_in_series and wire.leaves_early
        return id(wire) not in main, abs(wire.head.row - wire.tail.last), -wire.head.order if is_early else 0

    def _free(self, wire: Wire, main: set[int]) -> None:
        """Puts a port that only a line beside the spine uses where that line needs no bend."""
        if id(wire) in main or wire.is_late or wire.head.row - wire.tail.last < 2:
            return
        first, last = 2 * wire.tail.last + 1, 2 * wire.head.row - 1
        start, end = wire.tail.x + wire.tail.exit(wire.source), wire.head.x + wire.head.entry(wire.source)
        if wire.head.key.kind == "out" and len(self._into[wire.head]) == 1:
            wire.start = wire.end = start
            # several at the left, the first outermost, so that they end in the order of the forward
            lane = self._cheapest(wire, first, last, [(-FAR, start)]) if self._are_in_series else None
            wire.head.x = self._anywhere(wire, first, last, RIGHT) if lane is None else lane
        elif wire.tail.key.kind == "in" and self._from[wire.tail] == 1 and not wire.head.is_sign:
            wire.start = wire.end = end
            wire.tail.x = self._anywhere(wire, first, last)

    def _route(self, wire: Wire) -> None:
        tail, head = wire.tail, wire.head
        wire.start = tail.x + tail.exit(wire.source)
        wire.end = head.x + head.entry(wire.source)
        meets = head.is_sign or (wire.is_skip and head.card is not None and len(self._into[head]) > 1)
        first, last = 2 * tail.last + 1, 2 * head.row - 1
        is_next = head.row == tail.last + 1
        is_beside = abs(wire.start - head.x) > 1 or not (is_next or self._is_free(wire.start, wire, first, last))
        if (wire.is_late or (meets and is_beside)) and self._enter_side(wire):
            return
        if wire.is_late:
            raise Blocked(head.key.id, wire.source)
        if head.piece is None and not head.is_port:
            wire.end = self._place_at_top(wire)
        if abs(wire.start - wire.end) < 0.5 and self._is_free(wire.end, wire, first, last):
            wire.lane = wire.end
        elif is_next:
            taken = [lane.x for lane in self._lanes if lane.source != wire.source and lane.first <= last <= lane.last]
            is_taken = [any(abs(x - lane) < tuning.LEAST_FAN for lane in taken) for x in (wire.start, wire.end)]
            wire.lane = wire.end if is_taken == [True, False] else wire.start
        else:
            wire.lane = self._anywhere(wire, first, last)
        named = head.right if head.is_port else 0.0
        self._lanes.append(_TakenLane(wire.lane, first, last, wire.source, named))

    def _place_at_top(self, wire: Wire) -> float:
        """The end of a wire at the top of a node: below its beginning if it can, else beside others."""
        head = wire.head
        inset = min(tuning.LINE_INSET, head.half)
        reach = 1.0 if head.is_sign else head.half - inset
        others = [other for other in self._into[head] if not other.side]
        straight = {id(other): self._is_straight(other, reach) for other in others}
        begins = {id(other): other.tail.x + other.tail.exit(other.source) for other in others}
        if straight[id(wire)]:
            return wire.start
        if len({other.source for other in others}) < 2:
            return wire.start if abs(wire.start - head.x) <= reach else wire.end
        others.sort(key=lambda other: begins[id(other)])
        place = others.index(wire)
        in_line = [i for i, other in enumerate(others) if straight[id(other)]]
        if not in_line or head.is_sign:
            step = min(tuning.FAN, 2 * (head.half - inset) / (len(others) - 1))
            return head.x + (place - (len(others) - 1) / 2) * step
        near = in_line[0] if place < in_line[0] else in_line[-1]
        at = begins[id(others[near])] + (place - near) * tuning.FAN
        return min(max(at, head.x - reach), head.x + reach)

    def _is_straight(self, wire: Wire, reach: float) -> bool:
        """Whether a wire can lead to the top of its head without a bend."""
        start = wire.tail.x + wire.tail.exit(wire.source)
        first, last = 2 * wire.tail.last + 1, 2 * wire.head.row - 1
        return abs(start - wire.head.x) <= reach and self._is_free(start, wire, first, last)

    def _enter_side(self, wire: Wire) -> bool:
        """Whether there is a way to a side of the head; if so, it is taken."""
        tail, head = wire.tail, wire.head
        if wire.is_late and (across := self._across(wire)):
            wire.lane, wire.side = wire.start, across
            self._taken[head, across].append(wire)
            self._lanes.append(_TakenLane(wire.start, 2 * head.row, 2 * head.last, wire.source))
            return True
        sides = head.piece.late[wire.source].ends if wire.is_late and head.piece else head.sides
        allowed = []
        for side in sides:
            if head.is_sign and (others := self._taken[head, side]) and all(o.source != wire.source for o in others):
                continue
            if (head, side) in self._reserved:
                continue
            low, high = self._beside(head, side, wire.source)
            if tail.last >= head.row and tail.x < head.x:  # between towers
                low = max(low, tail.x + tail.right + tuning.LANE_AIR)
            elif tail.last >= head.row:
                high = min(high, tail.x - tail.left - tuning.LANE_AIR)
            if low <= high:
                allowed.append((low, high))
        if not allowed:
            return False
        first, last = sorted((2 * tail.last + 1, 2 * head.row))
        if tail.last >= head.row:
            first, last = 2 * head.row, 2 * tail.last + 1
        lane = self._cheapest(wire, first, last, allowed, may_share=wire.is_late)
        if lane is None:
            return False
        wire.lane = lane
        wire.side = LEFT if wire.lane < head.x else RIGHT
        self._taken[head, wire.side].append(wire)
        self._lanes.append(_TakenLane(wire.lane, first, last, wire.source))
        return True

    def _across(self, wire: Wire) -> int:
        """The side of a box to which a wire leads straight from below its tail, beside the box; 0 if it does not."""
        tail, head, row = wire.tail, wire.head, self._rows[wire.head.row]
        if head.piece is None or tail not in row or tail.last > tail.row:
            return 0
        end, side = head.piece.late[wire.source], LEFT if tail.x < head.x else RIGHT
        own = [item for item in row if item.last == item.row]
        above = tail.middle if any(item.piece for item in own) else max(item.middle for item in own)
        is_below = end.y > above - tail.middle + tail.bottom + 2 * tuning.RADIUS
        is_next = abs(row.index(tail) - row.index(head)) == 1
        is_free = self._is_free(wire.start, wire, 2 * tail.row + 1, 2 * head.last)
        is_able = side in end.ends and (head, side) not in self._reserved
        return side if is_below and is_next and is_free and is_able else 0

    def _beside(self, head: RowItem, side: int, source: int) -> Span:
        """The span of lanes from which a line leads straight to a side of an item."""
        row = [*self._rows[head.row], *(item for item in self._high if item.row < head.row <= item.last)]
        reach = head.half if not head.piece else head.left if side == LEFT else head.right
        facing = [  # what comes to the thing on that side does so at the same height
            wire.lane
            for (item, at), wires in self._taken.items()
            for wire in wires
            if at == -side and item.row == head.row and wire.source != source and (wire.lane - head.x) * side > 0
        ]
        if side == LEFT:
            others = [other.x + other.right for other in row if other.x < head.x and not other.is_port]
            low = max(others, default=-FAR - tuning.LANE_AIR) + 6.0
            return max([low, *(lane + tuning.LANE for lane in facing)]), head.x - reach - tuning.LANE_AIR
        others = [other.x - other.left for other in row if other.x > head.x and not other.is_port]
        high = min(others, default=FAR + tuning.LANE_AIR) - 6.0
        return head.x + reach + tuning.LANE_AIR, min([high, *(lane - tuning.LANE for lane in facing)])

    @staticmethod
    def _spread(wires: list[Wire]) -> None:
        """Lines into one side of a node lie one below the other."""
        inner = sorted(wires, key=lambda wire: (-wire.tail.last, abs(wire.lane - wire.head.x)))
        sources = list(dict.fromkeys(wire.source for wire in inner))
        for wire in wires:
            if not wire.is_late and not wire.head.is_sign:
                wire.shift = below(wire.head, sources.index(wire.source), len(sources))

    @staticmethod
    def _fan(head: RowItem, wires: list[Wire]) -> None:
        """Lines into the top of a node end beside each other, in the order in which they come there."""
        fixed = sorted(wire.end for wire in wires if abs(wire.lane - wire.end) <= 0.5)
        moving = sorted((wire for wire in wires if abs(wire.lane - wire.end) > 0.5), key=lambda wire: wire.lane)
        if head.card is None or len(wires) < 2 or not moving:
            return
        ends = [wire.end for wire in sorted(wires, key=lambda wire: wire.lane)]
        if all(b - a >= tuning.LEAST_FAN for a, b in pairwise(ends)):
            return
        reach = head.half - (tuning.LEAST_FAN if head.is_sign else min(tuning.LINE_INSET, head.half))
        for i in range(len(fixed) + 1):
            group = [wire for wire in moving if bisect_left(fixed, wire.lane) == i]
            step = tuning.FAN
            if i < len(fixed):  # beside what comes straight down, on the side that they come from
                first, room = fixed[i], fixed[i] - (fixed[i - 1] if i else head.x - reach)
                step = -min(step, room / (len(group) + (1 if i else 0) or 1))
                group.reverse()
            elif fixed:
                first, step = fixed[-1], min(step, (head.x + reach - fixed[-1]) / (len(group) or 1))
            else:
                step = min(step, 2 * reach / (len(group) - 1))
                first = head.x - step * (len(group) + 1) / 2
            for k, wire in enumerate(group, start=1):
                wire.end = first + k * step

    def _is_free(self, x: float, wire: Wire, first: float, last: float) -> bool:
        return not any(low < x < high for low, high in self._blocked(wire, first, last))

    def _blocked(self, wire: Wire, first: float, last: float, *, lanes: bool = True) -> list[Span]:
        spans = []
        for row in self._rows[int(first + 1) // 2 : int(last) // 2 + 1]:
            spans += [_around(item) for item in row if not item.is_port and item is not wire.head]
        for item in self._high:
            if item is not wire.head and 2 * item.row < first <= 2 * item.last:
                spans.append(_around(item))
        named = wire.head.right if wire.head.is_port else 0.0
        for lane in self._lanes if lanes else ():
            if lane.source != wire.source and lane.first <= last and first <= lane.last:
                spans += [(lane.x - tuning.LANE - named + 0.1, lane.x + tuning.LANE + lane.named - 0.1)]
        return spans

    def _anywhere(self, wire: Wire, first: float, last: float, prefer: int = 0) -> float:
        lane = self._cheapest(wire, first, last, [(-FAR, FAR)], prefer)
        assert lane is not None  # beside everything it is free
        return lane

    def _cheapest(
        self, wire: Wire, first: float, last: float, allowed: Sequence[Span], prefer: int = 0, *, may_share: bool = True
    ) -> float | None:
        """The place of a lane in one of some intervals; None if all of them are taken."""
        settled = self._sides.get(wire_key(wire), 0)
        way = settled or wire.due or prefer or self._prefer
        wrong = tuning.SETTLED_SIDE_COSTS if settled else tuning.WRONG_SIDE_COSTS
        for lanes in (True, False) if may_share else (True,):
            blocked: list[Span] = []
            for low, high in sorted(self._blocked(wire, first, last, lanes=lanes)):
                if blocked and low < blocked[-1][1]:
                    blocked[-1] = blocked[-1][0], max(high, blocked[-1][1])
                else:
                    blocked.append((low, high))
            places = [wire.start, wire.end, *chain.from_iterable((*blocked, *allowed))]
            free = [
                x
                for low, high in allowed
                for x in places
                if low <= x <= high
                and abs(x) < FAR / 2
                and not ((i := bisect_left(blocked, (x, -FAR))) and x < blocked[i - 1][1])
            ]
            if free:
                return min(free, key=lambda x: (self._price(wire, x, way, wrong), x))
        return None

    def _price(self, wire: Wire, x: float, prefer: int, wrong: float) -> float:
        price = abs(x - wire.start) + abs(x - wire.end)
        if abs(x - wire.start) > 0.5 and (wire.side or abs(x - wire.end) > 0.5 or wire.head.is_sign):
            price += tuning.BEND_COSTS + (wrong if (x - wire.end) * prefer < 0 else 0.0)
        return price


def are_in_series(wires: Sequence[Wire], least: int) -> bool:
    """Whether so many lines leave before the end that all do so at the left."""
    return sum(wire.leaves_early for wire in wires) >= least


def below(item: RowItem, place: int, n: int) -> float:
    """How far below the middle of its side one of several lines into a node ends."""
    step = min(tuning.TRACK, (item.bottom - item.top - 8.0) / (n - 1)) if n > 1 else 0.0
    return (place - (n - 1) / 2) * step


def _around(item: RowItem) -> Span:
    """Where no lane passes an item, nor the word at a line that comes to it from above."""
    right = max(item.right + tuning.LANE_AIR, item.said and item.said + 3 * tuning.WORD_FROM_LINE)
    return item.x - item.left - tuning.LANE_AIR + 0.1, item.x + right - 0.1
