"""Checking what a styler said: a short list of attributes, each with its own values, all problems told at once.

The answer comes from code that is not ours and goes into markup, so nothing is passed on as it is: a colour becomes six
digits, a width a number, a line one of three words, and a label is text like any other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from torchrecorder.drawing.labels.labels import MAX_LINE, MAX_NAME
from torchrecorder.drawing.labels.names import clean
from torchrecorder.drawing.styles.colours import COLOURS
from torchrecorder.drawing.styles.facts import Picture

MAX_PROBLEMS = 8
MAX_PEN = 6.0
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_SHORT_HEX = re.compile(r"#[0-9a-fA-F]{3}")


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
    """What is changed of an edge."""

    line: str = ""
    pen: float = 0.0
    stroke: str = ""


class Styles(NamedTuple):
    """What is changed of a picture, in the order of its View."""

    nodes: Sequence[NodeStyle]
    boxes: Sequence[NodeStyle]
    edges: Sequence[EdgeStyle]


def read_styles(answer: Any, picture: Picture) -> tuple[Styles, list[str]]:
    """The styles that an answer gives, and what is wrong with it.

    Args:
        answer: What `ask` returned, perhaps after a way through JSON.
        picture: What was asked about.
    """
    reader = _Reader()
    nodes, boxes, edges = (_rows(answer, name) for name in ("nodes", "boxes", "edges"))
    asked = (len(picture.nodes), len(picture.boxes), len(picture.edges))
    if (len(nodes), len(boxes), len(edges)) != asked:
        return Styles([NodeStyle()] * asked[0], [NodeStyle()] * asked[1], [EdgeStyle()] * asked[2]), ["no answer"]
    labels = [node.label for node in picture.nodes]
    styles = Styles(
        [reader.node(row, f"style_node for {label!r}") for row, label in zip(nodes, labels, strict=True)],
        [reader.node(row, f"style_node for {box.label!r}") for row, box in zip(boxes, picture.boxes, strict=True)],
        [
            reader.edge(row, f"style_edge from {labels[tail]!r} to {labels[head]!r}")
            for row, (tail, head) in zip(edges, picture.edges, strict=True)
        ],
    )
    return styles, reader.said()


def _rows(answer: Any, name: str) -> list[Any]:
    rows = answer.get(name) if isinstance(answer, dict) else None
    return rows if isinstance(rows, list) else []


class _Reader:
    """Reads attributes; remembers each problem with the first thing that has it."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}

    def node(self, row: Any, where: str) -> NodeStyle:
        return NodeStyle(**self._values(row, where, _NODE))

    def edge(self, row: Any, where: str) -> EdgeStyle:
        return EdgeStyle(**self._values(row, where, _EDGE))

    def said(self) -> list[str]:
        """The problems, the first of many."""
        found = [f"{where} gave {what}" for what, where in self.problems.items()]
        more = len(found) - MAX_PROBLEMS
        return [*found[:MAX_PROBLEMS], *([f"and {more} more problems"] if more > 0 else [])]

    def _values(self, row: Any, where: str, known: Mapping[str, _Attribute]) -> dict[str, Any]:
        if row is None:
            return {}
        if not isinstance(row, Mapping):
            self._problem(f"{_shown(row)}: attributes by name are expected, as in {{'color': 'orange'}}", where)
            return {}
        found: dict[str, Any] = {}
        for name, value in row.items():
            attribute = known.get(name) if isinstance(name, str) else None
            if attribute is None:
                self._problem(_unknown(name, known), where)
                continue
            try:
                found[attribute.field] = attribute.read(value)
            except ValueError as error:
                self._problem(f"{name}={_shown(value)}: {error}", where)
        return found

    def _problem(self, what: str, where: str) -> None:
        self.problems.setdefault(what, where)


def _unknown(name: Any, known: Mapping[str, _Attribute]) -> str:
    near = get_close_matches(name, known, 1) if isinstance(name, str) else []
    advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return f"the attribute {_shown(name)}, {advice}"


def _shown(value: Any) -> str:
    return clean(repr(value), 60)


def _colour(value: Any) -> str:
    text = value.strip().lower() if isinstance(value, str) else ""
    if _HEX.fullmatch(text):
        return text
    if _SHORT_HEX.fullmatch(text):
        return "#" + "".join(2 * digit for digit in text[1:])
    if text in COLOURS:
        return COLOURS[text]
    near = get_close_matches(text, COLOURS, 1)
    raise ValueError("write #rrggbb or the name of a colour" + (f"; did you mean {near[0]}?" if near else ""))


def _label(value: Any) -> tuple[str, str]:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text is expected")
    name, _, line = value[: 8 * (MAX_NAME + MAX_LINE)].strip().replace("\r\n", "\n").partition("\n")
    return clean(name, MAX_NAME), clean(line.replace("\n", " "), MAX_LINE)


def _pen(value: Any) -> float:
    try:
        width = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        width = math.nan
    if not 0 < width <= MAX_PEN:
        raise ValueError(f"a width in points is expected, at most {MAX_PEN:g}")
    return round(width, 1) or 0.1


def _stroke(value: Any) -> str:
    if value not in ("solid", "dashed", "dotted"):
        raise ValueError("write solid, dashed or dotted")
    return str(value)


class _Attribute(NamedTuple):
    field: str
    read: Callable[[Any], Any]


_EDGE = {"color": _Attribute("line", _colour), "penwidth": _Attribute("pen", _pen)}
_EDGE["style"] = _Attribute("stroke", _stroke)
_NODE = {
    "label": _Attribute("label", _label),
    "fillcolor": _Attribute("fill", _colour),
    "fontcolor": _Attribute("ink", _colour),
    **_EDGE,
}
