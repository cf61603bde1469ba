"""What lies on a picture, found by place.

Thousands of words and edges are placed one after another; asking each about all others would take the square of that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from torchrecorder.renderer.svg.geometry import Curve, Rect, Segment, around, crossing, segments

_BAND = 64.0


class Rects:
    """Rectangles, by the bands of the picture that they touch."""

    def __init__(self, rects: Iterable[Rect] = ()) -> None:
        self.bands: defaultdict[int, list[Rect]] = defaultdict(list)
        for rect in rects:
            self.add(rect)

    def add(self, rect: Rect) -> None:
        """Puts one more on the picture."""
        for band in _bands(rect):
            self.bands[band].append(rect)

    def meeting(self, rect: Rect) -> list[Rect]:
        """Those that have a point in common with the rectangle, each once."""
        bands = _bands(rect)
        near = [other for band in bands for other in self.bands.get(band, ()) if other.meets(rect)]
        return list(dict.fromkeys(near)) if len(bands) > 1 and len(near) > 1 else near


class Curves:
    """Curves, by the bands that their segments touch."""

    def __init__(self, curves: Iterable[Curve]) -> None:
        self.bands: defaultdict[int, list[tuple[Rect, Segment, int]]] = defaultdict(list)
        for number, curve in enumerate(curves):
            for segment in segments(curve):
                rect = around(segment)
                for band in _bands(rect):
                    self.bands[band].append((rect, segment, number))

    def through(self, rect: Rect) -> int:
        """How many curves pass through the rectangle."""
        found: set[int] = set()
        for band in _bands(rect):
            for box, segment, number in self.bands.get(band, ()):
                if number not in found and box.meets(rect) and crossing(segment, rect):
                    found.add(number)
        return len(found)


def _bands(rect: Rect) -> range:
    return range(int(rect.top // _BAND), int(rect.bottom // _BAND) + 1)
