"""The lines that are worth two short ones with names: those that a chain cannot be cut for, and those in the way.

Each choice is laid out and has to be worth its price; nothing here decides what is better.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import accumulate

from torchrecorder.layout import tuning
from torchrecorder.layout.model import Line
from torchrecorder.layout.paper.panels import Panels
from torchrecorder.layout.paper.ranks import Rows

Edges = frozenset[int]
"""Positions in the View."""


class Nameable:
    """The edges that can be drawn as two lines, and those of them that something would gain from."""

    def __init__(self, panels: Panels, signs: Set[int], named: Edges) -> None:
        self._panels, self._signs, self._named = panels, signs, named
        self._flows = {position: ends for position, ends in panels.ends.items() if not panels.view.edges[position].back}
        self._from, self._into = (Counter(ends[i] for ends in self._flows.values()) for i in (0, 1))

    def is_able(self, edges: Edges) -> bool:
        """Whether all that such edges join is still joined to something else, or is the end of the picture."""
        nodes, flows = self._panels.view.nodes, self._flows
        if not edges or edges - flows.keys() or edges & self._named:
            return False
        if any(self._panels.view.edges[edge].is_first for edge in edges):  # a later turn reads what has another name
            return False
        left, led = Counter(self._from), Counter(self._into)
        for tail, head in (flows[edge] for edge in (edges | self._named)):
            left[tail] -= 1
            led[head] -= 1
        return all(
            left[tail] > 0
            and (led[head] > 0 or nodes[head].kind == "output")
            and tail not in self._panels.hubs
            and self._signs.isdisjoint((tail, head))
            for tail, head in (flows[edge] for edge in edges)
        )

    def at_cuts(self, rows: Mapping[int | None, Rows], highs: Mapping[int | None, Sequence[float]]) -> Iterator[Edges]:
        """For each high chain the edges that pass the places nearest to its middle, but for the chain itself."""
        for box in sorted(highs, key=lambda box: -sum(highs[box])):
            total = sum(highs[box])
            if total < tuning.LEAST_CHAIN:
                return
            reached = [*accumulate(highs[box])]
            able = [(r, edges) for r, edges in self._passing(box, rows[box]) if self.is_able(edges)]
            price = {r: abs(reached[r] - total / 2) / total + tuning.PAIR_OFF * len(edges) for r, edges in able}
            yield from [edges for r, edges in sorted(able, key=lambda place: price[place[0]])[: tuning.CUTS_TRIED]]

    def _passing(self, box: int | None, rows: Rows) -> Iterator[tuple[int, Edges]]:
        """By row the edges that pass below it beside the one that leads on."""
        at = {key: r for r, row in enumerate(rows) for key in row}
        segments = [s for s in self._panels.by_box[box].segments if s.tail in at and s.head in at]
        for r in range(1, len(rows) - 2):
            passing = [segment for segment in segments if at[segment.tail] <= r < at[segment.head]]
            chain = {(s.tail, s.source) for s in passing if at[s.tail] == r and at[s.head] == r + 1}
            others = [s for s in passing if (s.tail, s.source) not in chain]
            is_inner = not any(key.is_port for key in (*rows[r], *rows[r + 1]))
            edges = frozenset(edge for segment in others for edge in segment.edges)
            if len(chain) == 1 and is_inner and len(edges) <= tuning.PAIRS_AT_CUT:
                yield r, edges

    def in_the_way(self, lines: Sequence[Line], crossed: Counter[int], *, is_wide: bool) -> Iterator[Edges]:
        """The edges of lines that cross several others; the longest as well, if the picture is too wide."""
        by_ends: dict[tuple[str, str], list[int]] = defaultdict(list)
        for position, (tail, head) in self._flows.items():
            by_ends[f"{tail}", f"{head}"].append(position)
        order = sorted(range(len(lines)), key=lambda i: (-crossed[i], -_long(lines[i])))
        chosen = [i for i in order if crossed[i] >= tuning.CROSSED]
        if is_wide:
            chosen += sorted(range(len(lines)), key=lambda i: -_long(lines[i]))[: tuning.LINES_TRIED]
        tried = set()
        for i in chosen:
            edges = frozenset(by_ends[lines[i].ends])
            if edges not in tried and self.is_able(edges):
                tried.add(edges)
                yield edges


def _long(line: Line) -> float:
    (x, y), (to, end) = line.curve[0], line.curve[-1]
    return abs(to - x) + abs(end - y)
