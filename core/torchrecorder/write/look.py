"""What a picture looks like: colours, corners and lines by kind, and what a user's styler changes of them.

Colours are CSS variables for pages, and numbers for everything else. The middle tones are chosen to be seen on white
and on near-black alike; a node is filled with its colour at low opacity under text in the page's own colour, so that
one picture is right in light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torchrecorder.layout.model import EdgeStyle, NodeStyle
from torchrecorder.request.requests import ThemeName

COLOURS: dict[str, str] = {
    "conv": "#3b82c4",
    "linear": "#7c6cd6",
    "norm": "#2a9d8f",
    "act": "#d98e04",
    "pool": "#5a9e3e",
    "attention": "#c2528b",
    "io": "#7d8590",
    "op": "#7d8590",
    "block": "#7d8590",
    "data": "#7d8590",
    "link": "#d98e04",
    "skip": "#d98e04",
    "error": "#d1242f",
    "added": "#1a85d6",
    "removed": "#d9480f",
    "changed": "#9a7d0a",
    "moved": "#8a63d2",
    "shared1": "#b0577f",
    "shared2": "#4f8f6b",
    "shared3": "#5b7bb5",
    "shared4": "#a3742f",
}
"""Colour by kind, of `skip` edges, of calls that failed (`error`), of what a diff marks, and of the signs of modules
that are called in several places: readers who see no red and green apart see blue and orange."""

FONT = "Helvetica,Arial,'Liberation Sans',Arimo,'Nimbus Sans',sans-serif"
"""Fonts as wide as the one that layout reckons with."""

_DASHES = {"dashed": "5 3", "dotted": "1.5 2"}
_BOX_OPACITY = ".2"
"""A box is tinted only: what stands in it has the colours of the page."""
_MIDDLE = 0.18
"""The luminance on which black and white words are seen equally well."""


def variable(kind: str) -> str:
    """The colour as a CSS variable that a site may set: `var(--torchrecorder-conv,#3b82c4)`."""
    return f"var(--torchrecorder-{kind},{COLOURS[kind]})"


@dataclass(frozen=True, slots=True)
class Paint:
    fill: str
    opacity: str
    stroke: str
    ink: str = ""
    """Colour of its words; that of the page if empty."""


@dataclass(frozen=True, slots=True)
class Theme:
    paint: Callable[[str, bool], Paint]
    """The paint of a node by its kind, and whether it is a layer."""
    round_node: float
    round_box: float
    box_opacity: str
    skip: str
    dashes: bool = True
    """Whether parameters, buffers, constants and links have a dashed outline."""


_CLASSIC = {
    "io": Paint("#add8e6", "1", "currentColor", "#000000"),
    "data": Paint("#556b2f", "1", "currentColor", "#ffffff"),
    "link": Paint("none", "1", "currentColor"),
}
_LAYER, _OP = (Paint(colour, "1", "currentColor", "#000000") for colour in ("#d3d3d3", "#ffa500"))
"""Grey layers, orange ops, blue tensors, olive parameters: as torchrecorder 1.0.3 drew them, with words one can read
on each, and lines in the page's own colour, because black is not seen on a dark page."""


THEMES: Mapping[ThemeName, Theme] = {
    "modern": Theme(lambda kind, _: Paint(variable(kind), ".16", variable(kind)), 8.0, 9.0, ".035", variable("skip")),
    "classic": Theme(
        lambda kind, is_layer: _CLASSIC.get(kind) or (_LAYER if is_layer or kind == "block" else _OP),
        0.0,
        0.0,
        "0",
        "currentColor",
        dashes=False,
    ),
}


def node_paint(style: NodeStyle, outline: str, ink: str) -> tuple[str, str]:
    """The attributes of an outline, and those of the words in it, as a styler changed them.

    A node that is filled with a colour has words that are seen on it, since the page's may not be.
    """
    if style.fill:
        outline = re.sub(r' fill="[^"]*"( fill-opacity="[^"]*")?', f' fill="{style.fill}"', outline)
    if style.line:
        outline = re.sub(r' stroke="[^"]*"', f' stroke="{style.line}"', outline)
    if style.pen or style.stroke:
        outline = re.sub(r' stroke-(width|dasharray)="[^"]*"', "", outline) + line_paint(style)
    colour = style.ink
    if style.fill and not colour:  # black or white, whichever has more contrast
        colour = "#000000" if luminance(style.fill) > _MIDDLE else "#ffffff"
    return outline, f' fill="{colour}"' if colour else ink


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2: 0 of black, 1 of white."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def box_paint(style: NodeStyle) -> str:
    fill = f' fill="{style.fill}" fill-opacity="{_BOX_OPACITY}"' if style.fill else ""
    line = f' stroke="{style.line}" stroke-opacity="1"' if style.line else ""
    return fill + line + line_paint(style)


def line_paint(style: NodeStyle | EdgeStyle) -> str:
    width = f' stroke-width="{style.pen:g}"' if style.pen else ""
    return width + (f' stroke-dasharray="{_DASHES[style.stroke]}"' if style.stroke in _DASHES else "")
