"""Reading what an engine laid out: positions and sizes, and our own words back.

The engine writes JSON. Positions become numbers, classes are looked up in a list, and words are those that we gave it,
so nothing of an engine's own reaches a page, whatever it writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from torchrecorder.drawing.styles.answer import MAX_PEN, EdgeStyle, NodeStyle
from torchrecorder.drawing.svg.geometry import Curve, Point, Rect, is_straight
from torchrecorder.drawing.svg.palette import COLOURS
from torchrecorder.errors import EngineError

PAD = 4.5
"""Room around the picture, in points: lines are half as wide as they are drawn."""
_FLAGS = frozenset((*COLOURS, "repeat", "box", "error", "styled"))
_MAX_SUM = 1e8
"""Of the numbers in a position or a curve."""
_LINE_HEIGHT, _BASE = 1.2, 0.34
"""Distance of base lines, and how far one lies under the middle of its line; as parts of the size."""
_INCH = 72.0
_USUAL_SIZE = 10.5
_ROUND = ("circle", "ellipse")
_ESCAPED = re.compile(r"\\(.)|&amp;", re.DOTALL)


class Word(NamedTuple):
    """A line of text; `x` is its middle, `y` its base line."""

    x: float
    y: float
    size: float
    text: str


class Figure(NamedTuple):
    """A box or a node."""

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


class Line(NamedTuple):
    """An edge."""

    flags: frozenset[str]
    curve: Curve
    tip: Point | None
    """Where its arrow ends; the arrow begins where the curve ends."""
    word: str
    style: EdgeStyle = EdgeStyle()


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a picture consists of."""

    width: float
    height: float
    boxes: list[Figure] = field(default_factory=list)
    nodes: list[Figure] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    @property
    def is_wide(self) -> bool:
        """Whether it is wider than high."""
        return self.width > self.height


def read_drawing(layout: str) -> Drawing:
    """What the engine laid out.

    Raises:
        EngineError: The text is no layout as Graphviz writes it.
    """
    try:
        data = json.loads(layout)
        left, bottom, right, top = _numbers(data["bb"], 4)
        reader = _Reader(PAD - left, PAD + top)
        drawing = Drawing(right - left + 2 * PAD, top - bottom + 2 * PAD)
        rows = sorted(data.get("objects", ()), key=_turn)
        reader.order = {row.get("_gvid"): i for i, row in enumerate(row for row in rows if "pos" in row)}
        for row in rows:
            reader.figure(row, drawing)
        drawing.lines.extend(reader.line(row) for row in data.get("edges", ()))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise EngineError(engine="Graphviz", reason=f"its output cannot be read: {error}") from error
    return drawing


def _turn(row: Mapping[str, Any]) -> int:
    """The place of a node in the forward, in whose order the Tab key visits links; engines list them box by box."""
    name = str(row.get("name"))
    return int(name[1:]) if name[:1] == "n" and name[1:].isdecimal() else -1


