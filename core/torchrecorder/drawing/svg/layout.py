"""Reading what an engine laid out: positions and sizes, and our own words back.

The engine writes JSON. Positions become numbers, classes are looked up in a list, and words are those that we gave it,
so nothing of an engine's own reaches a page, whatever it writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torchrecorder.drawing.styles import MAX_PEN, EdgeStyle, NodeStyle
from torchrecorder.drawing.svg.geometry import Curve, Point, Rect, is_straight
from torchrecorder.drawing.svg.themes import COLOURS
from torchrecorder.errors import EngineError

PAD = 4.5
"""Room around the picture, in points: lines are half as wide as they are drawn."""
_FLAGS = frozenset((*COLOURS, "repeat", "box", "error", "styled", "decides", "back"))
_MAX_SUM = 1e8
"""Of the numbers in a position or a curve."""
_LINE_HEIGHT, _BASE = 1.2, 0.34
"""Distance of base lines, and how far one lies under the middle of its line; as parts of the size."""
_INCH = 72.0
_USUAL_SIZE = 10.5
_BEHIND = 1.0
_CORNER = (1 - 0.5**0.5) / 2
"""How far the largest rectangle in an ellipse is from the one around it, as a part of each side."""
_ESCAPED = re.compile(r"\\(.)|&amp;", re.DOTALL)
_NAME = re.compile(r"n(([A-Z]?)(\d+))")
_CLUSTER = re.compile(r"cluster_([A-Z]?)(\d+)")
_HEX = re.compile(r"#[0-9a-f]{6}")


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


NO_ROOM = Rect(0, 0, 0, 0)


def read_layout(text: str, room: Rect = NO_ROOM) -> Layout:
    """What the engine laid out, with so much more room at each side than the engine says."""
    try:
        return _LayoutReader(json.loads(text), room).layout
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise EngineError(engine="Graphviz", reason=f"its output cannot be read: {error}") from error


class _LayoutReader:
    """Moves everything so that the picture begins at 0, 0 and y grows downwards."""

    def __init__(self, data: Mapping[str, Any], room: Rect) -> None:
        left, bottom, right, top = _numbers(data["bb"], 4)
        left, bottom, right, top = left - room.left, bottom - room.bottom, right + room.right, top + room.top
        self.dx, self.dy = PAD - left, PAD + top
        self.layout = Layout(right - left + 2 * PAD, top - bottom + 2 * PAD)
        # nodes in the order of the forward, in which the Tab key visits links; engines list them box by box
        names = ((row, _NAME.fullmatch(str(row.get("name")))) for row in data.get("objects", ()))
        rows = [
            row for row, _ in sorted(names, key=lambda pair: (pair[1][2], int(pair[1][3])) if pair[1] else ("", -1))
        ]
        self.order = {row.get("_gvid"): i for i, row in enumerate(row for row in rows if "pos" in row)}
        """The positions of the nodes by the engine's numbers."""
        self.keys = {row.get("_gvid"): name[1] for row in rows if (name := _NAME.fullmatch(str(row.get("name"))))}
        for row in rows:
            if "pos" in row:
                self.layout.nodes.append(self.node(row))
            elif "bb" in row and str(row["name"]).startswith("cluster"):  # other groups have no place of their own
                self.layout.boxes.append(self.box(row))
        drawn = (row for row in data.get("edges", ()) if row.get("style") != "invis")  # those keep nodes in order
        self.layout.lines.extend(self.line(row) for row in drawn)

    def node(self, row: Mapping[str, Any]) -> Figure:
        place = f"{row['pos']},{row['width']},{row['height']},{row.get('fontsize', _USUAL_SIZE)}"
        x, y, wide, high, size = _numbers(place, 5)
        x, y, wide, high = x + self.dx, self.dy - y, wide * _INCH / 2, high * _INCH / 2
        # an escaped line break parts the lines of a label, an escaped backslash does not
        label = re.sub(r"\\\\|\\n", lambda found: found[0] if found[0] == "\\\\" else "\n", row.get("label", ""))
        words = _words(x, y, size, map(_plain, label.split("\n")))
        rect = Rect(x - wide, y - high, x + wide, y + high)
        is_round = row.get("shape") in ("circle", "ellipse")
        reference, key = _plain(row.get("comment", "")), self.keys.get(row.get("_gvid"), "")
        return Figure(_flags(row), rect, is_round, words, reference, _style(row), key=key)

    def box(self, row: Mapping[str, Any]) -> Figure:
        left, bottom, right, top = _numbers(row["bb"], 4)
        rect = Rect(left + self.dx, self.dy - top, right + self.dx, self.dy - bottom)
        text = _plain(row.get("label", ""))
        ((x, y),) = self._points(row["lp"]) if text else ((0.0, 0.0),)
        first = min((self.order[node] for node in row.get("nodes", ()) if node in self.order), default=0)
        words = _words(x, y, _USUAL_SIZE, [text])
        cluster = _CLUSTER.fullmatch(str(row["name"]))
        key = f"{cluster[1]}b{cluster[2]}" if cluster else ""
        return Figure(_flags(row), rect, False, words, _plain(row.get("comment", "")), _style(row), first, key)

    def line(self, row: Mapping[str, Any]) -> Line:
        """An edge; one that looks like a straight line is one."""
        text = row["pos"]
        curve = self._points(text.removeprefix("e,"))
        tip = curve.pop(0) if text.startswith("e,") else None
        if len(curve) % 3 != 1 or len(curve) < 4:
            raise ValueError(f"a curve has {len(curve)} points")
        styled = EdgeStyle(**_line_style(row)) if "styled" in _flags(row) else EdgeStyle()
        shown = [curve[0], curve[-1]] if is_straight(curve) else curve
        ends = self.keys.get(row.get("tail"), ""), self.keys.get(row.get("head"), "")
        return Line(_flags(row), shown, tip, _plain(row.get("comment", "")), styled, ends)

    def _points(self, text: str) -> list[Point]:
        numbers = _numbers(text.replace(" ", ","))
        return [(x + self.dx, self.dy - y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def _words(x: float, y: float, size: float, lines: Iterable[str]) -> tuple[Word, ...]:
    """Lines of text around a middle."""
    seen = [line for line in lines if line]
    step = size * _LINE_HEIGHT
    top = y - (len(seen) - 1) / 2 * step + size * _BASE
    return tuple([Word(x, top + i * step, size, line) for i, line in enumerate(seen)])


def _flags(row: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(str(row.get("class", "")).split()) & _FLAGS


def _style(row: Mapping[str, Any]) -> NodeStyle:
    """What a styler changed; read with care again, because an engine stands between."""
    if "styled" not in _flags(row):
        return NodeStyle()
    return NodeStyle(fill=_hex(row, "fillcolor"), ink=_hex(row, "fontcolor"), **_line_style(row))


def _line_style(row: Mapping[str, Any]) -> dict[str, Any]:
    (pen,) = _numbers(row.get("penwidth", "0"), 1)
    stroke = next((word for word in ("dashed", "dotted") if word in row.get("style", "")), "")
    return {"line": _hex(row, "color"), "pen": min(max(pen, 0.0), MAX_PEN), "stroke": stroke}


def _hex(row: Mapping[str, Any], name: str) -> str:
    text = row.get(name, "")
    return text if _HEX.fullmatch(text) else ""


def _plain(text: object) -> str:
    """The text that was escaped for the engine."""
    return _ESCAPED.sub(lambda found: found[1] or "&", str(text)).strip()


def _numbers(text: str, n: int | None = None) -> list[float]:
    numbers = [*map(float, text.split(","))]
    if not sum(map(abs, numbers)) < _MAX_SUM or n not in (None, len(numbers)):  # also if one is not a number
        raise ValueError(f"{text[:40]} is not a valid position")
    return numbers
