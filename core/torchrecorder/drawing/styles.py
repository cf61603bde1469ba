"""Checking what a styler answered: a short list of attributes, each with its own values, all problems reported at once.

The answer comes from code that is not ours and goes into markup, so nothing is passed on as it is: a colour becomes six
digits, a width a number, a line one of three words, and a label is text like any other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torchrecorder.errors import did_you_mean
from torchrecorder.labels.labels import MAX_LINE, MAX_NAME
from torchrecorder.labels.names import clean
from torchrecorder.layout.model import MAX_PEN, EdgeStyle, NodeStyle, Styles
from torchrecorder.request.stylers import StylerInput

MAX_PROBLEMS = 8
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_SHORT_HEX = re.compile(r"#[0-9a-fA-F]{3}")


def check_styles(answer: object, given: StylerInput) -> tuple[Styles, list[str]]:
    """The styles that an answer gives, and what is wrong with it."""
    found = [answer.get(name) if isinstance(answer, dict) else None for name in ("nodes", "boxes", "edges")]
    nodes, boxes, edges = (rows if isinstance(rows, list) else [] for rows in found)
    asked = (len(given.nodes), len(given.boxes), len(given.edges))
    if (len(nodes), len(boxes), len(edges)) != asked:
        return Styles([NodeStyle()] * asked[0], [NodeStyle()] * asked[1], [EdgeStyle()] * asked[2]), ["no answer"]
    reader = _StyleReader()
    things = zip((*nodes, *boxes), (*given.nodes, *given.boxes), strict=True)
    styles = [NodeStyle(**reader.read(row, _NODE, f"style_node for {it.label!r}")) for row, it in things]
    labels = [node.label for node in given.nodes]
    of_edges = [
        EdgeStyle(**reader.read(row, _EDGE, f"style_edge from {labels[tail]!r} to {labels[head]!r}"))
        for row, (tail, head) in zip(edges, given.edges, strict=True)
    ]
    problems = [f"{where} gave {what}" for what, where in reader.problems.items()]
    if (more := len(problems) - MAX_PROBLEMS) > 0:
        problems[MAX_PROBLEMS:] = [f"and {more} more problems"]
    return Styles(styles[: len(nodes)], styles[len(nodes) :], of_edges), problems


class _StyleReader:
    """Reads attributes; remembers each problem with the first thing that has it."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}

    def read(self, row: object, known: Mapping[str, _Attribute], where: str) -> dict[str, Any]:
        if row is None:
            return {}
        if not isinstance(row, Mapping):
            expected = "attributes by name are expected, as in {'color': 'orange'}"
            self.problems.setdefault(f"{_shown(row)}: {expected}", where)
            return {}
        found: dict[str, Any] = {}
        for name, value in row.items():
            attribute = known.get(name) if isinstance(name, str) else None
            if attribute is None:
                advice = did_you_mean(str(name), known, f"the known ones are {', '.join(known)}")
                self.problems.setdefault(f"the attribute {_shown(name)}, {advice}", where)
                continue
            try:
                found[attribute.field] = attribute.read(value)
            except ValueError as error:
                self.problems.setdefault(f"{name}={_shown(value)}: {error}", where)
        return found


def _shown(value: object) -> str:
    return clean(repr(value), 60)


def _colour(value: object) -> str:
    text = value.strip().lower() if isinstance(value, str) else ""
    if _HEX.fullmatch(text):
        return text
    if _SHORT_HEX.fullmatch(text):
        return "#" + "".join(2 * digit for digit in text[1:])
    if text in COLOURS:
        return COLOURS[text]
    raise ValueError(f"write #rrggbb or the name of a colour{did_you_mean(text, COLOURS, lead='; ')}")


def _label(value: object) -> tuple[str, str]:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a str is expected")
    name, _, line = value[: 8 * (MAX_NAME + MAX_LINE)].strip().replace("\r\n", "\n").partition("\n")
    return clean(name, MAX_NAME), clean(line.replace("\n", " "), MAX_LINE)


def _pen(value: object) -> float:
    try:
        width = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        width = math.nan
    if not 0 < width <= MAX_PEN:
        raise ValueError(f"a width in points is expected, at most {MAX_PEN:g}")
    return round(width, 1) or 0.1


def _stroke(value: object) -> str:
    if value not in ("solid", "dashed", "dotted"):
        raise ValueError("write solid, dashed or dotted")
    return str(value)


class _Attribute(NamedTuple):
    field: str
    read: Callable[[object], str | float | tuple[str, str]]


_EDGE = {"color": _Attribute("line", _colour), "penwidth": _Attribute("pen", _pen)}
_EDGE["style"] = _Attribute("stroke", _stroke)
_NODE = {
    "label": _Attribute("label", _label),
    "fillcolor": _Attribute("fill", _colour),
    "fontcolor": _Attribute("ink", _colour),
    **_EDGE,
}

COLOURS = {
    "aqua": "#00ffff",
    "black": "#000000",
    "blue": "#0000ff",
    "brown": "#a52a2a",
    "cyan": "#00ffff",
    "darkblue": "#00008b",
    "darkgreen": "#006400",
    "darkolivegreen": "#556b2f",
    "darkorange": "#ff8c00",
    "darkred": "#8b0000",
    "fuchsia": "#ff00ff",
    "gold": "#ffd700",
    "gray": "#808080",
    "green": "#008000",
    "grey": "#808080",
    "indigo": "#4b0082",
    "lightblue": "#add8e6",
    "lightgray": "#d3d3d3",
    "lightgreen": "#90ee90",
    "lightgrey": "#d3d3d3",
    "lightpink": "#ffb6c1",
    "lightyellow": "#ffffe0",
    "lime": "#00ff00",
    "magenta": "#ff00ff",
    "maroon": "#800000",
    "navy": "#000080",
    "olive": "#808000",
    "orange": "#ffa500",
    "pink": "#ffc0cb",
    "purple": "#800080",
    "red": "#ff0000",
    "salmon": "#fa8072",
    "silver": "#c0c0c0",
    "skyblue": "#87ceeb",
    "steelblue": "#4682b4",
    "tan": "#d2b48c",
    "teal": "#008080",
    "tomato": "#ff6347",
    "violet": "#ee82ee",
    "white": "#ffffff",
    "yellow": "#ffff00",
}
"""The colours that have a name: those of HTML, and those of torchrecorder 1.0.3's own styler. Graphviz knows hundreds
and browsers others under the same names (`green` is two colours), so there is a short list."""
