"""Where a chain that is higher than a page is cut into columns; decided from the outside in, on estimated heights."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate, combinations, pairwise

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.cards import Card
from torchrecorder.layout.paper.ladder import Ladder, find_ladder, find_u
from torchrecorder.layout.paper.panels import Key, Panels
from torchrecorder.layout.paper.ranks import Rows


class Columns:
    """The rows after which panels are cut."""

    def __init__(self, panels: Panels, rows: dict[int | None, Rows], cards: dict[int, Card]) -> None:
        self._panels, self.rows, self.cards = panels, rows, cards
        self._sizes: dict[Key, tuple[float, float]] = {}
        self.cuts: dict[int | None, list[int]] = {}  # by panel the rows that are the last of a column
        self.shapes: dict[int | None, Ladder] = {}  # the panels that are a U or another ladder

    def plan(self, high: float, wide: float, *, with_u: bool = True, with_ladders: bool = True) -> None:
        pending: list[tuple[int | None, float, float]] = [(None, high, wide)]
        for box, available, room in pending:
            rows = self.rows[box]
            highs = self.heights(box)
            is_loop = box in self._panels.back  # a way back is as long as its box is high
            if with_u and not is_loop and (shape := self._u_shape(box, sum(highs), room)):
                self._climb(box, shape)
                continue
            is_able = with_u and with_ladders and not is_loop and not self._has_late(box)
            if is_able and (ladder := find_ladder(self._panels, self.rows, box)):
                self._climb(box, ladder)
                continue
            cuts = self.cuts[box] = [] if is_loop else self._cut(box, highs, max(available, tuning.LEAST_CHAIN), room)
            column = [sum(cut < r for cut in cuts) for r in range(len(rows))]
            for r, row in enumerate(rows):
                beside = sum(h for q, h in enumerate(highs) if column[q] == column[r]) - highs[r]
                inside = available - beside - tuning.COLUMN_BESIDE, (room - 30.0) / (len(cuts) + 1)
                pending += [(key.id, *inside) for key in row if key.kind == "box"]

    def heights(self, box: int | None) -> list[float]:
        """Estimated heights of the rows of a panel."""
        return [max((self._size(key)[0] for key in row), default=0.0) for row in self.rows[box]]

    def widest(self, nodes: Iterable[int], over: float) -> set[int]:
        """Those of some nodes in the rows that have to be less wide for a picture that is so much less wide."""
        beside: dict[int | None, float] = {None: 0.0}  # what stands beside a panel
        wide: dict[int, float] = {}
        for box in (None, *(box.id for box in self._panels.view.boxes)):  # a parent has a smaller id
            own = [sum(self._size(key)[1] + tuning.APART for key in row) for row in self.rows[box]]
            column = [sum(cut < r for cut in self.cuts.get(box, ())) for r in range(len(own))]
            most = {c: max(wider for wider, other in zip(own, column, strict=True) if other == c) for c in column}
            for r, row in enumerate(self.rows[box]):
                whole = beside[box] + sum(most.values()) - most[column[r]] + own[r]
                beside |= {key.id: whole - self._size(key)[1] + tuning.BOX_WIDE for key in row if key.kind == "box"}
                wide |= {key.id: whole for key in row if key.kind == "node"}
        able = [node for node in nodes if node in wide]
        widest = max((wide[node] for node in able), default=0.0)
        return {node for node in able if wide[node] > widest - over}

    def _u_shape(self, box: int | None, high: float, room: float) -> Ladder | None:
        if high < tuning.LEAST_CHAIN or self._has_late(box) or (shape := find_u(self._panels, self.rows, box)) is None:
            return None
        wide = sum(max(self._size(key)[1] + tuning.APART for key in rail.keys) for rail in shape.rails)
        return shape if wide <= tuning.U_WIDER * room else None

    def _climb(self, box: int | None, ladder: Ladder) -> None:
        self.shapes[box], self.cuts[box] = ladder, []
        for neck, inside in ladder.necks.items():
            self._climb(neck, inside)

    def _size(self, key: Key) -> tuple[float, float]:
        """Estimated height and width."""
        if key.is_port:
            return 4.0, 10.0
        if key not in self._sizes:
            if key.kind == "node":
                card = self.cards[key.id]
                self._sizes[key] = (card.above + card.below + tuning.COLUMN_GAP, card.half + card.right)
            else:
                rows = self.rows[key.id]
                high = tuning.BOX_HIGH + sum(max(self._size(inner)[0] for inner in row) for row in rows)
                wide = max((sum(self._size(inner)[1] + tuning.APART for inner in row) for row in rows), default=60.0)
                lanes = tuning.LANE * len(self._panels.back.get(key.id, ()))
                self._sizes[key] = (high, wide + lanes + tuning.BOX_WIDE)
        return self._sizes[key]

    def _cut(self, box: int | None, highs: Sequence[float], available: float, room: float) -> list[int]:
        rows, total = self.rows[box], sum(highs)
        if total <= available or self._has_late(box):
            return []
        able = sorted(self._places(box))
        reached = [0.0, *accumulate(highs)]
        wides = [sum(self._size(key)[1] + tuning.APART for key in row) for row in rows]
        best: list[int] = []
        least = tuning.KEPT * total
        for columns in range(2, math.ceil(total / available) + 1):
            ways: Iterable[Sequence[int]] = combinations(able, columns - 1)
            if math.comb(len(able), columns - 1) > tuning.CUTS:  # only those nearest to equal parts
                goals = [total / columns * i for i in range(1, columns)]
                ways = [sorted({min(able, key=lambda r: abs(reached[r + 1] - goal)) for goal in goals})]
            for cuts in ways:
                parts = [*pairwise([0, *[cut + 1 for cut in cuts], len(rows)])]
                own = [reached[b] - reached[a] for a, b in parts]
                wide = sum(max(wides[a:b]) + tuning.COLUMN_GUTTER for a, b in parts)
                if max(own) < least and min(own) >= tuning.FILLED * max(own) and wide <= tuning.COLUMNS_WIDER * room:
                    best, least = [*cuts], max(own)
        return best

    def _has_late(self, box: int | None) -> bool:
        sources = {segment.source for segment in self._panels.by_box[box].segments if segment.tail.kind == "in"}
        return box is not None and any(self._panels.is_late(box, source) for source in sources)

    def _places(self, box: int | None) -> set[int]:
        """The rows below which the data of one thing passes only; what leaves the box does so from its own column."""
        rows = self.rows[box]
        at = {key: r for r, row in enumerate(rows) for key in row}
        given = Counter(segment.head for segment in self._panels.by_box[box].segments)
        passing: dict[int, set[tuple[Key, int]]] = defaultdict(set)
        for segment in self._panels.by_box[box].segments:
            if segment.head.kind == "out" and given[segment.head] == 1:
                continue
            for r in range(at[segment.tail], at[segment.head]):
                passing[r].add((segment.tail, segment.source))
        is_inner = [not any(key.is_port for key in row) for row in rows]
        return {r for r in range(1, len(rows) - 1) if len(passing[r]) == 1 and is_inner[r] and is_inner[r + 1]}
