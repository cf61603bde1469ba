"""Heights of things of which some are level and some above others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.ladder import Ladder, NoWayAcross
from torchrecorder.layout.paper.model import RowItem
from torchrecorder.layout.paper.panels import Key

LEVEL = 0.5  # points: rounding


class Heights:
    """Heights of things that are above each other or level, the least that are possible."""

    def __init__(self, items: Sequence[RowItem]) -> None:
        self._items = items
        self._group = {item: (item, 0.0) for item in items}  # what it is level with, and how much lower it is
        self._below: list[tuple[RowItem, RowItem, float]] = []

    def below(self, item: RowItem, other: RowItem, by: float) -> None:
        """Puts another at least so much lower than an item."""
        self._below.append((item, other, by))

    def level(self, item: RowItem, other: RowItem, by: float) -> bool:
        """Puts another so much lower than an item, if it can be; whether it can."""
        (first, own), (second, further) = self._group[item], self._group[other]
        if first is second:
            return abs(further - own - by) < LEVEL
        before = dict(self._group)
        for member, (leader, at) in before.items():
            if leader is second:
                self._group[member] = first, at - further + own + by
        if self._settled() is None:
            self._group = before
            return False
        return True

    def with_level(self, item: RowItem, other: RowItem, by: float) -> float:
        """How high all would be with another so much lower than an item."""
        before = dict(self._group)
        high = max(self.solved().values()) if self.level(item, other, by) else math.inf
        self._group = before
        return high

    def is_free(self, item: RowItem) -> bool:
        """Whether it is level with nothing."""
        return sum(leader is self._group[item][0] for leader, _ in self._group.values()) == 1

    def lowest(self, item: RowItem, at: Mapping[RowItem, float]) -> float:
        """The lowest height that the things below it leave."""
        return min((at[other] - by for one, other, by in self._below if one is item), default=at[item])

    def solved(self) -> dict[RowItem, float]:
        """The height of each."""
        at = self._settled()
        if at is None:
            raise NoWayAcross
        return at

    def _settled(self) -> dict[RowItem, float] | None:
        leaders = {leader: 0.0 for leader, _ in self._group.values()}
        rules = [(self._group[item], self._group[other], by) for item, other, by in self._below]
        for _ in range(len(leaders) + 1):
            is_changed = False
            for (leader, own), (other, further), by in rules:
                if leaders[leader] + own + by > leaders[other] + further + 0.01:
                    leaders[other] = leaders[leader] + own + by - further
                    is_changed = True
            if not is_changed:
                return {item: leaders[leader] + by for item, (leader, by) in self._group.items()}
        return None


def stages_apart(ladder: Ladder, items: Mapping[Key, RowItem]) -> dict[tuple[int, int], float]:
    """The least distances of the middles of two nodes in a rail, as far as their sizes are known."""
    apart: dict[tuple[int, int], float] = {}
    for rail in ladder.rails:
        nodes = [items[key] if key.kind == "node" else None for key in rail.keys]
        for i, first in enumerate(nodes):
            reached = -tuning.WORD_GAP
            for item in nodes[i:]:
                if first is None or item is None:
                    break
                apart[first.key.id, item.key.id] = reached + tuning.WORD_GAP - first.middle + item.middle
                reached += tuning.WORD_GAP + item.height
    return apart
