"""Reading an engine's SVG: only positions, sizes and words are taken out of it.

Nothing of the engine's markup reaches the page. Numbers become numbers, text becomes text, classes are looked up in a
list, and the picture is written anew; so an engine that lets a script through, as old versions of Graphviz do, or a
broken one, cannot put anything into a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

from torchrecorder.errors import EngineError
from torchrecorder.renderer.svg.geometry import Curve, Point, Rect, around
from torchrecorder.renderer.svg.palette import COLOURS

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_COMMAND = re.compile(r"[A-Za-z]")
_FLAGS = frozenset((*COLOURS, "repeat", "box", "error"))
_MAX_NUMBER = 1e6


@dataclass(frozen=True, slots=True)
class Word:
    """A line of text; `x` is its middle, `y` its base line."""

    x: float
    y: float
    size: float
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A box or a node."""

    flags: frozenset[str]
    rect: Rect
    is_round: bool
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """An edge."""

    flags: frozenset[str]
    curve: Curve
    head: tuple[Point, ...]
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a picture consists of."""

    width: float
    height: float
    boxes: list[Figure] = field(default_factory=list)
    nodes: list[Figure] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


def read_drawing(svg: str) -> Drawing:
    """What the engine drew.

    Raises:
        EngineError: The text is no SVG as Graphviz writes it.
    """
    try:
        root = ElementTree.fromstring(_without_doctype(svg))
        box = _numbers(root.get("viewBox", ""))
        graph = next(child for child in root if _tag(child) == "g")
        move = _numbers(graph.get("transform", "").rpartition("translate")[2])
        return _Reader(move[0], move[1]).drawing(graph, box[2], box[3])
    except (ElementTree.ParseError, StopIteration, IndexError, ValueError) as error:
        raise EngineError(engine="SVG", reason=f"its output cannot be read: {error}") from error


def _without_doctype(svg: str) -> str:
    """The text without its document type, so that no entity can be declared."""
    start = svg.find("<svg")
    if start < 0:
        raise ValueError("there is no <svg> in it")
    return svg[start:]


class _Reader:
    """Reads groups and moves everything so that the picture begins at 0, 0."""

    def __init__(self, dx: float, dy: float) -> None:
        self.dx, self.dy = dx, dy

    def drawing(self, graph: ElementTree.Element, width: float, height: float) -> Drawing:
        drawing = Drawing(width, height)
        for group in graph:
            kind, *flags = group.get("class", "").split() or [""]
            found = frozenset(flags) & _FLAGS
            if kind == "edge":
                drawing.lines.extend(self._lines(group, found))
            elif kind in ("node", "cluster"):
                place = drawing.nodes if kind == "node" else drawing.boxes
                place.extend(self._figures(group, found))
        return drawing

    def _figures(self, group: ElementTree.Element, flags: frozenset[str]) -> Iterator[Figure]:
        parts = _parts(group)
        for tag in ("path", "polygon", "ellipse"):
            for element in parts.get(tag, [])[:1]:
                rect = self._ellipse(element) if tag == "ellipse" else around(self._points(element))
                yield Figure(flags, rect, tag == "ellipse", self._words(parts))
                return

    def _lines(self, group: ElementTree.Element, flags: frozenset[str]) -> Iterator[Line]:
        parts = _parts(group)
        heads = parts.get("polygon")
        for path in parts.get("path", [])[:1]:
            curve = self._points(path)
            if len(curve) % 3 == 1:
                yield Line(flags, curve, tuple(self._points(heads[0])) if heads else (), self._words(parts))

    def _words(self, parts: Mapping[str, list[ElementTree.Element]]) -> tuple[Word, ...]:
        return tuple(self._word(element) for element in parts.get("text", ()) if (element.text or "").strip())

    def _word(self, element: ElementTree.Element) -> Word:
        x, y, size = _numbers(" ".join(element.get(key, "0") for key in ("x", "y", "font-size")))
        return Word(x + self.dx, y + self.dy, size, (element.text or "").strip())

    def _ellipse(self, element: ElementTree.Element) -> Rect:
        cx, cy, rx, ry = _numbers(" ".join(element.get(key, "") for key in ("cx", "cy", "rx", "ry")))
        cx, cy = cx + self.dx, cy + self.dy
        return Rect(cx - rx, cy - ry, cx + rx, cy + ry)

    def _points(self, element: ElementTree.Element) -> list[Point]:
        text = element.get("d") or element.get("points") or ""
        if set(_COMMAND.findall(text)) - set("MCLZz"):
            raise ValueError(f"an outline has signs other than M, C, L and Z: {text[:40]}")
        numbers = _numbers(text)
        dx, dy = self.dx, self.dy
        return [(x + dx, y + dy) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def _parts(group: ElementTree.Element) -> dict[str, list[ElementTree.Element]]:
    """What is in a group, also within links, by tag."""
    found: dict[str, list[ElementTree.Element]] = {}
    for element in group.iter():
        if isinstance(element.tag, str):
            found.setdefault(_tag(element), []).append(element)
    return found


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _numbers(text: str) -> list[float]:
    numbers = [*map(float, _NUMBER.findall(text))]
    if numbers and not -_MAX_NUMBER < min(numbers) <= max(numbers) < _MAX_NUMBER:
        raise ValueError(f"{text[:40]} is no position")
    return numbers
