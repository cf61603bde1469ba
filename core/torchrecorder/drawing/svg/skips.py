"""Keeping skips in the boxes they belong to.

Layout gives a skip as much room as there is beside what it passes, and bends it widely: out of the box that it has
entered and in again, along the border. Where it would leave a box that both its ends are in, or by the side one that it
enters or leaves by the front, it is drawn anew, beside the border.
"""

from __future__ import annotations

from collections.abc import Sequence

from torchrecorder.drawing.svg.drawing import Drawing, Figure, Line
from torchrecorder.drawing.svg.geometry import Curve, Point, Rect, along, around, part, passes
from torchrecorder.drawing.svg.scene import Rects

_AIR = 7.0
"""Between a skip and the border of the box it is in."""
_SAMPLES = [i / 24 for i in range(25)]
_BENDS = (0.5, 0.35, 0.25, 0.17, 0.1, 0.06, 0.03)
"""How much of its length an end of a skip takes to get beside what it passes; the first for which there is room."""
_ROUND = 0.6
"""How far the control points of a bend lie from its ends, as a part of its size."""


def keep_inside(drawing: Drawing) -> None:
    """Draws the skips of a picture anew that leave their boxes."""
    boxes, nodes = (_Figures(figures, drawing.is_wide) for figures in (drawing.boxes, drawing.nodes))
    for i, line in enumerate(drawing.lines):
        if "skip" in line.flags and len(line.curve) > 2:
            drawing.lines[i] = line._replace(curve=_inside(line, boxes, nodes))


class _Figures:
    """The boxes or the nodes of a picture, found by place."""

    def __init__(self, figures: Sequence[Figure], is_wide: bool) -> None:
        self._rects = [figure.rect for figure in figures]
        self._placed = Rects(self._rects, is_wide=is_wide)

    def meeting(self, rect: Rect) -> list[Rect]:
        return [self._rects[position] for position in self._placed.meeting(rect)]


def _inside(line: Line, boxes: _Figures, nodes: _Figures) -> Curve:
    """The curve of a skip, or one that keeps to its boxes and passes through nothing."""
    ends = line.curve[0], line.tip or line.curve[-1]
    (left, top), (right, bottom) = ends
    across = 0 if abs(bottom - top) >= abs(right - left) else 1
    mine = [*dict.fromkeys(box for point in ends for box in boxes.meeting(around((point, point))))]
    entered = [box for box in mine if all(box.contains(end) or not _is_beside(end, box, across) for end in ends)]
    points = along(line.curve, _SAMPLES)
    for side, sign in ((2, 1), (0, -1)):
        limits = [(sign * box[across + side] - _AIR, box) for box in entered]
        beyond = {at for at, box in limits if any(sign * p[across] > at for p in points if _is_beside(p, box, across))}
        if beyond:
            extent = around(line.curve)
            passed = [box for box in boxes.meeting(extent) if box not in mine]
            passed += [node for node in nodes.meeting(extent) if not any(_touches(node, end) for end in ends)]
            tried = (_beside(line.curve, across, sign * at, passed) for at in sorted(beyond))
            return next(filter(None, tried), line.curve)
    return line.curve


def _is_beside(point: Point, box: Rect, across: int) -> bool:
    """Whether the point is at the height of the box, or in a picture to the right, above or below it."""
    return box[1 - across] <= point[1 - across] <= box[3 - across]


def _beside(curve: Curve, across: int, at: float, passed: Sequence[Rect]) -> Curve | None:
    """A curve with the ends of another and a straight part between them; None if it would pass through something.

    Args:
        curve: The other.
        across: The axis across the flow of the picture: 0 for x, 1 for y.
        at: Where on that axis the straight part lies.
        passed: What is in the way.
    """
    length = curve[-1][1 - across] - curve[0][1 - across]
    first = _bend(curve[0], curve[1], length, across, at, passed)
    last = _bend(curve[-1], curve[-2], -length, across, at, passed)
    if first is None or last is None or not _is_free([first[-1], last[-1]], passed):
        return None
    between = [part(first[-1], last[-1], 1 / 3), part(first[-1], last[-1], 2 / 3)]
    return [*first, *between, *reversed(last)]


def _bend(end: Point, towards: Point, length: float, across: int, at: float, passed: Sequence[Rect]) -> Curve | None:
    """The curve from an end to the straight part, as wide as there is room for."""
    step = towards[across] - end[across]
    reach = max(_ROUND * (at - end[across]) / step, 0.0) if step else 0.0
    for bend in _BENDS:
        meets = end[1 - across] + bend * length
        before = meets - _ROUND * bend * length
        found = [end, part(end, towards, reach), _point(across, at, before), _point(across, at, meets)]
        if _is_free(found, passed):
            return found
    return None


def _point(across: int, at: float, place: float) -> Point:
    return (at, place) if across == 0 else (place, at)


def _is_free(curve: Curve, passed: Sequence[Rect]) -> bool:
    return not any(passes(curve, rect) for rect in passed)


def _touches(rect: Rect, point: Point) -> bool:
    return Rect(rect[0] - 1, rect[1] - 1, rect[2] + 1, rect[3] + 1).contains(point)
