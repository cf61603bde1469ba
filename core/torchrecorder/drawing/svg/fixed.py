"""Colours of its own for a picture that stands alone."""

from __future__ import annotations

import re

from torchrecorder.drawing.links import link

_PX = 4 / 3
_VARIABLE = re.compile(r"var\(--[\w-]+,(#[0-9a-f]{6})\)")
_TAG = re.compile(r"<[^>]*>")
_DRAWN_WIDTH = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)" style="[^"]*"')
_INK = {False: ("#1f2328", "#ffffff"), True: ("#e6edf3", "#16181d")}
"""Text and background of a picture that stands alone, by `dark`."""


def fixed(svg: str, *, dark: bool = False) -> str:
    """The picture with colours of its own, for files and `<img>`.

    It paints its own background, white or near-black: a picture in `<img>` does not learn the colour of the page, and
    dark text on a dark page cannot be read. It has its natural size in pixels.

    Args:
        svg: What `finish` gave.
        dark: Whether it is for a dark page.
    """
    svg = link(svg, {})
    ink, paper = _INK[dark]
    text = _TAG.sub(lambda tag: _VARIABLE.sub(r"\1", tag[0]).replace("currentColor", ink), svg)
    size = _DRAWN_WIDTH.search(text)
    if size is None:
        return text
    width, height = float(size[1]), float(size[2])
    box = f'viewBox="0 0 {size[1]} {size[2]}" width="{width * _PX:.0f}" height="{height * _PX:.0f}"'
    text = text.replace(size[0], box, 1)
    return text.replace("</desc>", f'</desc><rect width="100%" height="100%" fill="{paper}"/>', 1)
