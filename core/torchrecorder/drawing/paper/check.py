"""Whether a finished placement is a picture one can read; if not, the layered layout is taken."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torchrecorder.drawing.svg.geometry import Curve, Curves, Point, Rect, Rects, around
from torchrecorder.drawing.svg.layout import Layout

MAX_WIDTH = 1275.0
"""In points."""
_INSIDE = 2.0
"""Lines may touch a node by this much."""
_CROSSED = 5
"""One crossing is let pass for so many lines."""


def faults(layout: Layout) -> list[str]:
    """What is wrong with it."""
    found = []
    curves = Curves([line.curve for line in layout.lines], is_wide=layout.is_wide)
    if sum(curves.through(node.rect.grown(-_INSIDE)) for node in layout.nodes):
        found.append("a line passes through a node")
    if sum(curves.through(title.rect) for title in layout.titles or ()):
        found.append("a line passes through a title")
    if layout.width > MAX_WIDTH:
        found.append(f"it is {layout.width:.0f} points wide")
    if (crossed := crossings([line.curve for line in layout.lines], is_wide=layout.is_wide)) * _CROSSED > len(
        layout.lines
    ):
        found.append(f"{crossed} crossings")
    if _overlapping(layout):
        found.append("nodes overlap")
    return found


def _overlapping(layout: Layout) -> bool:
    rects = Rects(is_wide=layout.is_wide)
    for node in layout.nodes:
        if rects.meeting(node.rect.grown(-_INSIDE)):
            return True
        rects.add(node.rect.grown(-_INSIDE))
    return False


def crossings(curves: Sequence[Curve], *, is_wide: bool = False) -> int:
    """How many pairs of lines cross."""
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
