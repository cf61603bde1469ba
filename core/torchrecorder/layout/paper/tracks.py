"""The tracks of a gap between two rows: lines across it, in an order in which few of them cross."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torchrecorder.layout import tuning

_AT = 0.5  # points: rounding
_ONE_LINE = 4.0  # points within which two lines are one to the eye
_MERGING = 3  # the crossings which that is as bad as


@dataclass(slots=True)
class _Level:
    """Lines that are drawn as one."""

    low: float
    high: float
    before: list[float]  # where lines come to it, from the border of the gap that tracks are counted from
    after: list[float]
    settle: list[Callable[[int], None]] = field(default_factory=list)
    at: int = 0

    @property
    def length(self) -> float:
        return self.high - self.low

    def meets(self, other: _Level) -> bool:
        return self.low - tuning.ON_TRACK <= other.high and other.low <= self.high + tuning.ON_TRACK

    def crossings(self, other: _Level) -> int:
        """Crossings with another that lies further from the border; a stretch that both take is worse."""
        merging = sum(abs(a - b) < _ONE_LINE for a in self.after for b in other.before)
        return _within(other.before, self) + _within(self.after, other) + _MERGING * merging


class Tracks:
    """The tracks counted from one border of a gap."""

    def __init__(self) -> None:
        self._levels: dict[object, _Level] = {}

    def add(self, before: float, after: float, user: object, settle: Callable[[int], None]) -> None:
        """Asks for a track, shared with others of the same user, from where the line comes to it to where it leaves.

        `settle` gets its position.
        """
        low, high = sorted((before, after))
        level = self._levels.setdefault(user, _Level(low, high, [], []))
        level.low, level.high = min(level.low, low), max(level.high, high)
        for x, known in ((before, level.before), (after, level.after)):  # what several lines share is one
            known += [x] if all(abs(x - other) > _AT for other in known) else []
        level.settle.append(settle)

    def settle(self) -> int:
        """Gives every line its track; returns their number."""
        placed: list[_Level] = []
        for level in sorted(self._levels.values(), key=lambda level: level.length):
            placed.insert(_place(level, placed), level)
        for i, level in enumerate(placed):
            near = [other for other in placed[:i] if level.meets(other)]
            taken = {other.at for other in near}
            first = max((other.at + 1 for other in near if level.crossings(other) > other.crossings(level)), default=0)
            level.at = next(at for at in range(first, first + len(near) + 1) if at not in taken)
            for settle in level.settle:
                settle(level.at)
        return 1 + max((level.at for level in placed), default=-1)


def _place(level: _Level, placed: Sequence[_Level]) -> int:
    """The position with the fewest crossings, the last of equal ones."""
    cost = sum(level.crossings(other) for other in placed)
    best, at = cost, 0
    for i, other in enumerate(placed):
        cost += other.crossings(level) - level.crossings(other)
        if cost <= best:
            best, at = cost, i + 1
    return at


def _within(xs: Sequence[float], level: _Level) -> int:
    return sum(level.low + _AT < x < level.high - _AT for x in xs)
