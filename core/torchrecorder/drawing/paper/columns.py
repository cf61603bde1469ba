"""Where a chain that is higher than a page is cut into columns; decided from the outside in, on estimated heights."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.drawing.paper.cards import Card
from torchrecorder.drawing.paper.panels import Key, Panels
from torchrecorder.drawing.paper.ranks import Rows

_GAP, _SIDE, _BOX_HIGH, _BOX_WIDE = 18.0, 18.0, 62.0, 40.0
_LEAST = 330.0
"""A chain lower than this is never cut."""
_TOO_HIGH, _WIDER, _KEPT = 1.15, 1.25, 0.8
"""How much higher than a page a chain may be, how much wider columns may be together than the page, and how much of
the height the highest column may keep."""
_BESIDE = 40.0


class _Crossing(NamedTuple):
    first: int
    last: int
    tail: Key
    source: int


class Columns:
    """The rows after which the panels are cut."""

    def __init__(self, panels: Panels, rows: dict[int | None, Rows], cards: dict[int, Card]) -> None:
        self._panels, self._rows, self._cards = panels, rows, cards
        self._sizes: dict[Key, tuple[float, float]] = {}
        self.cuts: dict[int | None, list[int]] = {}

    def plan(self, high: float, wide: float) -> dict[int | None, list[int]]:
        """For each panel the rows that are the last of a column."""
        pending: list[tuple[int | None, float, float]] = [(None, high, wide)]
        for box, available, room in pending:
            rows = self._rows[box]
            highs = [max((self._size(key)[0] for key in row), default=0.0) for row in rows]
            cuts = self.cuts[box] = self._cut(box, highs, max(available, _LEAST), room)
            column = [sum(cut < r for cut in cuts) for r in range(len(rows))]
            for r, row in enumerate(rows):
                beside = sum(h for q, h in enumerate(highs) if column[q] == column[r]) - highs[r]
                inside = available - beside - _BESIDE, (room - 30.0) / (len(cuts) + 1)
                pending += [(key.id, *inside) for key in row if key.kind == "box"]
        return self.cuts

    def _size(self, key: Key) -> tuple[float, float]:
        """About how high and wide it is."""
        if key.is_port:
            return 4.0, 10.0
        if key not in self._sizes:
            if key.kind == "node":
                card = self._cards[key.id]
                self._sizes[key] = (card.above + card.below + _GAP, card.half + card.right)
            else:
                rows = self._rows[key.id]
                high = _BOX_HIGH + sum(max(self._size(it)[0] for it in row) for row in rows)
                wide = max((sum(self._size(it)[1] + _SIDE for it in row) for row in rows), default=60.0)
                self._sizes[key] = (high, wide + _BOX_WIDE)
        return self._sizes[key]

    def _cut(self, box: int | None, highs: Sequence[float], available: float, room: float) -> list[int]:
        rows, total = self._rows[box], sum(highs)
        if total <= _TOO_HIGH * available or self._has_late(box):
            return []
        able = self._places(box)
        widest = max(sum(self._size(key)[1] + _SIDE for key in row) for row in rows)
        n = min(math.ceil(total / available), max(int(_WIDER * room // widest), 1))
        for columns in range(n, 1, -1):
            cuts: list[int] = []
            reached = 0.0
            for r, high in enumerate(highs):
                reached += high
                goal = total / columns * (len(cuts) + 1) - high / 2
                if r in able and reached >= goal and len(cuts) < columns - 1:
                    cuts.append(r)
            ends = [0, *[cut + 1 for cut in cuts], len(rows)]
            if cuts and max(sum(highs[a:b]) for a, b in pairwise(ends)) <= _KEPT * total:
                return cuts
        return []

    def _has_late(self, box: int | None) -> bool:
        sources = {it.source for it in self._panels.by_box[box].segments if it.tail.kind == "in"}
        return box is not None and any(self._panels.is_late(box, source) for source in sources)

    def _places(self, box: int | None) -> set[int]:
        """The rows below which the data of one thing passes only."""
        rows = self._rows[box]
        at = {key: r for r, row in enumerate(rows) for key in row}
        passing: dict[int, set[tuple[Key, int]]] = defaultdict(set)
        for it in self._panels.by_box[box].segments:
            for r in range(at[it.tail], at[it.head]):
                passing[r].add((it.tail, it.source))
        is_inner = [not any(key.is_port for key in row) for row in rows]
        return {r for r in range(1, len(rows) - 1) if len(passing[r]) == 1 and is_inner[r] and is_inner[r + 1]}
