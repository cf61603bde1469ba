"""Rows with coordinates: where everything in a row stands, the heights of rows and gaps, the points of every wire.

The main stream is on one straight line, all else close to what it reads and feeds.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.across import find_spine, place, spread
from torchrecorder.layout.paper.exchange import Order, Orders, crossing, exchanges, follow, least_crossed
from torchrecorder.layout.paper.lanes import FAR, Blocked, Router, are_in_series, below
from torchrecorder.layout.paper.model import LEFT, RIGHT, RowItem, Side, Wire
from torchrecorder.layout.paper.panels import Key
from torchrecorder.layout.paper.towers import sides


@dataclass(slots=True, eq=False)
class Strip:
    """Some rows of a panel, one below the other; 0 across is the spine, 0 along their beginning."""

    rows: list[list[RowItem]]
    wires: list[Wire]
    late: Mapping[int, Sequence[Wire]]  # wires that come in by the side, by their source
    lead: float  # room for a title at the beginning
    is_boxed: bool
    prefer: int = LEFT
    is_sideways: bool = False
    """Whether data flows to the right; titles are then where data could come in from the left of the flow."""
    is_tower: bool = False
    """Whether one thing stands below the other."""
    over_entries: float = 0.0
    """Room for names at the lines that enter, before they turn."""
    is_turned: bool = False
    """Whether it is the inside of a box that will be turned over."""
    outside: Mapping[Key, float] = field(default_factory=dict)
    """Where what enters comes from outside, from the left to the right, if others read it as well."""
    onward: dict[int, tuple[RowItem, Wire]] = field(default_factory=dict)
    """By source the port of what leads to the next column, and the line that does."""
    exits: Collection[RowItem] = ()
    """The ports of what leaves the box from one of several columns."""
    left: float = 0.0
    right: float = 0.0
    height: float = 0.0
    sides: dict[int, Side] = field(default_factory=dict)
    tops: list[float] = field(default_factory=list)
    bottoms: list[float] = field(default_factory=list)
    _open: dict[int, list[int]] = field(default_factory=dict)  # the sides of each late source
    _own: list[Wire] = field(default_factory=list)  # without those that come in by the side
    _arguments: Sequence[tuple[Wire, Wire]] = ()  # from one row into one thing, in their order
    _operands: Sequence[tuple[Wire, Wire]] = ()  # of signs that mind which is which
    _entered: int = 0  # crossings of what comes in by the side
    _crossed: list[tuple[Wire, Wire]] = field(default_factory=list)

    def compose(self, box: int | None, kept: Orders) -> None:
        """Sets all coordinates, of the order that `kept` has for the same rows, or the best that is found."""
        for r, row in enumerate(self.rows):
            for item in row:
                item.row = r
        self._sort_ends()
        self._own = self.wires
        into = defaultdict[RowItem, list[Wire]](list)
        for wire in sorted(self.wires, key=lambda wire: wire.argument):
            if wire.head.is_sided or not wire.head.is_sign:  # a sum is the same in any order
                into[wire.head].append(wire)
        pairs = (pair for wires in into.values() for pair in combinations(wires, 2))
        ordered = [(a, b) for a, b in pairs if a.argument < b.argument]
        self._arguments = [(a, b) for a, b in ordered if a.tail.row == b.tail.row and not a.head.is_sign]
        self._operands = [(a, b) for a, b in ordered if a.head.is_sign]
        rows = tuple(tuple(item.key for item in row) for row in self.rows)
        first = Order(rows, sides(self.wires) if self.is_tower else {})
        price = self._arranged(box, first)
        is_hooked = any(item.hooks for row in self.rows for item in row)  # lines back come later
        if not (self._wrong or self._are_turned) or (is_hooked and not self.is_tower):
            return
        same = tuple(frozenset(row) for row in rows)
        if same in kept:
            kept[same] = min((price, first), (self._tried(box, kept[same]), kept[same]), key=lambda way: way[0])[1]
        else:  # exchanges end where none saves anything, so there are several places to begin
            ways = [first, first.mirrored(first=self._n_bound)]
            ways += [] if self._crossed else [first._replace(rows=self._as_read())]
            *_, kept[same] = min((self._untangled(box, way, kept) for way in ways), key=lambda way: way[:2])
        self._arranged(box, kept[same])

    @property
    def _n_bound(self) -> int:
        """How many of the first rows are in an order from outside."""
        return 1 if self.outside else 0

    @property
    def _n_crossed(self) -> int:
        """Crossings of this order, with those outside of what comes to it from there in another one."""
        begins = [self.outside[item.key] for item in self.rows[0] if item.key in self.outside]
        return len(self._crossed) + self._entered + sum(a > b for a, b in combinations(begins, 2))

    def _port_pairs(self) -> Iterator[tuple[RowItem, RowItem]]:
        """The pairs of what leaves, or else of what enters, from left to right."""
        ends = ([item for item in row if item.is_port] for row in (self.rows[-1], self.rows[0]))
        return combinations(next((row for row in ends if len(row) > 1), []), 2)

    def _out_of_order(self) -> int:
        """How many more of them are in the other order than in their own."""
        return sum((a.order > b.order) - (a.order < b.order) for a, b in self._port_pairs())

    @property
    def _are_turned(self) -> bool:
        """Whether any of them, or arguments side by side, stand in the other order."""
        is_any = any(a.order > b.order for a, b in self._port_pairs())
        return is_any or any(first.tail.x > after.tail.x for first, after in self._arguments)

    @property
    def _wrong(self) -> list[tuple[Wire, Wire]]:
        """The pairs of lines that cross, and of operands that come to their sign in the other order."""
        turned = [(a, b) for a, b in self._operands if a.points[-1][0] > b.points[-1][0] - 0.5]
        return [*self._crossed, *turned]

    def _as_read(self) -> tuple[tuple[Key, ...], ...]:
        """The rows in the order of what reads each thing further down, and of the arguments of that."""
        last = sorted(self.rows[-1], key=lambda item: item.order if item.is_port else 0)
        rows = [tuple(item.key for item in row) for row in (*self.rows[:-1], last)]
        n = self._n_bound
        return (*rows[:n], *follow(rows[n:][::-1], self._own)[::-1])

    def _untangled(self, box: int | None, best: Order, kept: Orders) -> tuple[float, float, Order]:
        """The cheapest order that exchanges lead to, after its crossings and its price."""
        price = self._tried(box, best)
        if not math.isfinite(price):
            return price, price, best
        seen = [best]
        crossed = self._n_crossed
        left = tuning.EXCHANGES * len(self._wrong)
        pending = exchanges(best, self._wrong, self._own, self._n_bound)
        while left and kept.left > 0 and (order := next(pending, None)):
            if order in seen:
                continue
            seen.append(order)
            left -= 1
            kept.left -= sum(map(len, order.rows))
            if (cost := self._tried(box, order)) < price - 1.0:
                price, best, left = cost, order, tuning.EXCHANGES * len(self._wrong)
                crossed = self._n_crossed
                pending = exchanges(best, self._wrong, self._own, self._n_bound)
        return crossed, price, best

    def _tried(self, box: int | None, order: Order) -> float:
        try:
            return self._arranged(box, order)
        except Blocked:
            return math.inf

    def _arranged(self, box: int | None, order: Order) -> float:
        """Sets all coordinates of an order; returns its price."""
        items = {item.key: item for row in self.rows for item in row}
        self.rows = [[items[key] for key in row] for row in order.rows]
        self.wires, self.sides, self.tops, self.bottoms, self._open = [*self._own], {}, [], [], {}
        self._entered = 0
        for wire in self.wires:
            wire.side, wire.lane, wire.shift, wire.leaving, wire.arriving = 0, 0.0, 0.0, None, None
        for r, row in enumerate(self.rows):
            for item in row:
                item.row, item.last, item.x = r, r, 0.0
                item.leave([*item.exits])
        spine = find_spine(self.rows, self.wires)
        # what leads to the next column is at the right of all that leaves
        series = 1 if self.exits and self.prefer == LEFT else tuning.SERIES
        place(self.rows, self.wires, spine, is_tower=self.is_tower)
        if self._sort_exits(are_in_series(self.wires, series)):
            place(self.rows, self.wires, spine, is_tower=self.is_tower)
        spread(self.rows, self.wires, {item for item, _ in spine})
        prefer = self._open_sides(box, -self.prefer if order.is_mirrored else self.prefer)
        router = Router(self.rows, self.wires, prefer, order.sides, series)
        only = [(source, sides[0]) for source, sides in self._open.items() if len(sides) == 1]
        reserved = {(wire.head, side) for source, side in only for wire in self.late[source]}
        router.route([wire for _, wire in spine if wire is not None], reserved)
        self._stack(router)
        for wire in self.wires:
            wire.points = self._points(wire)
        self.measure()
        self._lead_in()
        self._crossed = crossing(self.wires)
        price = tuning.EXCHANGE_SAVES * self._n_crossed + self.height + tuning.EXCHANGE_WIDER * (self.right - self.left)
        price += tuning.ARGUMENTS_IN_ORDER if self._are_turned else 0.0
        price += tuning.OPERANDS_IN_ORDER * (len(self._wrong) - len(self._crossed))
        return price + (tuning.IN_ORDER if self._out_of_order() > 0 else 0.0)

    def _sort_exits(self, are_in_series: bool) -> bool:
        """Whether the outputs of any node did not leave it in the order of where they go; now they do."""
        ends: dict[RowItem, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for wire in self.wires:
            if len(wire.tail.exits) > 1:
                is_left = are_in_series and wire.leaves_early
                end = wire.head.order - FAR if is_left else wire.head.x + wire.head.entry(wire.source)
                ends[wire.tail][wire.source].append(end)
        is_any = False
        for item, by_source in ends.items():
            before = item.exits
            to = {source: (item.x + at, at) for source, at in before.items()}
            to |= {source: (sum(xs) / len(xs), before[source]) for source, xs in by_source.items()}
            item.leave([*before], sorted(before, key=to.__getitem__))
            is_any |= item.exits != before
        return is_any

    def _sort_ends(self) -> None:
        """Puts what only one box feeds, or what feeds only one box, in the order of the ports of the box."""
        into, out = Counter(wire.head for wire in self.wires), Counter(wire.tail for wire in self.wires)
        by_box: dict[tuple[RowItem, int], list[tuple[float, RowItem]]] = defaultdict(list)
        for wire in self.wires:
            tail, head = wire.tail, wire.head
            if tail.piece and not head.piece and into[head] == 1 and not out[head]:
                by_box[tail, head.row].append((tail.exit(wire.source), head))
            elif head.piece and not tail.piece and out[tail] == 1 and not into[tail] and not wire.is_late:
                by_box[head, tail.row].append((head.entry(wire.source), tail))
        for (_, r), ends in by_box.items():
            places = sorted(self.rows[r].index(item) for _, item in ends)
            for position, (_, item) in zip(places, sorted(ends, key=lambda end: end[0]), strict=True):
                self.rows[r][position] = item

    # what comes in by the side

    def _open_sides(self, box: int | None, prefer: int) -> int:
        """The side on which skips pass, where data comes in by the other."""
        for source, wires in self.late.items():
            items = [wire.head for wire in wires]
            able = (RIGHT,) if self.is_sideways else (LEFT, RIGHT)
            sides = [side for side in able if all(self._is_open(item, side, source) for item in items)]
            if not sides:
                raise Blocked(-1 if box is None else box, source)
            if len(items) > 1 or any(item.is_sign for item in items):
                sides = [side for side in sides if side == wires[0].due] or sides[:1]
            self._open[source] = sides
        ways = [*self._open.values()]
        if any(RIGHT in sides and LEFT not in sides for sides in ways):
            return LEFT
        return RIGHT if ways else prefer

    def _is_open(self, item: RowItem, side: int, source: int) -> bool:
        row = self.rows[item.row]
        others = row[: row.index(item)] if side == LEFT else row[row.index(item) + 1 :]
        sides = item.piece.late[source].ends if item.piece else item.sides
        high = [other for row in self.rows for other in row if other.row < item.row <= other.last]
        is_beside = any((other.x - item.x) * side > 0 for other in high)
        return side in sides and not is_beside and all(other.is_port for other in others)

    def _lead_in(self) -> None:
        """Ends of lines from the side; several readers share a trunk beside all that stands between them."""
        for source, wires in self.late.items():
            ends = [self._end(wire.head, source) for wire in wires]
            if len(ends) == 1:
                ends = [ends[0]._replace(ends={side: ends[0].ends[side] for side in self._open[source]})]
                self.sides[source], crossed = least_crossed(ends[0], self.wires)
                self._entered += crossed
                continue
            (side,) = self._open[source]
            x = (self.left if side == LEFT else self.right) + side * tuning.LANE_AIR
            first = min(ends, key=lambda end: end.y)
            for wire, end in zip(wires, ends, strict=True):
                turn = [(x, first.y)] if end is not first else []
                wire.side, wire.points = side, [*turn, (x, end.y), (end.ends[side], end.y)]
            self.wires += wires
            self.sides[source] = Side({side: x}, first.y, is_end=False)
            self.left, self.right = min(self.left, x), max(self.right, x)

    def _end(self, item: RowItem, source: int) -> Side:
        if item.piece:
            ends, y, is_end = item.piece.late[source]
            return Side({side: item.x + x for side, x in ends.items()}, item.y + y, is_end)
        beside = [other for other, wires in self.late.items() if any(wire.head is item for wire in wires)]
        y = item.y + item.middle
        if source in beside and not item.is_sign:  # one below the other, that which comes first at the top
            y += below(item, beside.index(source), len(beside)) * (-1 if self.is_turned else 1)
        return Side({LEFT: item.x - item.half, RIGHT: item.x + item.half}, y)

    # heights

    def _stack(self, router: Router) -> None:
        """Sets y of all, from the first row down."""
        y = 0.0
        if not self.rows[0][0].is_port:
            y = self.lead + (4.0 if self.lead else tuning.BOX_MARGIN if self.is_boxed else 0.0)
        high: list[RowItem] = []
        for r, row in enumerate(self.rows):
            own = [item for item in row if item.last == r]
            above = max(item.middle for item in own)
            boxed = any(item.piece for item in own)
            for item in row:
                item.y = y if boxed or item not in own else y + above - item.middle
            high += [item for item in row if item.last > r]
            ends = [*own, *(item for item in high if item.last == r)]
            self.tops.append(y)
            self.bottoms.append(max(item.y + item.height for item in ends))
            y = self.bottoms[-1] + self._gap(r, router)
        self.height = self.bottoms[-1]
        if not self.rows[-1][0].is_port:
            last = len(self.rows) - 1
            self.height += self._needed(last, router) if last in router.tracks else 0.0
            self.height += tuning.BOX_MARGIN if self.is_boxed else 0.0

    def _needed(self, r: int, router: Router) -> float:
        leaving, arriving = router.tracks.get(r, (0, 0))
        room = tuning.FIRST_TRACK + tuning.TRACK * (leaving - 1) + tuning.LAST_TRACK if leaving else 0.0
        return room + (tuning.TRACK * (arriving - 1) + tuning.ARRIVING_TRACK if arriving else 0.0)

    def _gap(self, r: int, router: Router) -> float:
        room, is_last = self._needed(r, router), r + 1 == len(self.rows)
        arrow, word = tuning.ARROW_ROOM if is_last else self._arrow(r + 1), max(item.word for item in self.rows[r])
        if self.rows[r][0].is_port and r == 0:
            return self.lead + max(arrow, self.over_entries + (room + arrow - 3.0 if room else tuning.NAME_ABOVE))
        hooks = max(item.hooks for row in self.rows[r : r + 2] for item in row)
        room += 2 * tuning.TRACK * max(hooks - 1, 0)  # for lines back, where the usual room does not do
        if not is_last and self.rows[r + 1][0].is_port:
            return max(tuning.PORT_GAP, room + 3.0 if room else 0.0)
        to_box = not is_last and any(item.piece for item in self.rows[r + 1])
        gap = (tuning.WORD_GAP_TO_BOX if to_box else tuning.WORD_GAP) if word else arrow
        if self.is_sideways:
            gap = max(gap, word + arrow + tuning.WORD_AIR if word else tuning.GAP_SIDEWAYS)
        return max(gap, room + arrow)

    def _arrow(self, r: int) -> float:
        """Room for the arrows to a row, with words beside them."""
        said = max(item.said for item in self.rows[r])
        beside = said + tuning.WORD_AIR if self.is_sideways else tuning.WORD_BELOW_TRACK
        return tuning.ARROW_ROOM + (beside if said else 0.0)

    # points

    def _points(self, wire: Wire) -> list[tuple[float, float]]:
        tail, head = wire.tail, wire.head
        begin = tail.y + tail.bottom
        points = [(wire.start, begin)]
        if wire.leaving is not None:
            base = self.lead - 3.0 + self.over_entries if tail.is_port else self.bottoms[tail.last]
            y = base + tuning.FIRST_TRACK + tuning.TRACK * wire.leaving
            points += [(wire.start, y), (wire.lane, y)]
        if wire.side:
            end = self._end(head, wire.source) if wire.is_late else None
            y = end.y if end else head.y + head.middle + wire.shift
            x = end.ends[wire.side] if end else head.x + wire.side * head.half
            return [*points, (wire.lane, y), (x, y)]
        if wire.arriving is not None:
            y = self.tops[head.row] - (3.0 if head.is_port else self._arrow(head.row)) - tuning.TRACK * wire.arriving
            points += [(wire.lane, y), (wire.end, y)]
        top = head.y + head.top
        if head.is_sign:  # on its circle
            top += head.half - math.sqrt(max(head.half**2 - (wire.end - head.x) ** 2, 0.0))
        return [*points, (wire.end, top)]

    def measure(self) -> None:
        xs = [0.0]
        for item in (item for row in self.rows for item in row):
            xs += [item.x - item.left, item.x + item.right]
        xs += [x for wire in self.wires for x, _ in wire.points]
        self.left, self.right = min(xs), max(xs)

    def move(self, x: float, y: float) -> None:
        for item in (item for row in self.rows for item in row):
            item.x, item.y = item.x + x, item.y + y
        for wire in self.wires:
            wire.start += x
            wire.points = [(px + x, py + y) for px, py in wire.points]
        self.left, self.right = self.left + x, self.right + x

    def ports(self, kind: Literal["in", "out"]) -> dict[int, float]:
        return {item.key.id: item.x for row in self.rows for item in row if item.key.kind == kind}
