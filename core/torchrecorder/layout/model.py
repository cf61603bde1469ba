"""A layout as plain data: nodes, boxes, lines and words, each with its place.

y grows downwards; all numbers are points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from torchrecorder.layout.geometry import Curve, Point, Rect

if TYPE_CHECKING:  # a build whose pictures are kept knows no Views
    from torchrecorder.request.requests import ThemeName
    from torchrecorder.view.model import Mark

PAD = 4.5
"""Room around the picture, in points: lines are half as wide as they are drawn."""
PX = 4 / 3
"""CSS pixels in a point."""
PARTS = " · "
"""Between the name in a title, which is bold, and the rest."""
LINE_HEIGHT, BASE = 1.2, 0.34
"""Distance of base lines, and how far one lies under the middle of its line; as parts of the size."""
MAX_PEN = 6.0
"""Points of the widest line that a styler may ask for."""
KINDS = ("conv", "linear", "norm", "act", "pool", "attention", "io", "op", "block", "data", "link")
MARKS: tuple[Mark, ...] = ("added", "removed", "changed", "moved")
SHARED = ("shared1", "shared2", "shared3", "shared4")
"""Modules whose calls are drawn apart, each with a tag of its own."""
FLAGS = frozenset((*KINDS, *MARKS, *SHARED, "skip", "repeat", "box", "error", "styled", "decides", "back"))
"""What a node, a box or a line can be."""
_BEHIND = 1.0  # points, the width of an outline
_CORNER = (1 - 0.5**0.5) / 2
"""How far the largest rectangle in an ellipse is from the one around it, as a part of each side."""


class NodeStyle(NamedTuple):
    """A styler's changes to a node or box; what is empty stays as the theme has it."""

    label: tuple[str, str] | None = None
    """Its two lines, the second perhaps empty."""
    fill: str = ""
    line: str = ""
    ink: str = ""
    pen: float = 0.0
    """Points."""
    stroke: str = ""
    """`solid`, `dashed` or `dotted`."""


class EdgeStyle(NamedTuple):
    line: str = ""
    pen: float = 0.0
    stroke: str = ""


class Styles(NamedTuple):
    """A styler's changes to a picture, in the order of its View."""

    nodes: Sequence[NodeStyle]
    boxes: Sequence[NodeStyle]
    edges: Sequence[EdgeStyle]


class Word(NamedTuple):
    x: float
    y: float
    size: float
    text: str

    def moved(self, x: float, y: float) -> Word:
        return self._replace(x=self.x + x, y=self.y + y)


def words_around(x: float, y: float, size: float, lines: Iterable[str]) -> tuple[Word, ...]:
    """Lines of text around a middle."""
    shown = [line for line in lines if line]
    step = size * LINE_HEIGHT
    top = y - (len(shown) - 1) / 2 * step + size * BASE
    return tuple([Word(x, top + i * step, size, line) for i, line in enumerate(shown)])


class Figure(NamedTuple):
    flags: frozenset[str]
    rect: Rect
    is_round: bool
    words: tuple[Word, ...]
    reference: str = ""
    """What it refers to, if it shows a layer: its class, with the call of a closed one behind `#`."""
    style: NodeStyle = NodeStyle()
    before: int = 0
    """Of a box, the position of the first node in it."""
    key: str = ""
    """Names it within the picture, for its details: `3` for a node, `b3` for a box."""

    @property
    def inner(self) -> Rect:
        """The part that hides edges: one that leads on from behind a node was led through it by the engine."""
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
    seen: list[Curve] | None = None
    """Its parts that do not lie behind words or nodes, if not all of it is seen."""
    part: str = ""
    """Which part of its data it carries, for a word where it ends; a layout that is kept has the word alone."""

    @property
    def parts(self) -> list[Curve]:
        return [self.curve] if self.seen is None else self.seen


class Title(NamedTuple):
    left: float
    word: Word
    rect: Rect
    reference: str
    before: int
    """Position of the node that is read next."""
    ink: str = ""
    is_rest: bool = False
    """Whether it continues a title that begins further to the left, so nothing of it is a name."""
    key: str = ""

    @property
    def spans(self) -> list[tuple[str, bool]]:
        """Its words, each part with whether it is bold, as names are."""
        name, dot, rest = ("", "", self.word.text) if self.is_rest else self.word.text.partition(PARTS)
        return [(name, True), (dot + rest, False)]


def title_rect(left: float, base: float, size: float, length: float) -> Rect:
    """The place of a title, with air at its ends."""
    return Rect(left - 3.0, base - 0.85 * size, left + length + 3.0, base + 0.3 * size)


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture as data; `finished` sets what stands below `titles`, and every writer begins from there."""

    width: float
    height: float
    boxes: list[Figure] = field(default_factory=list)
    nodes: list[Figure] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    titles: list[Title] | None = None
    """Those of the boxes, if they have their places and no line passes them; else `finished` finds the places."""
    words: list[Word] = field(default_factory=list)
    """Those beside lines."""
    uid: str = ""
    """Prefix of all ids."""
    title: str = ""
    description: str = ""
    theme: ThemeName = "modern"
    grey: bool = False

    @property
    def is_wide(self) -> bool:
        return self.width > self.height

    @property
    def is_diff(self) -> bool:
        """Whether colours say what became of a thing."""
        flags = (thing.flags for things in (self.nodes, self.boxes, self.lines) for thing in things)
        return any(mark in own for own in flags for mark in MARKS)

    @property
    def size_px(self) -> tuple[float, float]:
        """CSS pixels."""
        return round(self.width * PX, 1), round(self.height * PX, 1)
