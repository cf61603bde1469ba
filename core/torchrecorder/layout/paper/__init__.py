"""The layout of a figure in a paper.

A straight spine, titles in bands of their own, right-angled skips, towers side by side, columns where a chain is higher
than a page. Graphviz gives ranks and orders; the coordinates are ours. A placement that cannot be read gives way to a
simpler one, or to the layered layout; insets stand beside the picture or below it, whichever makes the page lower.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice, product, zip_longest
from typing import NamedTuple

from torchrecorder.errors import EngineError
from torchrecorder.layout import tuning
from torchrecorder.layout.model import Figure, Layout, Styles
from torchrecorder.layout.paper.placement import Placement, doubts, n_crossings, page_height, price
from torchrecorder.layout.paper.ranks import CyclicPanel
from torchrecorder.layout.paper.sketch import Sketch
from torchrecorder.request.requests import USUAL
from torchrecorder.view import View

_MAX_NESTED = 40  # boxes in one another; more leave no room for a page, and the layout goes through them by recursion
_MIXED = 4  # insets of which each may have its words in more lines or not: a limit of time
_ON_EITHER_SIDE = 3  # insets each of which may stand at the left or at the right: a limit of time


class _Page(NamedTuple):
    layout: Layout
    faults: Sequence[str]
    doubts: Sequence[str]
    price: float
    picture: Placement
    insets: Sequence[Placement]

    @property
    def wrong(self) -> list[str]:
        return [*self.faults, *self.doubts]


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
        self.doubtful: Layout | None = None  # one that is hard to read, where there is none
        self._sketches: list[Sketch] = []
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
                self._sketches.append(Sketch(shown, show, style, letter, is_sideways=is_sideways))
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
            down = () if picture.is_sideways else others
            tight = [sketch.as_ladder(self._width, tuning.LADDER_TEXTS[0]) for sketch in down] or insets
            ways = [[way for way in ways if not way.faults] or ways for ways in zip(insets, narrow, tight, strict=True)]
            either = [(it, beside) for it in pictures for beside in (insets, narrow, tight)]
            either += [(it, fitting(it, ways, self._width)) for it in pictures]
            usual_or_slim = [(some[0], min(some, key=lambda way: way.layout.width)) for some in ways[:_MIXED]]
            mixed = [[*some, *insets[_MIXED:]] for some in product(*usual_or_slim)]
            either += [(it, min(mixed, key=partial(self._lowest, it))) for it in pictures]
            pages = [self._page(it, beside) for it, beside in either]
            page = min(pages, key=lambda page: page.price)
        if not picture.is_sideways and self._width >= tuning.PHONE:
            page = self._with_names(page, picture, heights)
        self.reason = "; ".join(page.wrong)
        self.doubtful = page.layout if page.doubts and not page.faults else None
        return None if page.wrong else page.layout

    def is_cheaper(self, layout: Layout, other: Layout) -> bool:
        """Whether a layout costs its reader less than another."""
        ours, others = (price(way, n_crossings(way), self._width) for way in (layout, other))
        return ours < others

    def hardship(self, layout: Layout) -> float:
        """The cost of the width and the crossings of a layout to its reader, in points."""
        return price(Layout(layout.width, 0.0), n_crossings(layout), self._width)

    def is_hard_to_read(self, layout: Layout, times: float = tuning.LESS_FROM) -> bool:
        """Whether less is better shown than a layout of so many times the width of its room, or so many crossings."""
        is_wide = self._width >= tuning.PHONE and layout.width > times * self._width
        is_tangled = n_crossings(layout) > tuning.LESS_FROM_CROSSINGS
        return not self._sketches[0].is_sideways and (is_wide or is_tangled)

    def _with_names(self, page: _Page, picture: Sketch, heights: Sequence[float]) -> _Page:
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
                is_small = bool(page.wrong) and best.layout.width > tuning.SMALL_FROM * self._width
                if best.price < better.price - 1.0 and not is_small:
                    better, by = best, sketch
            if by is picture:
                break
            page, picture = better, by
        return page

    def _lowest(self, picture: Placement, insets: Sequence[Placement]) -> float:
        """The height of a page with insets where each goes as high up as there is room."""
        layouts = [picture.layout, *(inset.layout for inset in insets)]
        places = _packed(layouts, max(picture.layout.width, self._width), (1,) * len(layouts))
        return page_height(*_size(places), self._width)

    def _page(self, picture: Placement, insets: Sequence[Placement]) -> _Page:
        all_of_it = [picture, *insets]
        layout = on_page(picture.layout, [inset.layout for inset in insets], self._width)
        faults = [fault for placed in all_of_it for fault in placed.faults]
        crossed = sum(placed.crossings for placed in all_of_it)
        doubtful = doubts(layout, crossed, self._width, is_sideways=self._sketches[0].is_sideways)
        cost = price(layout, crossed, self._width, len(faults), len(doubtful)) + tuning.PAIR_COSTS * picture.pairs
        return _Page(layout, faults, doubtful, cost, picture, insets)


class _Place(NamedTuple):
    layout: Layout
    x: float
    y: float


def on_page(picture: Layout, insets: Sequence[Layout], room: float) -> Layout:
    if not insets:
        return picture
    places = min(_arrangements(picture, insets, room), key=lambda places: page_height(*_size(places), room))
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


def _arrangements(picture: Layout, insets: Sequence[Layout], room: float) -> Iterator[list[_Place]]:
    """Insets below the picture; then the first of them beside it, as far as there is room."""
    if picture.width > room:  # the page is made smaller anyway
        yield _shelves([picture, *insets], tuning.LESS_FROM * room)
        room = picture.width
    yield _shelves([picture, *insets], room)
    sides = [*product((1, -1), repeat=len(insets))] if len(insets) <= _ON_EITHER_SIDE else [(1,) * len(insets)]
    yield from (_packed([picture, *insets], room, (1, *ways)) for ways in sides)
    left = picture.width + tuning.PICTURES_APART
    for n in range(1, len(insets) + 1):
        if left + max(inset.width for inset in insets[:n]) > room:
            return
        beside = _shelves(insets[:n], room - left)
        places = [_Place(picture, 0.0, 0.0), *(_Place(inset, left + x, y) for inset, x, y in beside)]
        wide, high = _size(places)
        below = _shelves(insets[n:], max(room, wide))
        yield [*places, *(_Place(inset, x, high + tuning.PICTURES_APART + y) for inset, x, y in below)]


def _packed(layouts: Sequence[Layout], room: float, sides: Sequence[int]) -> list[_Place]:
    """Each as high up as there is room for it, at its side where that is so at several places."""
    places: list[_Place] = []
    for layout, side in zip(layouts, sides, strict=True):
        y, _, x = min((y, side * x, x) for x, y in _spots(layout, places, room))
        places.append(_Place(layout, x, y))
    return places


def fitting(picture: Placement, ways: Sequence[Sequence[Placement]], room: float) -> list[Placement]:
    """One of several ways to lay out each inset: that which ends highest up beside or below the picture."""
    places, chosen = [_Place(picture.layout, 0.0, 0.0)], list[Placement]()
    for inset in ways:
        spots = ((i, x, y) for i, way in enumerate(inset) for x, y in _spots(way.layout, places, room))
        i, x, y = min(spots, key=lambda spot: (spot[2] + inset[spot[0]].layout.height, *spot))
        chosen.append(inset[i])
        places.append(_Place(inset[i].layout, x, y))
    return chosen


def _spots(layout: Layout, places: Sequence[_Place], room: float) -> Iterator[tuple[float, float]]:
    """Where there is room for a layout beside or below others."""
    lefts = {0.0, room - layout.width, *(at.x + at.layout.width + tuning.PICTURES_APART for at in places)}
    tops = {0.0, *(at.y + at.layout.height + tuning.PICTURES_APART for at in places)}
    for x in (x for x in lefts if 0.0 <= x <= max(room - layout.width, 0.0)):
        yield from ((x, y) for y in tops if not any(_meet(layout, x, y, place) for place in places))


def _meet(layout: Layout, x: float, y: float, other: _Place) -> bool:
    """Whether a layout at such a place is nearer to another than they are to be apart."""
    least = tuning.PICTURES_APART - 0.01
    return (
        x - least < other.x + other.layout.width
        and other.x < x + layout.width + least
        and y - least < other.y + other.layout.height
        and other.y < y + layout.height + least
    )


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


def _figure(figure: Figure, x: float, y: float, first: int) -> Figure:
    words = tuple([word.moved(x, y) for word in figure.words])
    return figure._replace(rect=figure.rect.moved(x, y), words=words, before=figure.before + first)
