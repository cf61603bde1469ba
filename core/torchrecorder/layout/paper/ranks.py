"""Which things of a panel stand in one row, and in what order: a chain is known at once, else Graphviz is asked.

All panels are asked at once, as graphs of equal boxes, since ranks hardly depend on sizes. Rows in the answer that do
not lead downwards are replaced by ours.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from torchrecorder.errors import EngineError
from torchrecorder.layout.dot import same_rank
from torchrecorder.layout.paper.panels import Key, Panels, Segment

Rows = list[list[Key]]
_LEAST_BROKEN = 4  # outputs that may stand in two rows


class CyclicPanel(Exception):
    """Boxes of a panel feed each other, so that none of them is above the other."""


class Ranking:
    def __init__(self, panels: Panels) -> None:
        self._panels = panels
        self.rows: dict[int | None, Rows] = {}
        self.first: dict[int | None, Rows] = {}  # those before anything was given up
        self.is_stacked = False  # whether towers stand one below the other
        self._asked: list[tuple[int | None, list[Key], list[Segment], dict[Key, int]]] = []
        self.dots: list[str] = []
        groups = same_rank(panels.view)
        for box in panels.by_box:
            keys, segments = self.used(box)
            ranks = _ranks(keys, segments)
            if len({rank for key, rank in ranks.items() if not key.is_port}) == sum(not key.is_port for key in keys):
                self.rows[box] = self._in_rows(keys, ranks)
            else:
                self._asked.append((box, keys, segments, ranks))
                self.dots.append(self._dot(keys, segments, groups))

    def read(self, answers: Sequence[str | EngineError]) -> None:
        for (box, keys, segments, ranks), answer in zip(self._asked, answers, strict=True):
            rows = _read(keys, segments, answer) or self._in_rows(keys, ranks)
            plain = [sorted(row, key=self._panels.order) for row in rows]
            self.rows[box] = _best((plain, rows), segments)
        self._in_line_with_outer()
        self.first = {**self.rows}

    def follow(self, other: Mapping[int | None, Rows]) -> None:
        """Takes rows of more lines, where an engine would have to be asked."""
        for box, keys, _, ranks in self._asked:
            rows = [[key for key in row if key in keys] for row in other[box]]
            is_all = sum(map(len, rows)) == len(keys)
            self.rows[box] = [row for row in rows if row] if is_all else self._in_rows(keys, ranks)
        self._in_line_with_outer()
        self.first = {**self.rows}

    def stack(self) -> bool:
        """Puts towers one below the other, which is less wide; whether that can be."""
        self.is_stacked = True
        try:
            for box in self._panels.by_box:
                self._again(box)
        except CyclicPanel:
            return False
        self._in_line_with_outer()
        return True

    def broken_outputs(self, wide: Callable[[Key], float], room: float) -> Iterator[Rows]:
        """The rows of the picture with outputs in two, where they are wider than the room in one.

        Further down are those at both sides, the first or the last: their lines pass beside the others.
        """
        _, segments = self.used(None)
        tails, rows = {part.tail for part in segments}, self.rows[None]
        row = rows[-1] if rows else []
        if len(row) < _LEAST_BROKEN or sum(map(wide, row)) <= room or not tails.isdisjoint(row):
            return
        for first, last in ((0.25, 0.75), (0.5, 1.0), (0.0, 0.5)):
            n, m = int(first * len(row)), math.ceil(last * len(row))
            yield [*rows[:-1], row[n:m], [*row[:n], *row[m:]]]

    def again_around(self, box: int) -> None:
        """Ranks the panel of a box again, and those around it: what cannot come to it by the side cannot to them."""
        around = self._panels.around(box)
        # those change that get data from above now, for which their rows have no port
        ranked = [{key for row in self.rows[panel] for key in row} for panel in around]
        changed = [i for i, panel in enumerate(around) if ranked[i] != {*self.used(panel)[0]}]
        for panel in around[max(min([*changed, len(around) - 1]) - 1, 0) :]:
            self._again(panel)
        self._in_line_with_outer()

    def _again(self, box: int | None) -> None:
        keys, segments = self.used(box)
        rows = self._in_rows(keys, _ranks(keys, segments))
        self.rows[box] = _best((rows, _untangled(rows, segments)), segments)

    def _in_line_with_outer(self) -> None:
        """Puts what enters boxes in the order in which it comes to them, where that makes no more lines cross."""
        for box, parent in ((box.id, box.parent) for box in self._panels.view.boxes):  # a parent has a smaller id
            rows, (_, segments) = self.rows[box], self.used(box)
            around = self._panels.by_box[parent].segments
            if not rows or len(rows[0]) < 2 or not rows[0][0].is_port or not self._panels.are_entries_shared(box):
                continue
            place = {key: i for row in self.rows[parent] for i, key in enumerate(row)}
            outer = {segment.source: place.get(segment.tail, 0) for segment in around}
            ports = sorted(rows[0], key=lambda key: outer.get(key.id, 0))
            own = [ports, *rows[1:]]
            self.rows[box] = _best((own, _untangled(own, segments), rows), segments)

    def _is_free(self, box: int | None, segment: Segment) -> bool:
        """Whether it says nothing about what is above what: it comes in by the side."""
        if segment.tail.kind == "in":
            return box is not None and self._panels.is_late(box, segment.source)
        is_between = segment.head.kind == "box" and not self.is_stacked
        return is_between and self._panels.is_late(segment.head.id, segment.source)

    def used(self, box: int | None) -> tuple[list[Key], list[Segment]]:
        panel = self._panels.by_box[box]
        segments = [segment for segment in panel.segments if not self._is_free(box, segment)] + self._panels.below[box]
        used = {key for segment in segments for key in (segment.tail, segment.head)}
        return [key for key in panel.keys if not key.is_port or key in used], segments

    def _in_rows(self, keys: Sequence[Key], ranks: dict[Key, int]) -> Rows:
        rows: dict[int, list[Key]] = defaultdict(list)
        for key in sorted(keys, key=self._panels.order):
            rows[ranks[key]].append(key)
        return [rows[rank] for rank in sorted(rows)]

    def _dot(self, keys: Sequence[Key], segments: Sequence[Segment], groups: Sequence[Sequence[int]]) -> str:
        name = {key: f"k{i}" for i, key in enumerate(keys)}
        lines = ['digraph{ranksep=.3;nodesep=.3;node[shape=box,width=1,height=.4,fixedsize=true,label=""]']
        in_order = sorted(keys, key=self._panels.order)
        lines += [f"{name[key]}[width=.1]" if key.is_port else name[key] for key in in_order]
        for kind, rank in (("in", "source"), ("out", "sink")):
            if ports := [name[key] for key in keys if key.kind == kind]:
                lines.append(f"{{rank={rank};{';'.join(ports)}}}")
        weights: dict[tuple[Key, Key], int] = {}
        for segment in segments:
            weight = 0 if segment.is_skip else 2 if segment.head.kind == "out" else 4  # close to what it reads
            weights[segment.tail, segment.head] = max(weights.get((segment.tail, segment.head), 0), weight)
        lines += [f"{name[tail]}->{name[head]}[weight={weight}]" for (tail, head), weight in weights.items()]
        for nodes in groups:
            alike = [name[key] for node in nodes if (key := Key("node", node)) in name]
            if len(alike) > 1:
                lines.append(f"{{rank=same;{'->'.join(alike)}[style=invis]}}")
        return "\n".join(lines) + "}"


def _ranks(keys: Sequence[Key], segments: Sequence[Segment]) -> dict[Key, int]:
    """The longest way to each; what nothing feeds stands just above its reader, ports at the ends."""
    follow: dict[Key, list[Key]] = defaultdict(list)
    waiting = dict.fromkeys(keys, 0)
    for segment in segments:
        follow[segment.tail].append(segment.head)
        waiting[segment.head] += 1
    fed = {key for key, n in waiting.items() if n}
    ranks = dict.fromkeys(keys, 0)
    ready = [key for key in keys if not waiting[key]]
    for key in ready:
        for head in follow[key]:
            ranks[head] = max(ranks[head], ranks[key] + 1)
            waiting[head] -= 1
            if not waiting[head]:
                ready.append(head)
    if len(ready) < len(keys):
        raise CyclicPanel
    last = max(ranks.values(), default=0) + 1
    for key in keys:
        if key.kind == "out":
            ranks[key] = last
        elif key.kind == "in":
            ranks[key] = -1
        elif key not in fed and follow[key]:
            ranks[key] = min(ranks[head] if head.kind != "out" else last for head in follow[key]) - 1
    return ranks


def _read(keys: Sequence[Key], segments: Sequence[Segment], answer: str | EngineError) -> Rows | None:
    """The rows that an engine laid out; None if it did not, or if they do not lead downwards."""
    if isinstance(answer, EngineError):
        return None
    try:
        positions = {row["name"]: row["pos"].split(",") for row in json.loads(answer)["objects"] if "pos" in row}
        at = {key: (float(positions[f"k{i}"][0]), round(-float(positions[f"k{i}"][1]))) for i, key in enumerate(keys)}
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    by_height: dict[int, list[Key]] = defaultdict(list)
    for key in sorted(keys, key=lambda key: at[key][0]):
        by_height[at[key][1]].append(key)
    rows = [by_height[y] for y in sorted(by_height)]
    place = {key: i for i, row in enumerate(rows) for key in row}
    is_apart = all(len({key.is_port for key in row}) == 1 for row in rows)
    is_outside = all(place[key] in (0, len(rows) - 1) for key in place if key.is_port)
    leads_down = all(place[segment.tail] < place[segment.head] for segment in segments)
    return rows if is_apart and is_outside and leads_down else None


def _best(candidates: Sequence[Rows], segments: Sequence[Segment]) -> Rows:
    """The first of those with the fewest crossings."""
    return min(candidates, key=lambda rows: _crossings(rows, segments))


def _untangled(rows: Rows, segments: Sequence[Segment]) -> Rows:
    """Each row in the order of what it reads in the row above it, then the first in that of what reads it."""
    near: dict[Key, list[Key]] = defaultdict(list)
    for segment in segments:
        near[segment.head].append(segment.tail)
        near[segment.tail].append(segment.head)

    def after(row: list[Key], other: list[Key]) -> list[Key]:
        at = {key: i for i, key in enumerate(other)}
        where = {key: [at[end] for end in near[key] if end in at] or [i] for i, key in enumerate(row)}
        return sorted(row, key=lambda key: sum(where[key]) / len(where[key]))

    ordered = rows[:1]
    for row in rows[1:]:
        ordered.append(after(row, ordered[-1]))
    return [after(rows[0], ordered[1]), *ordered[1:]] if len(rows) > 1 else rows


def _crossings(rows: Rows, segments: Sequence[Segment]) -> int:
    """Crossings between neighbouring rows."""
    at = {key: (i, j) for i, row in enumerate(rows) for j, key in enumerate(row)}
    between: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for segment in segments:
        (above, left), (below, right) = at[segment.tail], at[segment.head]
        if below == above + 1:
            between[above].append((left, right))
    return sum((a - c) * (b - d) < 0 for pairs in between.values() for (a, b), (c, d) in combinations(pairs, 2))
