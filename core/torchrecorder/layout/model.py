"""A layout as plain data: nodes, boxes, lines and words, each with its place; and the words that this room uses.

y grows downwards; all numbers are points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

from torchrecorder.layout.geometry import Curve, Point, Rect
from torchrecorder.view.model import Mark

PAD = 4.5
"""Room around the picture, in points: lines are half as wide as they are drawn."""
PARTS = " · "
"""Between the name in a title, which is bold, and the rest."""
MAX_PEN = 6.0
"""Points of the widest line that a styler may ask for."""
KINDS = ("conv", "linear", "norm", "act", "pool", "attention", "io", "op", "block", "data", "link")
MARKS: tuple[Mark, ...] = get_args(Mark)
SHARED = ("shared1", "shared2", "shared3", "shared4")
"""Modules whose calls are drawn apart, each with a tag of its own."""
FLAGS = frozenset((*KINDS, *MARKS, *SHARED, "skip", "repeat", "box", "error", "styled", "decides", "back"))
"""What a node, a box or a line can be."""
_BEHIND = 1.0
_CORNER = (1 - 0.5**0.5) / 2
"""How far the largest rectangle in an ellipse is from the one around it, as a part of each side."""


class NodeStyle(NamedTuple):
    """What is changed of a node or box; what is empty stays as the theme has it."""

    label: tuple[str, str] | None = None
    """Its two lines, the second perhaps empty."""
    fill: str = ""
    line: str = ""
    ink: str = ""
    """Colour of its words."""
    pen: float = 0.0
    """Width of the line, in points."""
    stroke: str = ""
    """`solid`, `dashed` or `dotted`."""


class EdgeStyle(NamedTuple):
    line: str = ""
    pen: float = 0.0
    stroke: str = ""


class Styles(NamedTuple):
    """What is changed of a picture, in the order of its View."""

    nodes: Sequence[NodeStyle]
    boxes: Sequence[NodeStyle]
    edges: Sequence[EdgeStyle]


class Word(NamedTuple):
    x: float
    y: float
    size: float
    text: str


class Figure(NamedTuple):
    flags: frozenset[str]
    rect: Rect
    is_round: bool
    words: tuple[Word, ...]
    reference: str = ""
    """What it refers to, if it shows a layer: its class, with the call of a closed one behind `#`."""
    style: NodeStyle = NodeStyle()
    """What a styler changed."""
    before: int = 0
    """Of a box, the position of the first node in it; it is read before that one."""
    key: str = ""
    """Names it within the picture, for its details: `3` for a node, `b3` for a box."""

    @property
    def inner(self) -> Rect:
        """Where no edge is seen: one that leads on from behind a node was led through it by the engine."""
        left, top, right, bottom = self.rect
        corner = _CORNER if self.is_round else 0.0
        wide, high = _BEHIND + corner * self.rect.width, _BEHIND + corner * self.rect.height
        return Rect(left + wide, top + high, right - wide, bottom - high)


class Line(NamedTuple):
    flags: frozenset[str]
    curve: Curve
    tip: Point | None
    """Where its arrow ends; the arrow begins where the curve ends."""
    word: str
    style: EdgeStyle = EdgeStyle()
    ends: tuple[str, str] = ("", "")
    """The keys of the nodes that it joins."""
    at: Point | None = None
    """The middle of its word, if that has its place."""


@dataclass(frozen=True, slots=True)
class Title:
    left: float
    word: Word
    rect: Rect
    reference: str
    before: int
    """Position of the node that is read next."""
    ink: str = ""
    """Colour of the words; that of the page if empty."""
    is_rest: bool = False
    """Whether it goes on with a title that begins further to the left, so that nothing of it is a name."""
    key: str = ""
    """Of the box, as `Figure.key`."""


@dataclass(frozen=True, slots=True)
class Layout:
    width: float
    height: float
    boxes: list[Figure] = field(default_factory=list)
    nodes: list[Figure] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    titles: list[Title] | None = None
    """Those of the boxes, if they have their places and no line passes them; else `arrange` finds the places."""

    @property
    def is_wide(self) -> bool:
        return self.width > self.height