class _Reader:
    """Moves everything so that the picture begins at 0, 0 and y grows downwards."""

    def __init__(self, dx: float, dy: float) -> None:
        self.dx, self.dy = dx, dy
        self.order: dict[object, int] = {}
        """The positions of the nodes by the engine's numbers."""

    def figure(self, row: Mapping[str, Any], drawing: Drawing) -> None:
        """Adds a node or a box; other groups have no place of their own."""
        if "pos" in row:
            drawing.nodes.append(self._node(row))
        elif "bb" in row and str(row["name"]).startswith("cluster"):
            drawing.boxes.append(self._box(row))

    def line(self, row: Mapping[str, Any]) -> Line:
        """An edge; one that cannot be told from a straight line is one."""
        text = row["pos"]
        has_tip = text.startswith("e,")
        curve = self._points(text[2:] if has_tip else text)
        tip = curve.pop(0) if has_tip else None
        if len(curve) % 3 != 1 or len(curve) < 4:
            raise ValueError(f"a curve has {len(curve)} points")
        flags = _flags(row)
        style = EdgeStyle(**_lines_style(row)) if "styled" in flags else _NO_EDGE_STYLE
        return Line(flags, [curve[0], curve[-1]] if is_straight(curve) else curve, tip, _about(row), style)

    def _node(self, row: Mapping[str, Any]) -> Figure:
        place = f"{row['pos']},{row['width']},{row['height']},{row.get('fontsize', _USUAL_SIZE)}"
        x, y, wide, high, size = _numbers(place, 5)
        x, y, wide, high = x + self.dx, self.dy - y, wide * _INCH / 2, high * _INCH / 2
        words = _at(x, y, size, _lines(row.get("label", "")))
        rect = Rect(x - wide, y - high, x + wide, y + high)
        flags = _flags(row)
        return Figure(flags, rect, row.get("shape") in _ROUND, words, _about(row), _style(row, flags))

    def _box(self, row: Mapping[str, Any]) -> Figure:
        left, bottom, right, top = _numbers(row["bb"], 4)
        rect = Rect(left + self.dx, self.dy - top, right + self.dx, self.dy - bottom)
        text = _plain(row.get("label", ""))
        ((x, y),) = self._points(row["lp"]) if text else ((0.0, 0.0),)
        first = min((self.order[node] for node in row.get("nodes", ()) if node in self.order), default=0)
        words, flags = _at(x, y, _USUAL_SIZE, [text]), _flags(row)
        return Figure(flags, rect, False, words, _about(row), _style(row, flags), first)

    def _points(self, text: str) -> list[Point]:
        numbers = _numbers(text.replace(" ", ","))
        dx, dy = self.dx, self.dy
        return [(x + dx, dy - y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def _at(x: float, y: float, size: float, lines: Iterable[str]) -> tuple[Word, ...]:
    """Lines of text around a middle."""
    seen = [line for line in lines if line]
    step = size * _LINE_HEIGHT
    top = y - (len(seen) - 1) / 2 * step + size * _BASE
    return tuple([Word(x, top + i * step, size, line) for i, line in enumerate(seen)])


def _flags(row: Mapping[str, Any]) -> frozenset[str]:
    return _listed(str(row.get("class", "")))


@lru_cache(maxsize=256)
def _listed(classes: str) -> frozenset[str]:
    return frozenset(classes.split()) & _FLAGS


_NO_STYLE, _NO_EDGE_STYLE = NodeStyle(), EdgeStyle()
_HEX = re.compile(r"#[0-9a-f]{6}")


def _style(row: Mapping[str, Any], flags: frozenset[str]) -> NodeStyle:
    """What a styler changed; read with care again, because an engine stands between."""
    if "styled" not in flags:
        return _NO_STYLE
    return NodeStyle(fill=_hex(row, "fillcolor"), ink=_hex(row, "fontcolor"), **_lines_style(row))


def _lines_style(row: Mapping[str, Any]) -> dict[str, Any]:
    (pen,) = _numbers(row.get("penwidth", "0"), 1)
    stroke = next((word for word in ("dashed", "dotted") if word in row.get("style", "")), "")
    return {"line": _hex(row, "color"), "pen": min(max(pen, 0.0), MAX_PEN), "stroke": stroke}


def _hex(row: Mapping[str, Any], name: str) -> str:
    text = row.get(name, "")
    return text if _HEX.fullmatch(text) else ""


def _about(row: Mapping[str, Any]) -> str:
    """What a thing says besides its label: an edge its shape, a node or box its class."""
    return _plain(row.get("comment", ""))


def _lines(label: str) -> list[str]:
    """The lines of a label: an escaped line break parts them, an escaped backslash does not."""
    if "\\\\" not in label:
        return [_plain(line) for line in label.split("\\n")]
    parted = re.sub(r"\\\\|\\n", lambda found: found[0] if found[0] == "\\\\" else "\n", label)
    return [_plain(line) for line in parted.split("\n")]


def _plain(text: str) -> str:
    """The text that was escaped for the engine."""
    text = str(text)
    if "\\" in text or "&" in text:
        text = _ESCAPED.sub(lambda found: found[1] or "&", text)
    return text.strip()


def _numbers(text: str, n: int | None = None) -> list[float]:
    numbers = [*map(float, text.split(","))]
    if not sum(map(abs, numbers)) < _MAX_SUM or n not in (None, len(numbers)):  # also if one is not a number
        raise ValueError(f"{text[:40]} is no position")
    return numbers
