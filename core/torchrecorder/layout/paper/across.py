"""Where everything in rows stands across: the main stream on one straight line, all else close to what it reads.

Chains beside the stream stand in columns, and many branches around the middle of what they read.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, pairwise

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.model import LEFT, RIGHT, RowItem, Wire

_SWEEPS = (-1, 1, -1, 1, 0, 1)  # towards what is read, or towards readers

Near = Mapping[RowItem, Sequence[tuple[RowItem, float, float, int]]]
"""By item what it reads and what reads it: how far from that it would stand, how much that counts, which way it is."""


def find_spine(rows: Sequence[Sequence[RowItem]], wires: Sequence[Wire]) -> list[tuple[RowItem, Wire | None]]:
    """The way that passes the most nodes, each item with the wire that leads to it."""
    into: dict[RowItem, list[Wire]] = defaultdict(list)
    for wire in wires:
        if not wire.is_late and wire.tail.row < wire.head.row:
            into[wire.head].append(wire)
    best: dict[RowItem, float] = {}
    before: dict[RowItem, Wire] = {}
    for item in (item for row in rows for item in row):
        best[item] = item.weight
        for wire in sorted(into[item], key=lambda wire: (wire.is_skip, wire.tail.key.kind != "in", wire.tail.order)):
            through = best[wire.tail] + item.weight
            if through > best[item] + 1e-6:
                best[item], before[item] = through, wire
    last = max(best, key=lambda item: (round(best[item], 3), -item.order), default=None)
    spine: list[tuple[RowItem, Wire | None]] = []
    while last is not None:
        step = before.get(last)
        spine.append((last, step))
        last = step.tail if step else None
    return spine[::-1]


def place(
    rows: Sequence[Sequence[RowItem]],
    wires: Sequence[Wire],
    spine: Sequence[tuple[RowItem, Wire | None]],
    *,
    is_tower: bool = False,
) -> None:
    """Sets x of all; the spine is straight through every port on it, if that makes no tower much wider."""
    fixed: dict[RowItem, float] = {}
    x = 0.0
    for item, wire in spine:
        if wire is not None:
            x = wire.tail.x + wire.tail.exit(wire.source) - item.entry(wire.source)
        item.x = fixed[item] = x
    if is_tower:
        inner = [row[0] for row in rows if len(row) == 1 and not row[0].is_port]
        leans = _width([inner]) > tuning.LEANING + max((item.left + item.right for item in inner), default=0.0)
        for item in inner:
            if leans or item not in fixed:
                item.x = fixed[item] = (item.left - item.right) / 2 if item.piece else 0.0
    near = defaultdict[RowItem, list[tuple[RowItem, float, float, int]]](list)
    for wire in wires:
        if not wire.is_late:
            weight = tuning.SKIP_PULL if wire.is_skip else 1.0
            leaves, enters = wire.tail.exit(wire.source), wire.head.entry(wire.source)
            near[wire.head].append((wire.tail, leaves - enters, weight, -1))
            near[wire.tail].append((wire.head, enters - leaves, weight, 1))
    if all(len(row) == 1 for row in rows):
        return
    _settle(rows, near, dict(fixed), _forks(rows, wires, fixed))
    if below := _forks(rows, wires, fixed, is_below=True):
        before, wide = [(item, item.x) for row in rows for item in row], _width(rows)
        _settle(rows, near, dict(fixed), below, is_below=True)
        if _width(rows) > tuning.FORK_WIDER * wide:
            for item, x in before:
                item.x = x
    _straighten(rows, wires, near, fixed)
    _pull_in(rows, wires)


def _straighten(
    rows: Sequence[Sequence[RowItem]], wires: Sequence[Wire], near: Near, spine: Mapping[RowItem, float]
) -> None:
    """Puts each further chain on one side of the spine in one column, as far out as any of it is."""
    fixed = {item: item.x for item in spine}
    while True:
        free = [[item for item in row if item not in fixed and not item.is_port] for row in rows]
        inside = {item for row in free for item in row}
        chain = find_spine(free, [wire for wire in wires if not wire.is_skip and {wire.tail, wire.head} <= inside])
        sides = {side for item, _ in chain for side in _sides_of(rows[item.row], item, fixed)}
        if len(chain) < tuning.CHAIN or len(sides) != 1:
            return
        shift, shifts = 0.0, {}
        for item, wire in chain:
            if wire is not None:
                shift += wire.tail.exit(wire.source) - item.entry(wire.source)
            shifts[item] = shift
        outmost = min if sides == {LEFT} else max
        base = outmost(item.x - shifts[item] for item, _ in chain)
        before, wide = [(item, item.x) for row in rows for item in row], _width(rows)
        fixed |= {item: base + shifts[item] for item, _ in chain}
        _sweep(rows, near, fixed, (-1, 1))
        if _width(rows) > tuning.CHAIN_WIDER * wide:
            for item, x in before:
                item.x = x
            return


def _sides_of(row: Sequence[RowItem], item: RowItem, fixed: Collection[RowItem]) -> set[int]:
    """The sides of what is fixed in a row on which a thing stands."""
    at = row.index(item)
    return {LEFT if i > at else RIGHT for i, other in enumerate(row) if other in fixed}


def _width(rows: Sequence[Sequence[RowItem]]) -> float:
    left, right = _extent([item for row in rows for item in row])
    return right - left


def _settle(
    rows: Sequence[Sequence[RowItem]],
    near: Near,
    fixed: dict[RowItem, float],
    forks: Sequence[Sequence[RowItem]],
    *,
    is_below: bool = False,
) -> None:
    """Sets x of all but the spine, which is `fixed`; what lies in `forks` is around it."""
    for item in (item for row in forks for item in row if not item.is_port):
        if fixed.pop(item, None) is not None:  # and the port that it alone leads to
            for port in (other for other, _, _, way in near[item] if way > 0 and other.is_port):
                fixed.pop(port, None)
    for row in rows:
        for item in row:
            item.x = fixed.get(item, 0.0)
        _pack(row, {item: item.x for item in row}, fixed)
    _sweep(rows, near, fixed, _SWEEPS)
    if is_below:
        _sweep(forks[1:], near, fixed, (-1,))
    if forks and fixed:
        middle = next(iter(fixed.values()))
        items = [item for row in forks for item in row if not item.is_port]
        left, right = _extent(items)
        half = (right - left) / 2
        gives = [
            other.x + by for row in forks[:1] for item in row for other, by, _, way in near.get(item, ()) if way < 0
        ]
        if gives:  # a box may give all at one side
            middle = (
                min(max(middle, max(gives) - half), min(gives) + half) if max(gives) - min(gives) < 2 * half else middle
            )
        for item in items:
            item.x += middle - (left + right) / 2
            fixed[item] = item.x
        _sweep(rows, near, fixed, (-1, 1))


def _pull_in(rows: Sequence[Sequence[RowItem]], wires: Sequence[Wire]) -> None:
    """Moves many inputs or outputs that reach beyond all else towards the middle, also that on the spine."""
    fed, read = {wire.head for wire in wires}, {wire.tail for wire in wires}
    for row, ends in ((rows[0], fed), (rows[-1], read)):
        if len(row) < tuning.FORK or any(item.is_port or item in ends for item in row):
            continue
        others = [item for other in rows if other is not row for item in other]
        left, right = _extent(others)
        low, high = _extent(row)
        by = max(left - low, 0.0) + min(right - high, 0.0)
        if high - low > right - left:
            by = (left + right - low - high) / 2
        if abs(by) > tuning.APART:
            for item in row:
                item.x += by


def _extent(items: Sequence[RowItem]) -> tuple[float, float]:
    return min((item.x - item.left for item in items), default=0.0), max(
        (item.x + item.right for item in items), default=0.0
    )


def _forks(
    rows: Sequence[Sequence[RowItem]], wires: Sequence[Wire], spine: Collection[RowItem], *, is_below: bool = False
) -> list[Sequence[RowItem]]:
    """The rows in which the spine parts, and those below them that are as wide, or that go on below what they read."""
    forks: list[Sequence[RowItem]] = []
    into = Counter(wire.head for wire in wires)
    for r, row in enumerate(rows):
        follows = bool(forks) and rows[r - 1] is forks[-1]
        goes_on = is_below and follows and all(into[item] == 1 and not item.is_port for item in row)
        if not goes_on and sum(not item.is_port for item in row) < tuning.FORK:
            continue
        tails = Counter(wire.tail for wire in wires if wire.head in row and wire.tail in spine)
        if follows or max(tails.values(), default=0) >= tuning.FORK:
            forks.append(row)
    return forks


def _sweep(rows: Sequence[Sequence[RowItem]], near: Near, fixed: Mapping[RowItem, float], ways: Sequence[int]) -> None:
    for way in ways:
        for row in rows if way <= 0 else rows[::-1]:
            wanted = {item: fixed.get(item, item.x) for item in row}
            for item in (item for item in row if item not in fixed):
                pulls = near.get(item, ())
                used = [pull for pull in pulls if way in (0, pull[3])] or pulls
                if total := sum(weight for _, _, weight, _ in used):
                    wanted[item] = sum((other.x + by) * weight for other, by, weight, _ in used) / total
            _pack(row, wanted, fixed)


def apart(a: RowItem, b: RowItem) -> float:
    """Least distance of two neighbours."""
    if a.is_port and b.is_port:
        return tuning.PORTS_APART
    return tuning.APART + 2 * tuning.LANE * max(a.hooks, b.hooks, int(bool(a.piece and b.piece)))


def _pack(row: Sequence[RowItem], wanted: Mapping[RowItem, float], fixed: Mapping[RowItem, float]) -> None:
    """Places a row, what is heavy first, each as close to where it wants to be as those already placed let it."""
    if len(row) == 1:
        row[0].x = wanted[row[0]]
        return
    at = [0.0, *accumulate(one.right + apart(one, other) + other.left for one, other in pairwise(row))]
    done: list[int] = []
    for i in sorted(range(len(row)), key=lambda i: (row[i] not in fixed, row[i].is_port, -row[i].weight)):
        place = bisect(done, i)
        low = row[done[place - 1]].x + at[i] - at[done[place - 1]] if place else -math.inf
        high = row[done[place]].x + at[i] - at[done[place]] if place < len(done) else math.inf
        row[i].x = min(max(wanted[row[i]], low), high)
        done.insert(place, i)


def spread(rows: Sequence[Sequence[RowItem]], wires: Sequence[Wire], spine: Collection[RowItem]) -> None:
    """Lets what is high take several rows, so that what is on the spine, or beside it, stays close."""
    until: dict[RowItem, int] = {}
    for wire in wires:
        until[wire.tail] = min(until.get(wire.tail, len(rows)), wire.head.row)
    taken: list[RowItem] = []
    for r, row in enumerate(rows):
        inner = [item for item in row if not item.is_port]
        for item in inner:
            beside = [other for other in inner if other is not item and (item in spine or other in spine)]
            usual = max((other.height for other in beside), default=0.0)
            if not usual or item.height < usual + tuning.APART:
                continue
            high = usual
            left, right = item.x - item.left - tuning.APART, item.x + item.right + tuning.APART
            while high < item.height and item.last + 1 < until.get(item, len(rows)):
                below = [*rows[item.last + 1], *(other for other in taken if other.last > item.last)]
                if any(
                    other.is_port or (other.x + other.right > left and other.x - other.left < right) for other in below
                ):
                    break
                item.last += 1
                high += tuning.APART + max(other.height for other in rows[item.last])
            if item.last > r:
                taken.append(item)
