"""Whether a finished placement is a picture one can read; if not, the layered layout is taken."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.geometry import Curve, Curves, Point, Rect, Rects, around
from torchrecorder.layout.model import Layout
from torchrecorder.layout.paper.page import page_height

_FAULT = 100000.0


class Placement(NamedTuple):
    """A finished layout as a reader would judge it."""

    layout: Layout
    faults: tuple[str, ...]
    """Reasons why it cannot be read."""
    crossings: int
    price: float
    is_poor: bool = True
    """Whether another way is worth trying."""


def placement(layout: Layout, room: float, *, is_sideways: bool = False) -> Placement:
    """The judgement of a layout in a column so wide; one to the right may be of any width."""
    faults = []
    curves = Curves([line.curve for line in layout.lines], is_wide=layout.is_wide)
    if sum(curves.through(node.rect.grown(-tuning.TOUCHING)) for node in layout.nodes):
        faults.append("a line passes through a node")
    if sum(curves.through(title.rect) for title in layout.titles or ()):
        faults.append("a line passes through a title")
    if layout.width > tuning.MAX_WIDTH and not is_sideways:
        faults.append(f"it is {layout.width:.0f} points wide")
    if _overlapping(layout):
        faults.append("nodes overlap")
    crossed = crossings([line.curve for line in layout.lines], is_wide=layout.is_wide)
    is_poor = bool(faults) or crossed > tuning.FEW_CROSSINGS or layout.width > room
    return Placement(layout, tuple(faults), crossed, price(layout, crossed, faults, room), is_poor)


def no_placement(why: str) -> Placement:
    return Placement(Layout(0.0, 0.0), (why,), 0, _FAULT)


def price(layout: Layout, crossed: int, faults: Sequence[str], room: float) -> float:
    """The height on the page, and what else a reader pays, in points."""
    small = max(layout.width - tuning.SMALL_FROM * room, 0.0) * tuning.HARD_TO_READ
    wrong = _FAULT * (len(faults) + _is_tangled(crossed, len(layout.lines)))
    return page_height(layout.width, layout.height, room) + small + tuning.CROSSING_COSTS * crossed + wrong


def too_many_crossings(pictures: Sequence[Placement]) -> str:
    """A fault if too many lines of some pictures cross; else empty."""
    crossed = sum(it.crossings for it in pictures)
    return f"{crossed} crossings" if _is_tangled(crossed, sum(len(it.layout.lines) for it in pictures)) else ""


def _is_tangled(crossed: int, lines: int) -> bool:
    return crossed * tuning.LINES_A_CROSSING > lines


def _overlapping(layout: Layout) -> bool:
    rects = Rects(is_wide=layout.is_wide)
    for node in layout.nodes:
        if rects.meeting(node.rect.grown(-tuning.TOUCHING)):
            return True
        rects.add(node.rect.grown(-tuning.TOUCHING))
    return False


def crossings(curves: Sequence[Curve], *, is_wide: bool = False) -> int:
    """Number of pairs of lines that cross."""
    extents = [around(curve) for curve in curves]
    near = Rects(is_wide=is_wide)
    found = 0
    for i, curve in enumerate(curves):
        for j in near.meeting(extents[i]):
            found += _cross(curve, curves[j], extents[j])
        near.add(extents[i])
    return found


def _cross(one: Curve, other: Curve, extent: Rect) -> bool:
    left, top, right, bottom = extent
    for p, q in pairwise(one):
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
