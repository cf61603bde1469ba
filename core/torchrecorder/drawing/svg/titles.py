"""Keeping edges off the titles of boxes.

Layout reserves a line for the title but lets edges run through it, since every edge into the box comes from above. A
title moves to the right end of its line if that is free; where no place is free, the edges have a gap there and pass
behind the words.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchrecorder.drawing.svg.drawing import Drawing, Figure, Word
from torchrecorder.drawing.svg.geometry import Rect
from torchrecorder.drawing.svg.metrics import width
from torchrecorder.drawing.svg.scene import Curves

_INSET = 9.0
PARTS = " · "
"""Between the name, which is bold, and the rest."""


@dataclass(frozen=True, slots=True)
class Title:
    """A title at its place; `left` is where it begins."""

    left: float
    word: Word
    rect: Rect
    reference: str
    before: int
    """Position of the node that is read next."""
    ink: str = ""
    """Colour of the words; that of the page if empty."""


def place_titles(drawing: Drawing, curves: Curves) -> list[Title]:
    """The titles of all boxes, each where the fewest edges are."""
    return [_place(box, word, curves) for box in drawing.boxes for word in box.words[:1]]


def _place(box: Figure, word: Word, curves: Curves) -> Title:
    length = _length(word)
    left = box.rect.left + _INSET
    right = max(box.rect.right - _INSET - length, left)
    rect = _around(word, left, length)
    crossing = curves.through(rect)
    if crossing and curves.through(at_right := _around(word, right, length)) < crossing:
        left, rect = right, at_right
    return Title(left, word, rect, box.reference, box.before, box.style.ink)


def _length(word: Word) -> float:
    """How wide it is; its first part is bold."""
    name, dot, rest = word.text.partition(PARTS)
    return width(name, word.size, bold=True) + width(dot + rest, word.size)


def _around(word: Word, left: float, length: float) -> Rect:
    """Where the title is seen if it begins at `left`."""
    return Rect(left - 3, word.y - 0.85 * word.size, left + length + 3, word.y + 0.3 * word.size)
