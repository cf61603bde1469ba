"""Keeping edges off the titles of boxes.

Layout reserves a line for the title but lets edges run through it, since every edge into the box comes from above. A
title moves to the right end of its line if that is free; where no place is free, the edges have a gap there and pass
behind the words.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchrecorder.renderer.svg.drawing import Drawing, Figure, Word
from torchrecorder.renderer.svg.geometry import Rect
from torchrecorder.renderer.svg.metrics import width
from torchrecorder.renderer.svg.scene import Curves

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
    lefts = [box.rect.left + _INSET, max(box.rect.right - _INSET - length, box.rect.left + _INSET)]
    at_left, at_right = (_at(box, left, length, word) for left in lefts)
    crossing = curves.through(at_left.rect)
    return at_right if crossing and curves.through(at_right.rect) < crossing else at_left


def _length(word: Word) -> float:
    """How wide it is; its first part is bold."""
    name, dot, rest = word.text.partition(PARTS)
    return width(name, word.size, bold=True) + width(dot + rest, word.size)


def _at(box: Figure, left: float, length: float, word: Word) -> Title:
    top, bottom = word.y - 0.85 * word.size, word.y + 0.3 * word.size
    rect = Rect(left - 3, top, left + length + 3, bottom)
    return Title(left, word, rect, box.reference, box.before, box.style.ink)
