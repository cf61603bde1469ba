"""Points, rectangles and the curves of edges."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

Point = tuple[float, float]
Curve = list[Point]
"""A start, then three points for each cubic Bézier segment."""


class Rect(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """From left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top

    def contains(self, point: Point) -> bool:
        """Whether the point lies in it."""
        return self.left <= point[0] <= self.right and self.top <= point[1] <= self.bottom

    def meets(self, other: Rect) -> bool:
        """Whether the two have a point in common."""
        is_beside = self.right < other.left or other.right < self.left
        return not (is_beside or self.bottom < other.top or other.bottom < self.top)


def around(points: Sequence[Point]) -> Rect:
    """The smallest rectangle around the points."""
    xs, ys = zip(*points, strict=True)
    return Rect(min(xs), min(ys), max(xs), max(ys))


Segment = tuple[Point, Point, Point, Point]


def segments(curve: Curve) -> Iterator[Segment]:
    """The Bézier segments of a curve."""
    for i in range(0, len(curve) - 3, 3):
        yield curve[i], curve[i + 1], curve[i + 2], curve[i + 3]


def crossing(segment: Segment, rect: Rect) -> bool:
    """Whether the segment passes through the rectangle."""
    return any(rect.contains(_at(segment, i / _STEPS)) for i in range(_STEPS + 1))


def without(curve: Curve, near: Callable[[Rect], Sequence[Rect]]) -> list[Curve]:
    """The parts of the curve that lie outside of rectangles.

    Args:
        curve: The curve.
        near: Gives the rectangles that meet another.
    """
    rects = near(around(curve))
    return _parts(curve, rects) if rects else [curve]


def _parts(curve: Curve, rects: Sequence[Rect]) -> list[Curve]:
    parts: list[Curve] = []
    joined = False
    for segment in segments(curve):
        extent = around(segment)
        in_way = [rect for rect in rects if rect.meets(extent)]
        for start, end in _outside(segment, in_way):
            piece = _cut(segment, start, end)
            if start == 0 and joined:
                parts[-1].extend(piece[1:])
            else:
                parts.append([*piece])
            joined = end == 1
        joined = joined and not any(rect.contains(segment[3]) for rect in in_way)
    return parts


_STEPS = 32


def _outside(segment: Segment, rects: Sequence[Rect]) -> list[tuple[float, float]]:
    """The intervals of the parameter in which the segment is in no rectangle."""
    if not rects:
        return [(0.0, 1.0)]
    free = [not any(rect.contains(_at(segment, i / _STEPS)) for rect in rects) for i in range(_STEPS + 1)]
    found, start = [], None
    for i, is_free in enumerate([*free, False]):
        if is_free and start is None:
            start = i
        elif not is_free and start is not None:
            if i - 1 > start:
                found.append((start / _STEPS, (i - 1) / _STEPS))
            start = None
    return found


def _at(segment: Segment, t: float) -> Point:
    a, b, c, d = segment
    u = 1 - t
    k = (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)
    return (
        k[0] * a[0] + k[1] * b[0] + k[2] * c[0] + k[3] * d[0],
        k[0] * a[1] + k[1] * b[1] + k[2] * c[1] + k[3] * d[1],
    )


def _cut(segment: Segment, start: float, end: float) -> list[Point]:
    """The part of a segment between two parameters."""
    if (start, end) == (0, 1):
        return [*segment]
    _, right = _halves(segment, start)
    left, _ = _halves(right, (end - start) / (1 - start) if start < 1 else 1)
    return [*left]


def _halves(segment: Segment, t: float) -> tuple[Segment, Segment]:
    a, b, c, d = segment
    ab, bc, cd = _between(a, b, t), _between(b, c, t), _between(c, d, t)
    abc, bcd = _between(ab, bc, t), _between(bc, cd, t)
    middle = _between(abc, bcd, t)
    return (a, ab, abc, middle), (middle, bcd, cd, d)


def _between(p: Point, q: Point, t: float) -> Point:
    return p[0] + (q[0] - p[0]) * t, p[1] + (q[1] - p[1]) * t


def is_straight(curve: Curve) -> bool:
    """Whether the curve cannot be told from a line between its ends, with its points in order."""
    (x0, y0), (x1, y1) = curve[0], curve[-1]
    dx, dy = x1 - x0, y1 - y0
    length = math.hypot(dx, dy)
    if not length:
        return False
    off, over = _HAIR * length, length * length
    return all(
        -off < (x - x0) * dy - (y - y0) * dx < off and 0 <= (x - x0) * dx + (y - y0) * dy <= over
        for x, y in curve[1:-1]
    )


_HAIR = 0.35
"""A distance that nobody sees, in points."""


def arrow(start: Point, tip: Point) -> tuple[Point, Point, Point]:
    """The corners of an arrow head."""
    dx, dy = (tip[0] - start[0]) * _SLIM, (tip[1] - start[1]) * _SLIM
    return (start[0] - dy, start[1] + dx), tip, (start[0] + dy, start[1] - dx)


_SLIM = 0.35
"""Half the width of an arrow head, as a part of its length."""


def along(curve: Curve, places: Sequence[float]) -> list[Point]:
    """Points at parts of the curve's length, `0.5` in its middle."""
    points = [_at(segment, i / _STEPS) for segment in segments(curve) for i in range(_STEPS)] + [curve[-1]]
    lengths = [0.0]
    for p, q in pairwise(points):
        lengths.append(lengths[-1] + math.hypot(q[0] - p[0], q[1] - p[1]))
    return [points[min(bisect(lengths, place * lengths[-1]), len(points) - 1)] for place in places]
