"""A layout as a reader would judge it: its faults, the lines that cross, and its price in points of height."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.geometry import Curve, Curves, Point, Rect, Rects, around
from torchrecorder.layout.model import Layout

_DOUBT = 100000.0  # points: more than any height
_FAULT = 3 * _DOUBT  # more than all doubts of a layout: with a fault it cannot be drawn


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
    rects = Rects(is_wide=layout.is_wide)
    for rect in inner:
        if rects.meeting(rect):
            faults.append("nodes overlap")
            break
        rects.add(rect)
    crossed = n_crossings(layout)
    doubtful = doubts(layout, crossed, room, is_sideways=is_sideways)
    is_poor = bool(faults or doubtful) or crossed > tuning.FEW_CROSSINGS or layout.width > room
    cost = price(layout, crossed, room, len(faults), len(doubtful))
    return Placement(layout, tuple(faults), crossed, cost, is_poor)


def doubts(layout: Layout, crossed: int, room: float, *, is_sideways: bool = False) -> list[str]:
    """Reasons why it may be hard to read without a fault; one to the right may be of any width."""
    is_wide = layout.width > tuning.MAX_WIDTH and not is_sideways
    least = 0 if room >= tuning.PHONE else tuning.CROSSINGS_ON_PHONE
    is_tangled = crossed > max(len(layout.lines) / tuning.LINES_A_CROSSING, least)
    return [f"it is {layout.width:.0f} points wide"] * is_wide + [f"{crossed} crossings"] * is_tangled


def page_height(wide: float, high: float, room: float) -> float:
    """Height in a column of such width, with the price of being made smaller."""
    cost = tuning.TOO_WIDE if room >= tuning.PHONE else tuning.TOO_WIDE_ON_PHONE
    return high * room / max(wide, room) + (cost * (wide - room) + tuning.SMALLER if wide > room else 0.0)


def price(layout: Layout, crossed: int, room: float, n_faults: int = 0, n_doubts: int = 0) -> float:
    """The height on the page, and what else a reader pays, in points; doubts and faults are beyond it."""
    wrong = _FAULT * n_faults + _DOUBT * n_doubts
    small = max(layout.width - tuning.SMALL_FROM * room, 0.0) * tuning.HARD_TO_READ
    return page_height(layout.width, layout.height, room) + small + tuning.CROSSING_COSTS * crossed + wrong


def n_crossings(layout: Layout) -> int:
    return sum(1 for _ in crossings(layout))


def crossings(layout: Layout) -> Iterator[tuple[int, int]]:
    """Pairs of lines that cross, by their positions."""
    curves = [line.curve for line in layout.lines]
    extents = [around(curve) for curve in curves]
    near = Rects(is_wide=layout.is_wide)
    for i, curve in enumerate(curves):
        yield from ((i, j) for j in near.meeting(extents[i]) if _cross(curve, curves[j], extents[j]))
        near.add(extents[i])


def _cross(curve: Curve, other: Curve, extent: Rect) -> bool:
    for p, q in pairwise(curve):
        left, top, right, bottom = around((p, q))
        if left > extent.right or right < extent.left or top > extent.bottom or bottom < extent.top:
            continue
        for r, s in pairwise(other):
            is_beside = (r[0] < left and s[0] < left) or (r[0] > right and s[0] > right)
            if (
                not is_beside
                and (r[1] >= top or s[1] >= top)
                and (r[1] <= bottom or s[1] <= bottom)
                and _meet(p, q, r, s)
            ):
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
