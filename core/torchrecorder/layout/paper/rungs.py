"""A ladder with coordinates: what is joined is level with its stage, and lines go on in the spaces between columns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.heights import LEVEL, Heights
from torchrecorder.layout.paper.ladder import DOWN, UP, Ladder, NoWayAcross
from torchrecorder.layout.paper.model import LEFT, RIGHT, RowItem, Side, Wire
from torchrecorder.layout.paper.panels import Key
from torchrecorder.layout.paper.tracks import Tracks


class _Leg(NamedTuple):
    """The part of a line in the space left of a column."""

    column: int
    start: float
    end: float


@dataclass(slots=True)
class _Way:
    """A line from one rail to another, while it is not known yet where columns stand."""

    wire: Wire
    start: float  # its height where it leaves
    end: float  # and where it arrives
    legs: list[_Leg] = field(default_factory=list)
    lanes: dict[int, int] = field(default_factory=dict)
    side: int = 0  # the side of its head at which it ends; 0 at its top or bottom
    falls: bool = False  # whether it leads to the left below its tail


@dataclass(slots=True, eq=False)
class Rungs:
    """The inside of a ladder; 0 across is the spine of the first column, 0 along its beginning."""

    ladder: Ladder
    items: Mapping[Key, RowItem]
    wires: list[Wire]
    lead: float  # room for a title at the beginning
    is_boxed: bool
    leaves_at_top: bool
    apart: Mapping[tuple[int, int], float]  # of a neck, the distances of two stages outside
    left: float = 0.0
    right: float = 0.0
    height: float = 0.0
    sides: dict[int, Side] = field(default_factory=dict)
    _column: dict[RowItem, int] = field(default_factory=dict)
    _way: dict[RowItem, int] = field(default_factory=dict)
    _next: dict[RowItem, RowItem] = field(default_factory=dict)
    _below: list[tuple[RowItem, list[RowItem]]] = field(default_factory=list)  # heads with what they come from
    _shift: dict[RowItem, float] = field(default_factory=dict)  # from the middle of its column
    _turning: set[tuple[RowItem, RowItem]] = field(default_factory=set)  # what turns into a rail, and its first
    _passing: list[tuple[range, float, int]] = field(default_factory=list)  # columns, heights and sources of lines
    _at: dict[RowItem, float] = field(default_factory=dict)  # middles along the flow

    def compose(self) -> None:
        """Sets all coordinates."""
        for rail in self.ladder.rails:
            items = [self.items[key] for key in rail.keys]
            self._turning |= {(self.items[key], items[0]) for key in rail.entered}
            for item in items:
                self._column[item], self._way[item] = rail.column, rail.way
            if rail.is_below:
                self._below.append((self.items[rail.entered[0]], items))
            self._shift |= dict.fromkeys(items, 0.0)
            for item, after in pairwise(items):
                if item.is_port:
                    continue
                self._next[item] = after
                self._shift[after] = self._shift[item]
                for wire in [wire for wire in self.wires if (wire.tail, wire.head) == (item, after)][:1]:
                    self._shift[after] += item.exit(wire.source) - after.entry(wire.source)
        self._stack()
        ways = [way for wire in sorted(self.wires, key=self._rise) if (way := self._led(wire))]
        self._spread(ways)
        self._across(ways)
        self._end(ways)

    # heights

    def _stack(self) -> None:
        """Sets the heights of all: stages level with what they are joined in, if nothing is against it."""
        heights = Heights([*self._column])
        for stage, after in pairwise(item for item in self._column if item.is_port):
            heights.below(stage, after, self.apart.get((stage.key.id, after.key.id), tuning.LANE))
        for item, after in self._next.items():
            heights.below(*self._ordered(item, after, self._gap(item, after)))
        turns = [wire for wire in self.wires if self._turns(wire)]
        joined = {head for _, head in self._turning if sum(wire.head is head for wire in turns) > 1}
        for wire in (wire for wire in turns if wire.head not in joined):
            self._turn(heights, wire)
        self._level(heights, turns)
        for tail, items in self._below:  # heads begin in a row
            if tail in self._next:
                heights.level(self._next[tail], items[0], 0.0)
        at = heights.solved()
        for head in joined:  # the lowest comes from the side, those above it from above
            lowest, *others = sorted((wire for wire in turns if wire.head is head), key=lambda wire: -at[wire.tail])
            for wire in others:
                self._turn(heights, wire)
            if heights.level(lowest.tail, head, self._leaving(lowest)[1] - self._arriving(lowest)):
                self._turning.remove((lowest.tail, head))
            else:
                self._turn(heights, lowest)
        at = heights.solved()
        for item, other in self._neighbours(at):
            heights.below(item, other, self._reach(item, DOWN) + self._reach(other, UP) + tuning.WORD_GAP)
        self._at = heights.solved()
        for rail in self.ladder.rails:  # what ends a way up stands close to what is before it
            items = [self.items[key] for key in rail.keys]
            free = [*takewhile(heights.is_free, items[:0:-1])] if rail.way == UP else []
            for item in free[::-1]:
                self._at[item] = heights.lowest(item, self._at)
        top = min(self._at[item] - self._reach(item, UP) for item in self._at)
        start = self.lead + tuning.ARROW_ROOM if self.is_boxed else 0.0
        for item in self._at:
            self._at[item] += start - top
            item.y = self._at[item] - item.middle

    def _level(self, heights: Heights, turns: Collection[Wire]) -> None:
        """Makes the ends of lines level, of several into one box those with which all is lowest."""
        level = []
        for wire in self.wires:
            is_turn = wire in turns or self._next.get(wire.tail) is wire.head
            if not is_turn and {wire.tail, wire.head} <= self._column.keys():
                by = self._leaving(wire)[1] - self._arriving(wire)
                high = heights.with_level(wire.tail, wire.head, by) if wire.head.piece else 0.0
                level.append((self._column[wire.head], high, by, wire))
        for *_, by, wire in sorted(level, key=lambda line: line[:2]):
            heights.level(wire.tail, wire.head, by)

    def _turns(self, wire: Wire) -> bool:
        """Whether it turns into the next rail, and does not come to a box in it by the side."""
        return (wire.tail, wire.head) in self._turning and not wire.is_late

    def _turn(self, heights: Heights, wire: Wire) -> None:
        """Lets a rail begin below, or above, the line that turns into it."""
        tail, head = wire.tail, wire.head
        room = tuning.ARROW_ROOM + self._reach(head, -self._way[head])
        leaves = self._leaving(wire)[1] + (tuning.TURN if tail.piece and wire.source not in tail.piece.early else 0.0)
        if self._column[head] < self._column[tail]:
            leaves = self._reach(tail, DOWN) + tuning.FIRST_TRACK
        if self._way[head] == DOWN:
            heights.below(tail, head, room + leaves)
        else:
            heights.below(head, tail, room - leaves)

    def _neighbours(self, at: Mapping[RowItem, float]) -> Iterator[tuple[RowItem, RowItem]]:
        """Things of one column that no rail orders, from above."""
        columns: dict[int, list[RowItem]] = defaultdict(list)
        for item in sorted(at, key=lambda item: (at[item], item.order)):
            columns[self._column[item]].append(item)
        return (pair for column in columns.values() for pair in pairwise(column))

    def _ordered(self, item: RowItem, after: RowItem, gap: float) -> tuple[RowItem, RowItem, float]:
        above, below = (item, after) if self._way[item] == DOWN else (after, item)
        return above, below, self._reach(above, DOWN) + gap + self._reach(below, UP)

    @staticmethod
    def _gap(item: RowItem, after: RowItem) -> float:
        return (
            (tuning.WORD_GAP_TO_BOX if after.piece else tuning.WORD_GAP)
            if item.word or after.said
            else tuning.ARROW_ROOM
        )

    @staticmethod
    def _reach(item: RowItem, way: int) -> float:
        """How far it reaches from its middle downwards, or upwards."""
        return item.height - item.middle if way == DOWN else item.middle

    def _leaving(self, wire: Wire) -> tuple[float, float]:
        """Where it leaves its tail, from the spine of the tail and its middle."""
        tail = wire.tail
        if not tail.piece:
            return tail.half, 0.0
        if wire.source not in tail.piece.early:
            return tail.exit(wire.source), tail.height - tail.middle
        x, y = tail.piece.early[wire.source]
        return x, y - tail.middle

    def _arriving(self, wire: Wire) -> float:
        """Where it comes to the side of its head, from the middle of the head."""
        head = wire.head
        if not head.piece:
            return 0.0
        if wire.source not in head.piece.late or LEFT not in head.piece.late[wire.source].ends:
            raise NoWayAcross
        y = head.piece.late[wire.source].y
        return (head.height - y if self._way[head] == UP else y) - head.middle

    # lines

    def _rise(self, wire: Wire) -> float:
        """How far its ends are from level; what is level is led first."""
        at = self._at.get(wire.tail), self._at.get(wire.head)
        return math.inf if at[0] is None or at[1] is None else abs(at[0] - at[1])

    def _led(self, wire: Wire) -> _Way | None:
        """The way of a line by columns and heights; None if it is straight in its column."""
        tail, head = wire.tail, wire.head
        if self._next.get(tail) is head or self._is_straight(wire):
            return None
        first, start = -1, 0.0
        if tail in self._column:
            first, start = self._column[tail], self._at[tail] + self._leaving(wire)[1]
        last = 1 + max(self._column.values())
        if head.is_port:
            way = _Way(wire, start, math.inf)
        elif self._turns(wire):
            way = _Way(wire, start, head.y + (head.bottom if self._way[head] == UP else head.top))
            last = self._column[head]
        else:
            way = _Way(wire, start, self._at[head] + self._arriving(wire), side=LEFT)
            last = self._column[head]
        if last < first and not way.side:
            below = self._at[tail] + self._reach(tail, DOWN)
            return _Way(wire, below, way.end, falls=True)
        if last < first or (last == first and not way.side):
            raise NoWayAcross
        if last == first:
            way.side = RIGHT
            way.legs.append(_Leg(last + 1, start, way.end))
            return way
        between = [item for item in self._at if first < self._column[item] < last]
        free = self._free_height(way, between, (first, last))
        self._passing.append((range(first + 1, last), free, wire.source))
        if first < 0 or abs(free - start) > LEVEL:
            way.legs.append(_Leg(first + 1, start, free))
        if head.is_port or (way.side and abs(free - way.end) > LEVEL):
            if way.legs and way.legs[0].column == last:
                way.legs = [_Leg(last, start, way.end)]
            else:
                way.legs.append(_Leg(last, free, way.end))
        return way

    def _is_straight(self, wire: Wire) -> bool:
        """Whether it leads straight from or to the border in line with its column."""
        tail, head = wire.tail, wire.head
        if tail not in self._column:
            return self._way[head] == DOWN and self._is_outermost(head, UP)
        if head.is_port and tail.is_port:
            return False
        if self.leaves_at_top and head.is_port:
            return self._way[tail] == UP and self._is_outermost(tail, UP)
        return head.is_port and self._is_outermost(tail, DOWN) and self._way[tail] == DOWN and tail not in self._next

    def _is_outermost(self, item: RowItem, way: int) -> bool:
        others = (other for other in self._at if self._column[other] == self._column[item])
        return all((self._at[item] - self._at[other]) * way >= 0 for other in others)

    def _free_height(self, way: _Way, between: Sequence[RowItem], ends: tuple[int, int]) -> float:
        """The height at which it passes the columns between: that of an end, or between two things."""
        end = way.start if math.isinf(way.end) or not way.side else way.end
        air = tuning.ARROW_ROOM / 2
        spans = [(self._at[i] - self._reach(i, UP) - air, self._at[i] + self._reach(i, DOWN) + air) for i in between]
        for columns, y, source in self._passing:
            if source != way.wire.source and any(ends[0] < column < ends[1] for column in columns):
                spans.append((y - tuning.TRACK, y + tuning.TRACK))
        places = [way.start, end, *(y for span in spans for y in span)]
        places = [max(y, self.lead + 3.0) for y in places]
        free = [y for y in places if not any(low + 0.1 < y < high - 0.1 for low, high in spans)]

        def price(y: float) -> float:
            crossed = 0
            for item, after in self._next.items():
                low, high = sorted((self._at[item], self._at[after]))
                crossed += item in between and low < y < high
            return abs(y - way.start) + abs(y - end) + tuning.EXCHANGE_SAVES * crossed

        return min(free, key=price)

    def _spread(self, ways: Sequence[_Way]) -> None:
        """Lets lines into one side of a thing lie beside one another."""
        into: dict[tuple[RowItem, int], list[_Way]] = defaultdict(list)
        for way in ways:
            if not way.wire.head.is_port and not way.wire.head.piece:
                into[way.wire.head, way.side].append(way)
        for (head, side), group in into.items():
            if side:
                group.sort(key=lambda way: way.legs[-1].start if way.legs else way.end)
                room = 2 * (head.half - 4.0) if head.is_sign else head.bottom - head.top - 8.0
                level = next((i for i, way in enumerate(group) if not way.legs), (len(group) - 1) / 2)
                step = min(tuning.TRACK, room / 2 / max(level, len(group) - 1 - level, 0.5))
            else:  # the lowest at the left, so that none crosses another
                group.sort(key=lambda way: -way.start)
                step = min(tuning.FAN, 2 * (head.half - tuning.LINE_INSET) / max(len(group) - 1, 1))
                level = (len(group) - 1) / 2
            for i, way in enumerate(group):
                way.wire.shift = (i - level) * step

    def _across(self, ways: Sequence[_Way]) -> None:
        """Sets the places of columns and lanes across, and the points of all lines."""
        count = 1 + max(self._column.values())
        spaces = [Tracks() for _ in range(count + 1)]
        for way in ways:
            for leg in way.legs:
                shift = way.wire.shift if way.side and leg is way.legs[-1] else 0.0
                end = min(leg.end + shift, 1e6)
                spaces[leg.column].add(leg.start, end, way.wire.source, partial(way.lanes.__setitem__, leg.column))
        lanes = [space.settle() for space in spaces]
        x, starts = 0.0, []
        below = {item for _, items in self._below for item in items}
        for column in range(count + 1):
            items = [item for item in self._column if self._column[item] == column and item not in below]
            starts.append(x + tuning.LANE_AIR)
            room = 2 * tuning.LANE_AIR + tuning.LANE * (lanes[column] - 1)
            if column == count:  # the border has air of its own
                room -= tuning.LANE_AIR if self.is_boxed else 0.0
            elif column:
                room = max(room, tuning.GUTTER)
            x += room if lanes[column] or 0 < column < count else 0.0
            if items:
                middle = x + max(item.left - self._shift[item] for item in items)
                for item in items:
                    item.x = middle + self._shift[item]
                x = middle + max(item.right + self._shift[item] for item in items)
        self._put_heads()
        by = next(item.x for item in self._column)
        for item in self._column:
            item.x -= by
        starts = [start - by for start in starts]
        for wire in self.wires:
            wire.points = []
        for way in ways:
            way.wire.points = [*self._points(way, starts)]
        self.left, self.right = -by, x - by

    def _put_heads(self) -> None:
        """Puts heads below the columns, each left of those before it."""
        for i, (tail, items) in enumerate(self._below):
            right = [items for other, items in self._below[:i] if other is tail]
            after = [item for item in self._column if self._at[item] > self._at[tail] and item.x >= tail.x]
            beside = [*(item for group in right for item in group), *after, tail]
            x = min(item.x - item.left for item in beside) - tuning.APART
            x -= max(item.right + self._shift[item] for item in items)
            for item in items:
                item.x = x + self._shift[item]

    def _points(self, way: _Way, starts: Sequence[float]) -> Iterator[tuple[float, float]]:
        wire = way.wire
        tail, head = wire.tail, wire.head
        y = way.start
        if tail not in self._column:
            yield (starts[0] + tuning.LANE * way.lanes[0], 0.0)
            tail.x = starts[0] + tuning.LANE * way.lanes[0]
        elif way.falls:
            x = tail.x + tail.exit(wire.source)
            yield (x, tail.y + tail.bottom)
            y += tuning.FIRST_TRACK
            yield (x, y)
        elif tail.piece and wire.source not in tail.piece.early:  # from its end, and then to the side
            yield (tail.x + self._leaving(wire)[0], y)
            y += tuning.TURN
            yield (tail.x + self._leaving(wire)[0], y)
        else:
            yield (tail.x + self._leaving(wire)[0], y)
        for leg in way.legs:
            lane = starts[leg.column] + tuning.LANE * way.lanes[leg.column]
            yield (lane, y)
            y = leg.end
            if math.isinf(y):
                yield (lane, math.inf)
                head.x = lane
                return
            if leg is way.legs[-1] and way.side:
                y += wire.shift
            yield (lane, y)
        if way.side:
            x = head.x + way.side * head.half
            if head.is_sign:  # on its circle
                x = head.x + way.side * math.sqrt(max(head.half**2 - wire.shift**2, 0.0))
            if head.piece:
                x = head.x + head.piece.late[wire.source].ends[LEFT]
            yield (x, y)
        else:
            x = head.x + head.entry(wire.source) + wire.shift
            yield (x, y)
            yield (x, way.end)

    def _end(self, ways: Sequence[_Way]) -> None:
        """Sets the height, and the lines that lead straight along a column."""
        bottom = max(item.y + item.height for item in self._column)
        bottom = max(bottom, *(y for way in ways for _, y in way.wire.points if not math.isinf(y)), 0.0)
        self.height = bottom + (tuning.BOX_MARGIN if self.is_boxed else 0.0)
        for way in ways:
            way.wire.points = [(x, min(y, self.height)) for x, y in way.wire.points]
        for wire in self.wires:
            tail, head = wire.tail, wire.head
            if not wire.points and tail not in self._column:
                tail.x = head.x + head.entry(wire.source)
                wire.points = [(tail.x, 0.0), (tail.x, head.y + head.top)]
            elif not wire.points and head.is_port:
                head.x = tail.x + tail.exit(wire.source)
                wire.points = [(head.x, tail.y + tail.bottom), (head.x, self.height)]
                if self.leaves_at_top:
                    wire.points = [(head.x, tail.y + tail.top), (head.x, 0.0)]
            elif not wire.points:
                x = tail.x + tail.exit(wire.source)
                ends = tail.y + tail.bottom, head.y + head.top
                if self._way[tail] == UP:
                    ends = tail.y + tail.top, head.y + head.bottom
                wire.points = [(x, end) for end in ends]
            wire.start = wire.points[0][0]
        for item in self.items.values():
            if item.key.kind == "out":
                item.y = self.height
            elif item.is_port and item in self._column:
                self.sides[item.key.id] = Side({LEFT: item.x}, item.y, is_end=False)

    def ports(self, kind: Literal["in", "out"]) -> dict[int, float]:
        ends = (item for item in self.items.values() if item.key.kind == kind and item not in self._column)
        return {item.key.id: item.x for item in ends}
