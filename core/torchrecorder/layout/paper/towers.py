"""The plan of a picture for a phone: where a panel is wider than its room, one thing stands below the other.

What stood beside something stands below it, one branch after the other, and its lines pass at the sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from torchrecorder.layout import tuning
from torchrecorder.layout.model import PAD
from torchrecorder.layout.paper.exchange import WireKey, wire_key
from torchrecorder.layout.paper.model import LEFT, RIGHT, Wire
from torchrecorder.layout.paper.panels import Key, Panels, Segment
from torchrecorder.layout.paper.ranks import Ranking, Rows


class Towers:
    """The rooms of panels in a column, and their rows as towers."""

    def __init__(self, panels: Panels, ranking: Ranking, width: float) -> None:
        self._panels, self._ranking = panels, ranking
        self._width = width

    def room(self, box: int | None) -> float:
        """How wide a panel may be, if nothing stands beside it and the boxes around it."""
        return room_in(self._width, self._panels, box)

    def text(self, box: int | None) -> float:
        """How long a line of a node may be, if a line passes at each side."""
        return max(self.room(box) - 2 * (tuning.BOX_MARGIN + tuning.LANE_AIR + tuning.CARD_MARGIN), tuning.LEAST_TEXT)

    def rows(self, box: int | None) -> Rows:
        """The things of a panel one below the other, between its ports."""
        keys, segments = self._ranking.used(box)
        ports = [[key for key in keys if key.kind == kind] for kind in ("in", "out")]
        inner = sorted((key for key in keys if not key.is_port), key=self._panels.order)
        orders = [_followed(inner, segments, by_last=by_last) for by_last in (True, False)]
        best = min(orders, key=lambda order: _passing(order, segments))
        return [row for row in (ports[0], *([key] for key in best), ports[1]) if row]


def room_in(width: float, panels: Panels, box: int | None) -> float:
    """How wide a panel may be in such a column, if nothing stands beside it and the boxes around it."""
    return width - 2 * PAD - 2.0 - 2 * tuning.BOX_MARGIN * (len(panels.around(box)) - 2 if box is not None else 0)


def _followed(keys: Sequence[Key], segments: Sequence[Segment], *, by_last: bool) -> list[Key]:
    """Each after what it reads: the first of the forward next, or what reads that which was last."""
    reads: dict[Key, set[Key]] = defaultdict(set)
    for segment in segments:
        if not segment.tail.is_port:
            reads[segment.head].add(segment.tail)
    order: list[Key] = []
    left = [*keys]
    while left:
        ready = [key for key in left if reads[key] <= {*order}]
        key = max(ready, key=lambda key: bool(order) and order[-1] in reads[key]) if by_last else ready[0]
        left.remove(key)
        order.append(key)
    return order


def _passing(order: Sequence[Key], segments: Sequence[Segment]) -> int:
    """How many things all lines pass on their way; those of one source are one line."""
    place = {key: i for i, key in enumerate(order)}
    last: dict[Key, int] = {}
    for part in segments:
        last[part.tail] = max(last.get(part.tail, 0), place.get(part.head, len(order)))
    return sum(head - place.get(tail, -1) - 1 for tail, head in last.items())


def sides(wires: Sequence[Wire]) -> dict[WireKey, int]:
    """The sides on which lines of a tower pass what they do not read: all lines of one source on one side."""
    ends: dict[int, list[int]] = defaultdict(list)
    far = [wire for wire in wires if wire.head.row - wire.tail.last > 1]
    for wire in far:
        ends[wire.source] += [wire.tail.row, wire.head.row]
    way: dict[int, int] = {}
    for source in sorted(ends, key=lambda source: (min(ends[source]) - max(ends[source]), source)):
        crossed = {
            side: sum(_cross(ends[source], ends[other]) for other, own in way.items() if own == side)
            for side in (RIGHT, LEFT)
        }
        way[source] = min(crossed, key=lambda side: crossed[side])
    return {wire_key(wire): way[wire.source] for wire in far}


def _cross(ends: Sequence[int], others: Sequence[int]) -> bool:
    """Whether lines with such ends cross on one side: one has an end within the span of the other, and one not."""
    for own, low, high in ((ends, min(others), max(others)), (others, min(ends), max(ends))):
        if any(low < end < high for end in own) and (min(own) < low or max(own) > high):
            return True
    return False
