"""What lies on a picture, found by place.

Thousands of words and edges are placed one after another; asking each about all others would take the square of that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from torchrecorder.drawing.svg.geometry import Curve, Rect, around, passes, without

_BAND = 64.0


class Rects:
    """Rectangles, by the bands of the picture that they touch; bands lie across its longer side."""

    def __init__(self, rects: Iterable[Rect] = (), *, is_wide: bool = False) -> None:
        self.low, self.high = (0, 2) if is_wide else (1, 3)
        self.count = 0
        self.bands: defaultdict[int, list[tuple[int, Rect]]] = defaultdict(list)
        for rect in rects:
            self.add(rect)

    def add(self, rect: Rect) -> None:
        """Puts one more on the picture."""
        placed = (self.count, rect)
        self.count += 1
        for band in self._bands(rect):
            self.bands[band].append(placed)

    def meeting(self, rect: Rect) -> list[int]:
        """Positions of those that have a point in common with the rectangle, each once."""
        left, top, right, bottom = rect
        bands = self._bands(rect)
        found = [
            position
            for band in bands
            for position, (x0, y0, x1, y1) in self.bands.get(band, ())
            if x0 <= right and left <= x1 and y0 <= bottom and top <= y1
        ]
        return found if len(bands) < 2 or len(found) < 2 else list(dict.fromkeys(found))

    def _bands(self, rect: Rect) -> range:
        return range(int(rect[self.low] // _BAND), int(rect[self.high] // _BAND) + 1)


class Curves:
    """The curves of a picture, by their positions."""

    def __init__(self, curves: Sequence[Curve], *, is_wide: bool = False) -> None:
        self._curves = curves
        self._extents = Rects(map(around, curves), is_wide=is_wide)

    def through(self, rect: Rect) -> int:
        """How many curves pass through the rectangle."""
        return sum(passes(self._curves[position], rect) for position in self._extents.meeting(rect))

    def outside(self, rects: Iterable[Rect]) -> list[list[Curve]]:
        """For each curve its parts that lie outside of the rectangles."""
        near: dict[int, list[Rect]] = {}
        for rect in rects:
            for position in self._extents.meeting(rect):
                near.setdefault(position, []).append(rect)
        found = [[curve] for curve in self._curves]
        for position, behind in near.items():
            found[position] = without(self._curves[position], behind)
        return found
