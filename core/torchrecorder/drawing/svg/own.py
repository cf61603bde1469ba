"""A styler's colours and lines in the picture."""

from __future__ import annotations

import re

from torchrecorder.drawing.styles.answer import EdgeStyle, NodeStyle

_DASHES = {"dashed": "5 3", "dotted": "1.5 2"}
_BOX_OPACITY = ".2"
"""A box is tinted only: what stands in it has the colours of the page."""
_MIDDLE = 0.18
"""The luminance on which black and white words are seen equally well."""


def node_paint(style: NodeStyle, outline: str, ink: str) -> tuple[str, str]:
    """The attributes of an outline, and those of the words in it.

    A node that is filled with a colour has words that are seen on it, since the page's may not be.

    Args:
        style: What the styler said.
        outline: The attributes that the theme gives the outline.
        ink: Those that it gives the words.
    """
    if style.fill:
        outline = re.sub(r' fill="[^"]*"( fill-opacity="[^"]*")?', f' fill="{style.fill}"', outline)
    if style.line:
        outline = re.sub(r' stroke="[^"]*"', f' stroke="{style.line}"', outline)
    if style.pen or style.stroke:
        outline = re.sub(r' stroke-(width|dasharray)="[^"]*"', "", outline) + line_paint(style)
    colour = style.ink or (_seen_on(style.fill) if style.fill else "")
    return outline, f' fill="{colour}"' if colour else ink


def box_paint(style: NodeStyle) -> str:
    """The attributes of the outline of a box."""
    fill = f' fill="{style.fill}" fill-opacity="{_BOX_OPACITY}"' if style.fill else ""
    line = f' stroke="{style.line}" stroke-opacity="1"' if style.line else ""
    return fill + line + line_paint(style)


def line_paint(style: NodeStyle | EdgeStyle) -> str:
    """Width and dashes of a line."""
    width = f' stroke-width="{style.pen:g}"' if style.pen else ""
    return width + (f' stroke-dasharray="{_DASHES[style.stroke]}"' if style.stroke in _DASHES else "")


def _seen_on(colour: str) -> str:
    """Black or white, whichever has more contrast; by the relative luminance of WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > _MIDDLE else "#ffffff"
