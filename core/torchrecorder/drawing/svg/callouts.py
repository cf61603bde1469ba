"""Placing the words of edges beside them.

Layout could reserve room for a word, but then gives it a rank of its own: the picture grows by half and edges bend
around words. The space between two ranks is high enough for one line, so words are put there afterwards, on the side of
the edge where the least is in the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchrecorder.drawing.svg.drawing import Drawing, Line, Word
from torchrecorder.drawing.svg.geometry import Rect, along
from torchrecorder.drawing.svg.metrics import width
from torchrecorder.drawing.svg.scene import Curves, Rects

SIZE = 9.0
_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
_DIGIT_HEIGHT = 0.72
"""Height of a digit as a part of the size; shapes have no signs that are higher or reach lower."""
_GAP = 3.5
_AIR = 1.2
_HIT = 2
"""How bad a place is where a node, a word or a line of a box is; an edge that passes through counts one."""


def place_words(drawing: Drawing, curves: Curves, taken: Sequence[Rect]) -> list[Word]:
    """The words of all edges, each at its place.

    A word is left out where there is no room for it: the shape is said again further down.

    Args:
        drawing: The picture.
        curves: Its edges.
        taken: Where something else stands besides nodes and edges.
    """
    told = [line for line in drawing.lines if line.word]
    if not told:
        return []
    borders = [border for box in drawing.boxes for border in _borders(box.rect)]
    rects = Rects([*(node.rect for node in drawing.nodes), *taken, *borders], is_wide=drawing.is_wide)
    page = Rect(0, 0, drawing.width, drawing.height)
    found = []
    for line in told:
        rect = _best(_places(line), rects, curves, page)
        if rect is not None:
            rects.add(rect)
            found.append(Word((rect.left + rect.right) / 2, rect.bottom - 0.09 * SIZE, SIZE, line.word))
    return found


def _best(places: Iterable[Rect], rects: Rects, curves: Curves, page: Rect) -> Rect | None:
    """The place where the least is in the way; none if that is more than one edge."""
    best, least = None, _HIT
    for rect in places:
        is_inside = page.left <= rect.left and rect.right <= page.right
        badness = 0 if is_inside and not rects.meeting(rect) else _HIT
        badness += curves.through(rect) if badness < least else 0
        if badness < least:
            best, least = rect, badness
        if not badness:
            break
    return best


def _borders(box: Rect) -> Iterator[Rect]:
    """The four lines of a box, with the air that a word needs beside a line."""
    left, top, right, bottom = box
    yield Rect(left, top - _AIR, right, top + _AIR)
    yield Rect(left, bottom - _AIR, right, bottom + _AIR)
    yield Rect(left - _AIR, top, left + _AIR, bottom)
    yield Rect(right - _AIR, top, right + _AIR, bottom)


def _places(line: Line) -> Iterator[Rect]:
    """Where the word could stand, the best place first."""
    wide, high = width(line.word, SIZE), (_DIGIT_HEIGHT + 0.18) * SIZE
    points = along(line.curve, _PLACES)
    for x, y in points:
        yield Rect(x + _GAP, y - high / 2, x + _GAP + wide, y + high / 2)
    for x, y in points:
        yield Rect(x - _GAP - wide, y - high / 2, x - _GAP, y + high / 2)
    (x0, y0), (x1, y1) = line.curve[0], line.curve[-1]
    if abs(x1 - x0) > abs(y1 - y0):
        for x, y in points:
            yield Rect(x - wide / 2, y - _GAP - high, x + wide / 2, y - _GAP)
