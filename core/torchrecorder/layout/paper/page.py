"""A picture and its insets on one page: beside it or below it, whichever makes the page lower."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.geometry import Curve, Curves, Point, Rect, Rects, around
from torchrecorder.layout.model import Figure, Layout


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
    return high * room / max(wide, room) + 4 * max(wide - room, 0.0)


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


_FAULT = 100000.0  # points: more than any height


class Placement(NamedTuple):
    """A finished layout as a reader would judge it."""

    layout: Layout
    faults: tuple[str, ...]  # reasons why it cannot be read
    crossings: int
    price: float
    is_poor: bool = True  # whether another way is worth trying

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
    crossed = crossings([line.curve for line in layout.lines], is_wide=layout.is_wide)
    is_poor = bool(faults) or crossed > tuning.FEW_CROSSINGS or layout.width > room
    return Placement(layout, tuple(faults), crossed, price(layout, crossed, faults, room), is_poor)


def price(layout: Layout, crossed: int, faults: Sequence[str], room: float) -> float:
    """The height on the page, and what else a reader pays, in points."""
    small = max(layout.width - tuning.SMALL_FROM * room, 0.0) * tuning.HARD_TO_READ
    wrong = _FAULT * (len(faults) + _is_tangled(crossed, len(layout.lines)))
    return page_height(layout.width, layout.height, room) + small + tuning.CROSSING_COSTS * crossed + wrong


def too_many_crossings(pictures: Sequence[Placement]) -> str:
    """A fault if too many lines of some pictures cross; else empty."""
    crossed = sum(picture.crossings for picture in pictures)
    return (
        f"{crossed} crossings" if _is_tangled(crossed, sum(len(picture.layout.lines) for picture in pictures)) else ""
    )


def _is_tangled(crossed: int, lines: int) -> bool:
    return crossed * tuning.LINES_A_CROSSING > lines


def crossings(curves: Sequence[Curve], *, is_wide: bool = False) -> int:
    """Number of pairs of lines that cross."""
    extents = [around(curve) for curve in curves]
    near = Rects(is_wide=is_wide)
    number = 0
    for i, curve in enumerate(curves):
        for j in near.meeting(extents[i]):
            number += _cross(curve, curves[j], extents[j])
        near.add(extents[i])
    return number


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
