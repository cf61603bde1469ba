"""Points, rectangles and the curves of edges; what lies on a picture, found by place."""

from __future__ import annotations

import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

Point = tuple[float, float]
Curve = list[Point]  # the two ends of a straight line; or a start, then three points for each cubic Bézier segment
_EVEN = 4.0  # three times the sum of the distances of the inner points of a curve from the thirds of a line
_HAIR = 0.35  # a distance that cannot be seen, in points
_SLIM = 0.35  # half the width of an arrow head, as a part of its length
_PLACES = 32  # points that stand for a segment where its length is measured
_BAND = 64.0  # points, about three rows of a picture


class Rect(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> Point:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def contains(self, point: Point) -> bool:
        return self.left <= point[0] <= self.right and self.top <= point[1] <= self.bottom

    def moved(self, x: float, y: float) -> Rect:
        return Rect(self.left + x, self.top + y, self.right + x, self.bottom + y)

    @staticmethod
    def centred(x: float, y: float, width: float, height: float) -> Rect:
        return Rect(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def meets(self, other: Rect) -> bool:
        """Whether they overlap, not only touch."""
        is_across = self.left < other.right and other.left < self.right
        return is_across and self.top < other.bottom and other.top < self.bottom

    def grown(self, by: float) -> Rect:
        return Rect(self.left - by, self.top - by, self.right + by, self.bottom + by)


def around(points: Sequence[Point]) -> Rect:
    xs, ys = zip(*points, strict=True)
    return Rect(min(xs), min(ys), max(xs), max(ys))


Segment = Sequence[Point]  # the two ends of a straight line, or the four points of a cubic Bézier curve


def segments(curve: Curve) -> list[Segment]:
    return [curve] if len(curve) == 2 else [curve[i : i + 4] for i in range(0, len(curve) - 3, 3)]


def passes(curve: Curve, rect: Rect) -> bool:
    return any(_inside(segment, rect) for segment in segments(curve))


def without(curve: Curve, rects: Sequence[Rect]) -> list[Curve]:
    """The parts of the curve that lie outside of rectangles."""
    parts: list[Curve] = []
    joined = False
    for segment in segments(curve):
        hidden = sorted([span for rect in rects for span in _inside(segment, rect)])
        if not hidden:
            parts[-1:] = [parts[-1] + [*segment[1:]]] if joined else [*parts[-1:], [*segment]]
            joined = True
            continue
        at, seen = 0.0, []
        for start, end in (*hidden, (1.0, 1.0)):  # what the sorted intervals leave of that from 0 to 1
            if start > at:
                seen.append((at, start))
            at = max(at, end)
        for start, end in seen:
            if len(segment) == 2:
                piece = [part(segment[0], segment[1], start), part(segment[0], segment[1], end)]
            else:
                rest = _halves(segment, start)[1]
                piece = [*_halves(rest, (end - start) / (1 - start) if start < 1 else 1)[0]]
            parts[-1:] = [parts[-1] + piece[1:]] if start == 0 and joined else [*parts[-1:], piece]
        joined = hidden[-1][1] < 1
    return parts


def _inside(segment: Segment, rect: Rect, start: float = 0.0, end: float = 1.0) -> list[tuple[float, float]]:
    """The intervals of the parameter in which the segment is in the rectangle.

    A curve is halved until its parts are lines or lie elsewhere.
    """
    is_line = len(segment) == 2
    if not is_line:
        left, top, right, bottom = around(segment)
        if right < rect.left or left > rect.right or bottom < rect.top or top > rect.bottom:
            return []
        # whether the curve is a line on which the parameter grows evenly, as far as can be seen
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = segment
        off = abs(3 * bx - 2 * ax - dx) + abs(3 * by - 2 * ay - dy)
        is_line = off + abs(3 * cx - ax - 2 * dx) + abs(3 * cy - ay - 2 * dy) < _EVEN
    if is_line:
        spans = _line_inside(segment[0], segment[-1], rect)
        return [(start + first * (end - start), start + last * (end - start)) for first, last in spans]
    middle = (start + end) / 2
    first_half, last_half = _halves(segment, 0.5)
    return _inside(first_half, rect, start, middle) + _inside(last_half, rect, middle, end)


def _line_inside(start: Point, end: Point, rect: Rect) -> list[tuple[float, float]]:
    """The method of Liang and Barsky: each side of the rectangle cuts off a part of the line."""
    enters, leaves = 0.0, 1.0
    for p, q, low, high in ((start[0], end[0], rect.left, rect.right), (start[1], end[1], rect.top, rect.bottom)):
        if p == q:
            if not low <= p <= high:
                return []
            continue
        first, last = (low - p) / (q - p), (high - p) / (q - p)
        if first > last:
            first, last = last, first
        enters, leaves = max(enters, first), min(leaves, last)
    return [(enters, leaves)] if enters < leaves else []


def _at(segment: Segment, t: float) -> Point:
    if len(segment) == 2:
        return part(segment[0], segment[1], t)
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = segment
    u = 1 - t
    k0, k1, k2, k3 = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
    return k0 * ax + k1 * bx + k2 * cx + k3 * dx, k0 * ay + k1 * by + k2 * cy + k3 * dy


def _halves(segment: Segment, t: float) -> tuple[Segment, Segment]:
    """The method of de Casteljau."""
    a, b, c, d = segment
    ab, bc, cd = part(a, b, t), part(b, c, t), part(c, d, t)
    abc, bcd = part(ab, bc, t), part(bc, cd, t)
    middle = part(abc, bcd, t)
    return (a, ab, abc, middle), (middle, bcd, cd, d)


def part(p: Point, q: Point, t: float) -> Point:
    return p[0] + (q[0] - p[0]) * t, p[1] + (q[1] - p[1]) * t


def is_straight(curve: Curve) -> bool:
    """Whether the curve looks like a line between its ends, with its points in order."""
    (x0, y0), (x1, y1) = curve[0], curve[-1]
    dx, dy = x1 - x0, y1 - y0
    length = math.hypot(dx, dy)
    if not length:
        return False
    off, over = _HAIR * length, length * length
    for x, y in curve[1:-1]:
        if not (-off < (x - x0) * dy - (y - y0) * dx < off and 0 <= (x - x0) * dx + (y - y0) * dy <= over):
            return False
    return True


def arrow(start: Point, tip: Point) -> tuple[Point, Point, Point]:
    dx, dy = (tip[0] - start[0]) * _SLIM, (tip[1] - start[1]) * _SLIM
    return (start[0] - dy, start[1] + dx), tip, (start[0] + dy, start[1] - dx)


def along(curve: Curve, places: Sequence[float]) -> list[Point]:
    """Points at parts of the curve's length, `0.5` in its middle."""
    points = [_at(segment, i / _PLACES) for segment in segments(curve) for i in range(_PLACES)] + [curve[-1]]
    lengths = [0.0]
    for p, q in pairwise(points):
        lengths.append(lengths[-1] + math.hypot(q[0] - p[0], q[1] - p[1]))
    return [points[min(bisect(lengths, place * lengths[-1]), len(points) - 1)] for place in places]


def extent(curves: Iterable[Curve]) -> Rect | None:
    """The rectangle around curves, which their points may lie outside of; None if there are none."""
    points = [_at(segment, i / _PLACES) for curve in curves for segment in segments(curve) for i in range(_PLACES + 1)]
    return around(points) if points else None


class Rects:
    """Rectangles, by the bands that they touch: thousands of words are placed, and each asks about few others."""

    def __init__(self, rects: Iterable[Rect] = (), *, is_wide: bool = False) -> None:
        self._low, self._high = (0, 2) if is_wide else (1, 3)
        self._rects: list[Rect] = []
        self._bands: defaultdict[int, list[int]] = defaultdict(list)
        for rect in rects:
            self.add(rect)

    def add(self, rect: Rect) -> None:
        for band in self._touched(rect):
            self._bands[band].append(len(self._rects))
        self._rects.append(rect)

    def meeting(self, rect: Rect) -> list[int]:
        left, top, right, bottom = rect
        near = dict.fromkeys(position for band in self._touched(rect) for position in self._bands.get(band, ()))
        met = []
        for position in near:
            x0, y0, x1, y1 = self._rects[position]
            if x0 <= right and left <= x1 and y0 <= bottom and top <= y1:
                met.append(position)
        return met

    def touching(self, rect: Rect) -> list[Rect]:
        return [self._rects[position] for position in self.meeting(rect)]

    def _touched(self, rect: Rect) -> range:
        return range(int(rect[self._low] // _BAND), int(rect[self._high] // _BAND) + 1)


class Curves:
    def __init__(self, curves: Sequence[Curve], *, is_wide: bool = False) -> None:
        self._curves = curves
        self._extents = Rects(map(around, curves), is_wide=is_wide)

    def passing(self, rect: Rect) -> list[int]:
        """The positions of those that pass a rectangle."""
        return [position for position in self._extents.meeting(rect) if passes(self._curves[position], rect)]

    def through(self, rect: Rect) -> int:
        return len(self.passing(rect))

    def outside(self, rects: Iterable[Rect]) -> list[list[Curve]]:
        near: dict[int, list[Rect]] = {}
        for rect in rects:
            for position in self._extents.meeting(rect):
                near.setdefault(position, []).append(rect)
        parts = [[curve] for curve in self._curves]
        for position, behind in near.items():
            parts[position] = without(self._curves[position], behind)
        return parts
