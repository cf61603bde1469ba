"""Where everything in a row stands: the stream on one straight line, the rest close to what it reads and feeds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.model import RowItem, Wire

_SWEEPS = (-1, 1, -1, 1, 0, 1)
"""Towards what is read, or towards readers."""
_FAR = 1e9


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
            through = best[wire.tail] + item.weight - (tuning.SKIP_ON_SPINE if wire.is_skip else 0)
            if through > best[item] + 1e-6:
                best[item], before[item] = through, wire
    last = max(best, key=lambda item: (round(best[item], 3), -item.order), default=None)
    found: list[tuple[RowItem, Wire | None]] = []
    while last is not None:
        step = before.get(last)
        found.append((last, step))
        last = step.tail if step else None
    return found[::-1]


def place(
    rows: Sequence[Sequence[RowItem]], wires: Sequence[Wire], spine: Sequence[tuple[RowItem, Wire | None]]
) -> None:
    """Sets x of all; the spine is straight through every port on it."""
    fixed: dict[RowItem, float] = {}
    x = 0.0
    for item, wire in spine:
        if wire is not None:
            x = wire.tail.x + wire.tail.exit(wire.source) - item.entry(wire.source)
        item.x = fixed[item] = x
    near: dict[RowItem, list[tuple[RowItem, float, float, int]]] = defaultdict(list)
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
    _pull_in(rows, wires)


def _width(rows: Sequence[Sequence[RowItem]]) -> float:
    left, right = _extent([item for row in rows for item in row])
    return right - left


def _settle(
    rows: Sequence[Sequence[RowItem]],
    near: Mapping[RowItem, Sequence[tuple[RowItem, float, float, int]]],
    fixed: dict[RowItem, float],
    forks: Sequence[Sequence[RowItem]],
    *,
    is_below: bool = False,
) -> None:
    """Sets x of all but the spine, which is `fixed`; what lies in `forks` is around it."""
    for item in (item for row in forks for item in row if not item.is_port):
        fixed.pop(item, None)
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
        by = (
            (left + right - low - high) / 2
            if high - low > right - left
            else max(left - low, 0.0) + min(right - high, 0.0)
        )
        if abs(by) > tuning.APART:
            for item in row:
                item.x += by


def _extent(items: Sequence[RowItem]) -> tuple[float, float]:
    return min((it.x - it.left for it in items), default=0.0), max((it.x + it.right for it in items), default=0.0)


def _forks(
    rows: Sequence[Sequence[RowItem]], wires: Sequence[Wire], spine: Collection[RowItem], *, is_below: bool = False
) -> list[Sequence[RowItem]]:
    """The rows in which the spine parts, and those below them that are as wide, or that go on below what they read."""
    found: list[Sequence[RowItem]] = []
    into = Counter(wire.head for wire in wires)
    for r, row in enumerate(rows):
        follows = bool(found) and rows[r - 1] is found[-1]
        goes_on = is_below and follows and all(into[item] == 1 and not item.is_port for item in row)
        if not goes_on and sum(not item.is_port for item in row) < tuning.FORK:
            continue
        tails = Counter(wire.tail for wire in wires if wire.head in row and wire.tail in spine)
        if follows or max(tails.values(), default=0) >= tuning.FORK:
            found.append(row)
    return found


def _sweep(
    rows: Sequence[Sequence[RowItem]],
    near: Mapping[RowItem, Sequence[tuple[RowItem, float, float, int]]],
    fixed: Mapping[RowItem, float],
    ways: Sequence[int],
) -> None:
    for way in ways:
        for row in rows if way <= 0 else rows[::-1]:
            _pack(row, {it: fixed[it] if it in fixed else _wanted(it, near.get(it, ()), way) for it in row}, fixed)


def _wanted(item: RowItem, near: Sequence[tuple[RowItem, float, float, int]], way: int) -> float:
    used = [one for one in near if way in (0, one[3])] or near
    total = sum(weight for _, _, weight, _ in used)
    return sum((other.x + by) * weight for other, by, weight, _ in used) / total if total else item.x


def apart(a: RowItem, b: RowItem) -> float:
    """Least distance of two neighbours."""
    if a.is_port and b.is_port:
        return tuning.PORTS_APART
    return tuning.APART + (2 * tuning.LANE if (a.piece and b.piece) or a.is_hooked or b.is_hooked else 0.0)


def _pack(row: Sequence[RowItem], wanted: Mapping[RowItem, float], fixed: Mapping[RowItem, float]) -> None:
    """Places a row, what is heavy first, each as close to where it wants to be as those already placed let it."""
    place = {item: i for i, item in enumerate(row)}
    done: dict[int, float] = {}
    for item in sorted(row, key=lambda item: (item not in fixed, item.is_port, -item.weight)):
        i = place[item]
        low, high = -_FAR, _FAR
        room = item.left
        for j in range(i - 1, -1, -1):
            room += apart(row[j], row[j + 1])
            if j in done:
                low = done[j] + row[j].right + room
                break
            room += row[j].left + row[j].right
        room = item.right
        for j in range(i + 1, len(row)):
            room += apart(row[j - 1], row[j])
            if j in done:
                high = done[j] - row[j].left - room
                break
            room += row[j].left + row[j].right
        done[i] = min(max(wanted[item], low), high)
    for i, x in done.items():
        row[i].x = x


def spread(rows: Sequence[Sequence[RowItem]], wires: Sequence[Wire], spine: Collection[RowItem]) -> None:
    """Lets what is high and beside the spine take several rows, so that those on the spine stay close."""
    until: dict[RowItem, int] = {}
    for wire in wires:
        until[wire.tail] = min(until.get(wire.tail, len(rows)), wire.head.row)
    taken: list[RowItem] = []
    for r, row in enumerate(rows):
        usual = max((item.height for item in row if item in spine), default=0.0)
        for item in row:
            if item in spine or item.is_port or not usual or item.height < usual + tuning.APART:
                continue
            high = usual
            left, right = item.x - item.left - tuning.APART, item.x + item.right + tuning.APART
            while high < item.height and item.last + 1 < until.get(item, len(rows)):
                below = [*rows[item.last + 1], *(other for other in taken if other.last > item.last)]
                if any(it.is_port or (it.x + it.right > left and it.x - it.left < right) for it in below):
                    break
                item.last += 1
                high += tuning.APART + max(other.height for other in rows[item.last])
            if item.last > r:
                taken.append(item)
