"""The layout of a figure in a paper.

A straight spine, titles in bands of their own, right-angled skips, towers side by side, columns where a chain is higher
than a page. Graphviz gives ranks and orders; the coordinates are ours. A placement that cannot be read gives way to a
simpler one, or to the layered layout; insets stand beside the picture or below it, whichever makes the page lower.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import islice, pairwise, zip_longest
from typing import NamedTuple

from torchrecorder.errors import EngineError
from torchrecorder.labels.labels import Labels
from torchrecorder.layout import tuning
from torchrecorder.layout.dot import box_title
from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.layout.geometry import Curve, Curves, Point, Rect, Rects, around
from torchrecorder.layout.model import Figure, Layout, NodeStyle, Styles
from torchrecorder.layout.paper.backs import NoWayBack
from torchrecorder.layout.paper.cards import Card, Cards
from torchrecorder.layout.paper.columns import Columns
from torchrecorder.layout.paper.compose import Composer
from torchrecorder.layout.paper.exchange import Order, RowSets
from torchrecorder.layout.paper.figures import Figures
from torchrecorder.layout.paper.ladder import Ladder
from torchrecorder.layout.paper.lanes import Blocked
from torchrecorder.layout.paper.named import Edges, Nameable
from torchrecorder.layout.paper.panels import Panels
from torchrecorder.layout.paper.ranks import CyclicPanel, Ranking
from torchrecorder.layout.paper.towers import Towers
from torchrecorder.layout.paper.ushape import NoWayAcross
from torchrecorder.request.requests import USUAL
from torchrecorder.view import View

_FAULT = 100000.0  # points: more than any height
_TRIES = 20  # a limit of time; each try lets one more line come to a box from above
_MAX_NESTED = 40  # boxes in one another; more leave no room for a page, and the layout goes through them by recursion


class _Page(NamedTuple):
    layout: Layout
    faults: Sequence[str]
    price: float
    picture: Placement
    insets: Sequence[Placement]


class PaperLayout:
    """The layout of a View with its insets: what the engine is asked, then the placement from its answers."""

    def __init__(
        self,
        view: View,
        *,
        show: Collection[str] = USUAL,
        styles: Sequence[Styles | None] = (),
        width: float = tuning.PAGE[0],
        is_sideways: bool = False,
    ) -> None:
        self._width = width
        self.reason = ""  # why there is none
        self._sketches: list[_Sketch] = []
        n = len(view.nodes) + sum(len(inset.view.nodes) for inset in view.insets)
        if n > tuning.MANY or not view.nodes:
            self.reason = f"{n} nodes"
            return
        levels: dict[int | None, int] = {None: 0}
        for box in view.boxes:  # what is in a box stands behind it
            levels[box.id] = levels[box.parent] + 1
        if (nested := max(levels.values())) > _MAX_NESTED:
            self.reason = f"{nested} boxes in one another"
            return
        try:
            views = [(view, ""), *((inset.view, inset.letter) for inset in view.insets)]
            for (shown, letter), style in zip_longest(views, styles[: len(views)]):
                self._sketches.append(_Sketch(shown, show, style, letter, is_sideways=is_sideways))
        except CyclicPanel:
            self.reason = "boxes feed each other"

    @property
    def dots(self) -> list[str]:
        """Questions to the engine."""
        return [] if self.reason else [dot for sketch in self._sketches for dot in sketch.ranking.dots]

    def place(self, answers: Sequence[str | EngineError]) -> Layout | None:
        """The layout; None, with `reason`, where the layered one is better."""
        if self.reason:
            return None
        left = iter(answers)
        for sketch in self._sketches:
            sketch.ranking.read([*islice(left, len(sketch.ranking.dots))])
        # with insets the picture may be in columns above them, or one high column beside them
        heights = (tuning.ABOVE_INSETS, tuning.BESIDE_INSETS) if len(self._sketches) > 1 else (tuning.PAGE[1],)
        picture, *others = self._sketches
        pictures = picture.best(self._width, heights)
        insets = [sketch.best(self._width, tuning.PAGE[1:])[0] for sketch in others]
        page = min((self._page(placed, insets) for placed in pictures), key=lambda page: page.price)
        if page.layout.height > tuning.PAGE[1]:
            pictures += picture.narrow(self._width, heights)
            pairs = zip(others, insets, strict=True)
            narrow = [(sketch.narrow(self._width, tuning.PAGE[1:]) or [inset])[0] for sketch, inset in pairs]
            pages = [self._page(placed, beside) for beside in (insets, narrow) for placed in pictures]
            page = min(pages, key=lambda page: page.price)
        if not picture.is_sideways and self._width >= tuning.PHONE:
            page = self._with_names(page, picture, heights)
        if page.faults and not picture.is_sideways:
            page = min(page, self._tower(insets), key=lambda page: len(page.faults))
        self.reason = "; ".join(page.faults)
        return None if page.faults else page.layout

    def _with_names(self, page: _Page, picture: _Sketch, heights: Sequence[float]) -> _Page:
        """The page with lines in two parts with names, as far as that is worth its price."""
        left = tuning.NAMES_TRIED
        while left > 0:
            is_tower = page_height(page.layout.width, page.layout.height, self._width) > tuning.TOWER
            tried = [*islice(picture.nameable(page.picture, self._width, is_tower=is_tower), left)]
            left -= len(tried)
            better, by = page, picture
            for sketch in map(picture.with_named, tried):
                pages = [self._page(placed, page.insets) for placed in sketch.best(self._width, heights)]
                best = min(pages, key=lambda page: page.price)
                is_small = bool(page.faults) and best.layout.width > tuning.SMALL_FROM * self._width
                if best.price < better.price - 1.0 and not is_small:
                    better, by = best, sketch
            if by is picture:
                break
            page, picture = better, by
        return page

    def _tower(self, insets: Sequence[Placement]) -> _Page:
        """The page with towers, where nothing else can be read."""
        ways = zip(self._sketches, [None, *insets], strict=True)
        picture, *others = (
            way if way and not way.faults else sketch.as_tower(tuning.TOWER_WIDE) for sketch, way in ways
        )
        return self._page(picture, others)

    def _page(self, picture: Placement, insets: Sequence[Placement]) -> _Page:
        all_of_it = [picture, *insets]
        layout = on_page(picture.layout, [inset.layout for inset in insets], self._width)
        wrong = [fault for placed in all_of_it for fault in placed.faults]
        cost = price(layout, sum(placed.crossings for placed in all_of_it), wrong, self._width)
        cost += tuning.PAIR_COSTS * picture.pairs
        if too_many := too_many_crossings(all_of_it, self._width):
            wrong.append(too_many)
        return _Page(layout, wrong, cost, picture, insets)


class _Sketch:
    def __init__(
        self,
        view: View,
        show: Collection[str],
        styles: Styles | None = None,
        letter: str = "",
        *,
        is_sideways: bool = False,
        named: Edges = frozenset(),
    ) -> None:
        self._view, self._show, self._styles = view, show, styles
        self._letter = letter
        self.is_sideways = is_sideways
        self._named = named
        self._is_plain = is_sideways  # whether nothing is laid out as a U
        self._is_narrow = False  # whether words are broken into more lines
        self._towers: Towers | None = None  # the plan with one thing below the other
        self._text: Callable[[int | None], float] | None = None  # as `Cards` has it
        self._has_u = False
        self._has_ladder = False
        self._panels = Panels(view, named)
        self._orders: dict[RowSets, Order] = {}
        self.ranking = Ranking(self._panels)
        self._labels = Labels(view, show=show)
        self._shapes = edge_shapes(view, show) if "shapes" in show else {}
        pairs = zip(view.boxes, styles.boxes if styles else [NodeStyle()] * len(view.boxes), strict=True)
        self._titles = [box_title(self._labels, box, style, letter) for box, style in pairs]

    def best(self, width: float, heights: Sequence[float]) -> list[Placement]:
        """For some heights the best placement in such a width; simpler ways are tried for poor ones."""
        placements = self._placements(width, heights)
        has_ladder = self._has_ladder
        while (self._is_ladder_wide or any(placement.is_poor for placement in placements)) and self._simplify():
            simpler = self._placements(width, heights)
            if self._is_plain:
                simpler = [placement._replace(price=placement.price + tuning.GIVEN_UP) for placement in simpler]
            placements = [min(pair, key=lambda way: way.price) for pair in zip(placements, simpler, strict=True)]
        if has_ladder and width >= tuning.PHONE:
            ladders = [self._as_ladder(width, text) for text in tuning.LADDER_TEXTS]
            placements = [min(way, *ladders, key=lambda way: way.price) for way in placements]
        if width < tuning.PHONE and any(placement.layout.width > width for placement in placements):
            tower = self.as_tower(width)
            placements = [min(way, tower, key=lambda way: way.price) for way in placements]
        return placements

    def with_named(self, edges: Edges) -> _Sketch:
        """The same with further lines in two parts."""
        sketch = _Sketch(self._view, self._show, self._styles, self._letter, named=self._named | edges)
        sketch.ranking.follow(self.ranking.first)
        return sketch

    def nameable(self, placed: Placement, width: float, *, is_tower: bool) -> Iterator[Edges]:
        """Lines that the picture may be better with names for."""
        signs = {node.id for node in self._view.nodes if self._labels.node(node).is_sign}
        lines = Nameable(self._panels, signs, self._named)
        if is_tower:
            rows = self.ranking.rows
            columns = Columns(self._panels, rows, self._cards)
            columns.plan(tuning.PAGE[1], width)
            yield from lines.at_cuts(rows, {box: columns.heights(box) for box in rows if box not in columns.shapes})
        crossed = Counter(line for pair in crossings(placed.layout) for line in pair)
        is_wide = width < placed.layout.width <= tuning.SMALL_FROM * width  # no line alone is the cause of more
        yield from lines.in_the_way(placed.layout.lines, crossed, is_wide=is_wide)

    def _as_ladder(self, width: float, text: float) -> Placement:
        """The placement as a ladder whose columns are narrow, with facts in as many lines as that asks for."""
        sketch = _Sketch(self._view, self._show, self._styles, self._letter, named=self._named)
        sketch.ranking.follow(self.ranking.first)
        sketch._is_narrow, sketch._text = True, lambda _box: text
        return sketch._placements(width, tuning.PAGE[1:])[0]

    def as_tower(self, width: float) -> Placement:
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
                if not any(isinstance(shape, Ladder) for shape in columns.shapes.values()):
                    break
            placements.append(min(ways, key=lambda way: way.price))
        self._has_u = any(columns.shapes for columns in plans)
        self._has_ladder = any(isinstance(shape, Ladder) for columns in plans for shape in columns.shapes.values())
        return placements

    @property
    def _is_ladder_wide(self) -> bool:
        """Whether a ladder may be better with words in more lines."""
        return self._has_ladder and not self._is_narrow

    def _placed(self, columns: Columns, width: float) -> Placement:
        rows, cards, words = self.ranking.rows, self._cards, self._shapes
        composer = Composer(
            self._panels,
            rows,
            cards,
            self._titles,
            words,
            columns,
            self._orders,
            is_narrow=self._is_narrow,
            is_sideways=self.is_sideways,
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
                return Placement.failed("something stands in the way back to the next step")
            else:
                figures = Figures(
                    self._view,
                    self._labels,
                    self._styles,
                    words,
                    self._letter,
                    self._panels.ends,
                    is_sideways=self.is_sideways,
                )
                placed = placement(figures.layout(piece), width, is_sideways=self.is_sideways)
                return placed._replace(pairs=len(self._named))
        return Placement.failed("data cannot come in by the side")

    @cached_property
    def _cards(self) -> dict[int, Card]:
        is_inset = bool(self._letter)
        cards = Cards(
            self._panels,
            self._labels,
            self._styles,
            self._shapes,
            are_ends_bare=is_inset,
            is_narrow=self._is_narrow,
            is_sideways=self.is_sideways,
            text=self._towers.text if self._towers is not None else self._text,
        )
        return cards.in_rows(self.ranking.rows)


class _Place(NamedTuple):
    layout: Layout
    x: float
    y: float


def on_page(picture: Layout, insets: Sequence[Layout], room: float) -> Layout:
    if not insets:
        return picture
    return _merged(min(_arrangements(picture, insets, room), key=lambda places: page_height(*_size(places), room)))


def _arrangements(picture: Layout, insets: Sequence[Layout], room: float) -> Iterator[list[_Place]]:
    """Insets below the picture; then the first of them beside it, as far as there is room."""
    room = max(room, picture.width)
    yield _shelves([picture, *insets], room)
    left = picture.width + tuning.PICTURES_APART
    for n in range(1, len(insets) + 1):
        if left + max(inset.width for inset in insets[:n]) > room:
            return
        beside = _shelves(insets[:n], room - left)
        places = [_Place(picture, 0.0, 0.0), *(_Place(inset, left + x, y) for inset, x, y in beside)]
        wide, high = _size(places)
        below = _shelves(insets[n:], max(room, wide))
        yield [*places, *(_Place(inset, x, high + tuning.PICTURES_APART + y) for inset, x, y in below)]


def _shelves(layouts: Sequence[Layout], room: float) -> list[_Place]:
    """Each in the first row that has room for it; rows in the middle."""
    rows: list[list[Layout]] = []
    for layout in layouts:
        row = next(
            (row for row in rows if sum(other.width + tuning.PICTURES_APART for other in row) + layout.width <= room),
            None,
        )
        if row is None:
            rows.append([layout])
        else:
            row.append(layout)
    widths = [sum(other.width for other in row) + tuning.PICTURES_APART * (len(row) - 1) for row in rows]
    places, y = [], 0.0
    for row, width in zip(rows, widths, strict=True):
        x = (max(widths) - width) / 2
        for layout in row:
            places.append(_Place(layout, x, y))
            x += layout.width + tuning.PICTURES_APART
        y += max(other.height for other in row) + tuning.PICTURES_APART
    return places


def _size(places: Sequence[_Place]) -> tuple[float, float]:
    return max(place.x + place.layout.width for place in places), max(place.y + place.layout.height for place in places)


def page_height(wide: float, high: float, room: float) -> float:
    """Height in a column of such width, with the price of being made smaller."""
    cost = tuning.TOO_WIDE if room >= tuning.PHONE else tuning.TOO_WIDE_ON_PHONE
    return high * room / max(wide, room) + cost * max(wide - room, 0.0)


def _merged(places: Sequence[_Place]) -> Layout:
    whole = Layout(*_size(places), titles=[])
    assert whole.titles is not None
    for layout, x, y in places:
        first = len(whole.nodes)
        whole.nodes.extend(_figure(node, x, y, 0) for node in layout.nodes)
        whole.boxes.extend(_figure(box, x, y, first) for box in layout.boxes)
        for line in layout.lines:
            tip, at = ((point[0] + x, point[1] + y) if point else None for point in (line.tip, line.at))
            whole.lines.append(line._replace(curve=[(px + x, py + y) for px, py in line.curve], tip=tip, at=at))
        for title in layout.titles or ():
            word, rect, before = title.word.moved(x, y), title.rect.moved(x, y), title.before + first
            whole.titles.append(title._replace(left=title.left + x, word=word, rect=rect, before=before))
    return whole


def _figure(figure: Figure, x: float, y: float, first: int) -> Figure:
    words = tuple([word.moved(x, y) for word in figure.words])
    return figure._replace(rect=figure.rect.moved(x, y), words=words, before=figure.before + first)


class Placement(NamedTuple):
    """A finished layout as a reader would judge it."""

    layout: Layout
    faults: tuple[str, ...]  # reasons why it cannot be read
    crossings: int
    price: float
    is_poor: bool = True  # whether another way is worth trying
    pairs: int = 0  # lines in two parts with names

    @staticmethod
    def failed(why: str) -> Placement:
        return Placement(Layout(0.0, 0.0), (why,), 0, _FAULT)


def placement(layout: Layout, room: float, *, is_sideways: bool = False) -> Placement:
    """The judgement of a layout in a column so wide; one to the right may be of any width."""
    faults = []
    curves = Curves([line.curve for line in layout.lines], is_wide=layout.is_wide)
    inner = [node.rect.grown(-tuning.TOUCHING) for node in layout.nodes]
    if any(map(curves.through, inner)):
        faults.append("a line passes through a node")
    if any(curves.through(title.rect) for title in layout.titles or ()):
        faults.append("a line passes through a title")
    if layout.width > tuning.MAX_WIDTH and not is_sideways:
        faults.append(f"it is {layout.width:.0f} points wide")
    rects = Rects(is_wide=layout.is_wide)
    for rect in inner:
        if rects.meeting(rect):
            faults.append("nodes overlap")
            break
        rects.add(rect)
    crossed = sum(1 for _ in crossings(layout))
    is_tangled = crossed > tuning.FEW_CROSSINGS or _is_tangled(crossed, len(layout.lines), room)
    is_poor = bool(faults) or is_tangled or layout.width > room
    return Placement(layout, tuple(faults), crossed, price(layout, crossed, faults, room), is_poor)


def price(layout: Layout, crossed: int, faults: Sequence[str], room: float) -> float:
    """The height on the page, and what else a reader pays, in points."""
    small = max(layout.width - tuning.SMALL_FROM * room, 0.0) * tuning.HARD_TO_READ
    wrong = _FAULT * (len(faults) + _is_tangled(crossed, len(layout.lines), room))
    return page_height(layout.width, layout.height, room) + small + tuning.CROSSING_COSTS * crossed + wrong


def too_many_crossings(pictures: Sequence[Placement], room: float) -> str:
    """A fault if too many lines of some pictures cross; else empty."""
    crossed = sum(picture.crossings for picture in pictures)
    lines = sum(len(picture.layout.lines) for picture in pictures)
    return f"{crossed} crossings" if _is_tangled(crossed, lines, room) else ""


def _is_tangled(crossed: int, lines: int, room: float) -> bool:
    least = 0 if room >= tuning.PHONE else tuning.CROSSINGS_ON_PHONE
    return crossed > max(lines / tuning.LINES_A_CROSSING, least)


def crossings(layout: Layout) -> Iterator[tuple[int, int]]:
    """Pairs of lines that cross, by their positions."""
    curves = [line.curve for line in layout.lines]
    extents = [around(curve) for curve in curves]
    near = Rects(is_wide=layout.is_wide)
    for i, curve in enumerate(curves):
        yield from ((i, j) for j in near.meeting(extents[i]) if _cross(curve, curves[j], extents[j]))
        near.add(extents[i])


def _cross(curve: Curve, other: Curve, extent: Rect) -> bool:
    left, top, right, bottom = extent
    for p, q in pairwise(curve):
        is_beside = max(p[0], q[0]) < left or min(p[0], q[0]) > right
        if is_beside or max(p[1], q[1]) < top or min(p[1], q[1]) > bottom:
            continue
        if any(_meet(p, q, r, s) for r, s in pairwise(other)):
            return True
    return False


def _meet(p: Point, q: Point, r: Point, s: Point) -> bool:
    """Whether two straight parts cross, not only touch."""
    a, b = (q[0] - p[0], q[1] - p[1]), (s[0] - r[0], s[1] - r[1])
    across = a[0] * b[1] - a[1] * b[0]
    if abs(across) < 1e-9:
        return False
    t = ((r[0] - p[0]) * b[1] - (r[1] - p[1]) * b[0]) / across
    u = ((r[0] - p[0]) * a[1] - (r[1] - p[1]) * a[0]) / across
    return 0.001 < t < 0.999 and 0.001 < u < 0.999
