"""One View on its way to a layout: ways to place it, the best first, then those that give up what is hard to read."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import accumulate

from torchrecorder.labels.labels import Labels
from torchrecorder.layout import tuning
from torchrecorder.layout.dot import box_title
from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.layout.model import Line, NodeStyle, Styles
from torchrecorder.layout.paper.backs import NoWayBack
from torchrecorder.layout.paper.cards import Card, Cards, Said
from torchrecorder.layout.paper.columns import Columns
from torchrecorder.layout.paper.compose import Composer
from torchrecorder.layout.paper.exchange import Orders
from torchrecorder.layout.paper.figures import Figures
from torchrecorder.layout.paper.ladder import NoWayAcross
from torchrecorder.layout.paper.lanes import Blocked
from torchrecorder.layout.paper.panels import Key, Panels
from torchrecorder.layout.paper.placement import Placement, crossings, placement
from torchrecorder.layout.paper.ranks import CyclicPanel, Ranking, Rows
from torchrecorder.layout.paper.towers import Towers
from torchrecorder.view import Node, View

_TRIES = 20  # a limit of time; each try lets one more line come to a box from above


class Sketch:
    def __init__(
        self,
        view: View,
        show: Collection[str],
        styles: Styles | None = None,
        letter: str = "",
        *,
        is_sideways: bool = False,
        named: Edges = frozenset(),
        orders: Orders | None = None,
        said: Said | None = None,
    ) -> None:
        self._view, self._show, self._styles = view, show, styles
        self._letter = letter
        self.is_sideways = is_sideways
        self._named = named
        self._is_plain = is_sideways  # whether nothing is laid out as a U
        self._is_narrow = False  # whether words are broken into more lines
        self._towers: Towers | None = None  # the plan with one thing below the other
        self._text: float | None = None  # how long lines of nodes may be, as `Cards` has it
        self._shorter = Counter[int]()  # by node how much shorter its lines are than usual
        self._has_u = False
        self._has_ladder = False
        self._panels = Panels(view, named, is_inset=bool(letter))
        self._orders = Orders() if orders is None else orders
        self.ranking = Ranking(self._panels)
        self._said = said or _said(view, show, styles, letter, is_sideways=is_sideways)

    def best(self, width: float, heights: Sequence[float]) -> list[Placement]:
        """For some heights the best placement in such a width; simpler ways are tried for poor ones.

        Behind them are wider ones, which may leave more room for insets, or fewer crossings with them.
        """
        placements = self._placements(width, heights)
        is_page = not (self.is_sideways or self._letter) and width >= tuning.PHONE
        for rows in self.ranking.broken_outputs(self._wide, width) if is_page else ():
            before, self.ranking.rows[None] = self.ranking.rows[None], rows
            broken = self._placements(width, heights)
            if min(way.price for way in broken) < min(way.price for way in placements):
                placements = broken
            else:
                self.ranking.rows[None] = before
        wider: list[Placement] = []
        for is_narrow in (False, True) if width >= tuning.PHONE and not self.is_sideways else ():
            pairs = zip(placements, heights, strict=True)
            wide = {id(way): (way, high) for way, high in pairs if way.layout.width > width}
            fitted = {key: self._in_room(way, width, high, is_narrow=is_narrow) for key, (way, high) in wide.items()}
            placements = [fitted.get(id(way), way) for way in placements]
            wider += [way for way, _ in wide.values() if way not in placements]
        has_ladder = self._has_ladder
        while (
            (self._has_ladder and not self._is_narrow)  # it may be better with words in more lines
            or any(placement.is_poor for placement in placements)
        ) and self._simplify():
            simpler = self._placements(width, heights)
            if self._is_plain:
                simpler = [placement._replace(price=placement.price + tuning.GIVEN_UP) for placement in simpler]
            placements = [min(pair, key=lambda way: way.price) for pair in zip(placements, simpler, strict=True)]
        if has_ladder and width >= tuning.PHONE:
            ladders = [self.as_ladder(width, text) for text in tuning.LADDER_TEXTS]
            placements = [min(way, *ladders, key=lambda way: way.price) for way in placements]
        if width < tuning.PHONE and any(placement.layout.width > width for placement in placements):
            tower = self._as_tower(width)
            placements = [min(way, tower, key=lambda way: way.price) for way in placements]
        return [*placements, *wider]

    def with_named(self, edges: Edges) -> Sketch:
        """The same with further lines in two parts."""
        return self._again(self._named | edges)

    def _again(self, named: Edges) -> Sketch:
        sketch = Sketch(
            self._view, self._show, self._styles, self._letter, named=named, orders=self._orders, said=self._said
        )
        sketch.ranking.follow(self.ranking.first)
        return sketch

    def nameable(self, placed: Placement, width: float, *, is_tower: bool) -> Iterator[Edges]:
        """Lines that the picture may be better with names for."""
        signs = {node.id for node in self._view.nodes if self._said.labels.node(node).is_sign}
        lines = Nameable(self._panels, signs, self._named)
        if is_tower:
            rows = self.ranking.rows
            columns = Columns(self._panels, rows, self._cards)
            columns.plan(tuning.PAGE[1], width)
            yield from lines.at_cuts(rows, {box: columns.heights(box) for box in rows if box not in columns.shapes})
        crossed = Counter(line for pair in crossings(placed.layout) for line in pair)
        is_wide = width < placed.layout.width <= tuning.SMALL_FROM * width  # no line alone is the cause of more
        yield from lines.in_the_way(placed.layout.lines, crossed, is_wide=is_wide)

    def as_ladder(self, width: float, text: float) -> Placement:
        """The placement as narrow as it is with facts in lines so short, as a ladder may have to be."""
        sketch = self._again(self._named)
        sketch._is_narrow, sketch._text = True, text
        return sketch._placements(width, tuning.PAGE[1:])[0]

    def _in_room(self, best: Placement, width: float, height: float, *, is_narrow: bool) -> Placement:
        """The placement, or a better one with words in more lines in the rows alone that make it too wide."""
        sketch = self._again(self._named)
        sketch._is_narrow = is_narrow
        for _ in range(tuning.SHORTENED):
            columns = Columns(sketch._panels, sketch.ranking.rows, sketch._cards)
            columns.plan(height, width, with_u=False)
            placed = sketch._placed(columns, width)
            best = min(best, placed, key=lambda way: way.price)
            if placed.faults or placed.layout.width <= width:
                break
            shorter = {node: by for node in sketch._cards if (by := sketch._next_shorter(node))}
            widest = columns.widest(shorter, placed.layout.width - width)
            sketch._shorter.update({node: shorter[node] - sketch._shorter[node] for node in widest})
            del sketch._cards
        return best

    def _next_shorter(self, node: int) -> int:
        """How much shorter than usual the lines of a node have to be for it to be less wide; 0 if they cannot be."""
        inner = 2 * (self._cards[node].half - tuning.CARD_MARGIN)
        ways = enumerate(tuning.SHORTER_TEXTS, 1)
        return next((by for by, text in ways if by > self._shorter[node] and text < inner), 0)

    def _as_tower(self, width: float) -> Placement:
        """The placement as a tower: where two things have no room side by side, one stands below the other."""
        self._is_narrow = self._is_plain = True
        self.ranking.stack()
        best, room = Placement.failed("no tower"), width
        for _ in range(tuning.TOWERS):
            self._towers = Towers(self._panels, self.ranking, room)
            del self._cards
            columns = Columns(self._panels, self.ranking.rows, self._cards)
            columns.plan(math.inf, width, with_u=False)
            tower = self._placed(columns, width)
            best = min(best, tower, key=lambda way: way.price)
            if (over := tower.layout.width - width) <= 0:
                break
            room -= over + 2.0
        return best

    def narrow(self, width: float, heights: Sequence[float]) -> list[Placement]:
        """The placements with words in more lines; none if that was tried."""
        if self._is_narrow:
            return []
        self._simplify()
        return self._placements(width, heights)

    def _simplify(self) -> bool:
        """Gives up what makes pictures wide or hard to read, a step at a time; whether that changed anything."""
        if not self._is_narrow:
            self._is_narrow = True
            del self._cards
            return True
        if not self._is_plain:
            self._is_plain = True
            if self._has_u:
                return True
        rows = {**self.ranking.rows}
        if not self.ranking.is_stacked and self._panels.has_late and self.ranking.stack() and self.ranking.rows != rows:
            return True
        if not self._panels.has_late:
            return False
        self._panels.all_from_above = True
        return self.ranking.stack()

    def _placements(self, width: float, heights: Sequence[float]) -> list[Placement]:
        placements: list[Placement] = []
        tried: list[Placement] = []
        plans: list[Columns] = []
        for height in heights:
            along, across = (width, height) if self.is_sideways else (height, width)
            ways: list[Placement] = []
            for with_ladders in (True, False):
                columns = Columns(self._panels, self.ranking.rows, self._cards)
                columns.plan(along, across, with_u=not self._is_plain, with_ladders=with_ladders)
                plan = columns.cuts, columns.shapes
                same = next((i for i, other in enumerate(plans) if (other.cuts, other.shapes) == plan), None)
                ways.append(self._placed(columns, width) if same is None else tried[same])
                if same is None:
                    plans.append(columns)
                    tried.append(ways[-1])
                if all(shape.is_u for shape in columns.shapes.values()):
                    break
            placements.append(min(ways, key=lambda way: way.price))
        self._has_u = any(columns.shapes for columns in plans)
        self._has_ladder = any(not shape.is_u for columns in plans for shape in columns.shapes.values())
        return placements

    def _placed(self, columns: Columns, width: float) -> Placement:
        composer = Composer(
            self._panels,
            self._said,
            columns,
            self._orders,
            width=math.inf if self.is_sideways else width,
            is_narrow=self._is_narrow,
            towers=self._towers,
        )
        for _ in range(_TRIES):
            try:
                piece = composer.compose(is_inset=bool(self._letter))
            except Blocked as blocked:
                self._panels.not_late.add((blocked.box, blocked.source))
                try:
                    self.ranking.again_around(blocked.box)
                except CyclicPanel:
                    break
            except NoWayAcross:  # `_simplify` does without the U
                break
            except NoWayBack:
                if composer.hooks == tuning.MOST_HOOKS:
                    return Placement.failed("something stands in the way back to the next step")
                composer.hooks += 1
            else:
                layout = Figures(self._panels, self._said).layout(piece)
                placed = placement(layout, width, is_sideways=self.is_sideways)
                return placed._replace(pairs=len(self._named))
        return Placement.failed("data cannot come in by the side")

    def _wide(self, key: Key) -> float:
        """The room that a node takes in a row."""
        return 2 * self._cards[key.id].half + tuning.APART if key.kind == "node" else 0.0

    @cached_property
    def _cards(self) -> dict[int, Card]:
        return Cards(self._panels, self._said, is_narrow=self._is_narrow, text=self._long).in_rows(self.ranking.rows)

    def _long(self, node: Node) -> float | None:
        if self._towers is not None:
            return self._towers.text(node.box)
        shorter = self._shorter[node.id]
        return tuning.SHORTER_TEXTS[shorter - 1] if shorter else self._text


Edges = frozenset[int]
"""Positions in the View."""


class Nameable:
    """The edges that can be drawn as two lines with names, and those that may be worth it: in the way, or at a cut.

    Each choice is laid out and has to be worth its price; nothing here decides what is better.
    """

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


def _said(view: View, show: Collection[str], styles: Styles | None, letter: str, *, is_sideways: bool) -> Said:
    shapes = edge_shapes(view, show) if "shapes" in show else {}
    labels, boxes = Labels(view, show=show), styles.boxes if styles else [NodeStyle()] * len(view.boxes)
    titles = [box_title(labels, box, style, letter) for box, style in zip(view.boxes, boxes, strict=True)]
    return Said(labels, styles, shapes, titles, letter, is_sideways)


def _long(line: Line) -> float:
    (x, y), (to, end) = line.curve[0], line.curve[-1]
    return abs(to - x) + abs(end - y)
