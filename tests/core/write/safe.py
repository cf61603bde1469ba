"""Whether a picture may stand in a page, whatever the layout of a cache held: seen by code that did not write it.

What passes is a list of what is written, in the very spelling it is written in; anything else is refused, harmless or
not. Colours and fonts are taken from where the writer has them.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from torchrecorder.write.look import COLOURS, FONT

REFERENCE = r"torchrecorder:(?:[^\W\d]\w*(?:\.[^\W\d]\w*)+(?:#[0-9]+)?|#[0-9]+)"
_NAMESPACE = "{http://www.w3.org/2000/svg}"
_SHAPES = frozenset(("g", "path", "rect", "circle", "text", "tspan", "a"))
_WORDS = frozenset(("title", "desc"))
"""HTML reads what is in them as HTML, so they may hold text alone."""
_TAG = re.compile(r'</[a-z]+>|<[a-z]+(?: [A-Za-z-]+="[^"<>&]*")*/?>', re.ASCII)
"""Browsers and XML agree on what such a tag is: no prefix, no comment, no other quotes."""

_CLASSES = frozenset(("torchrecorder", "boxes", "titles", "edges", "skips", "backs", "shapes", "nodes", *COLOURS))
_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"
_PAINT = rf"none|currentColor|#[0-9a-f]{{6}}|var\(--torchrecorder-(?:{'|'.join(COLOURS)}),#[0-9a-f]{{6}}\)"
_ID = r"tr-[0-9a-f]{12}(?:-i\d+)?"
_VALUES = {
    **dict.fromkeys(("x", "y", "cx", "cy", "r", "rx", "ry", "width", "height", "font-size", "stroke-width"), _NUMBER),
    **dict.fromkeys(("fill-opacity", "stroke-opacity"), _NUMBER),
    **dict.fromkeys(("fill", "stroke"), _PAINT),
    "xmlns": re.escape(_NAMESPACE.strip("{}")),
    "id": f"{_ID}-[td]",
    "aria-labelledby": f"{_ID}-t {_ID}-d",
    "class": "|".join(sorted(_CLASSES)),
    "data-ends": r"[\w ,]*",
    "data-n": r"\w+",
    "d": r"[Mlhvcqz\d. -]*",
    "font-family": re.escape(FONT),
    "font-weight": r"\d+",
    "href": REFERENCE,
    "role": "group|img",
    "stroke-dasharray": f"{_NUMBER} {_NUMBER}",
    "style": r"width:100%;max-width:\d+px;height:auto",
    "text-anchor": "start|middle",
    "viewBox": " ".join([_NUMBER] * 4),
}
_PATTERNS = {name: re.compile(pattern, 0 if name == "href" else re.ASCII) for name, pattern in _VALUES.items()}


def is_safe(svg: str) -> bool:
    """Whether the picture holds only such elements and attributes as we write: no script, address, style or entity."""
    if "<" in (rest := _TAG.sub("", svg)) or ">" in rest:
        return False
    try:
        root = ElementTree.fromstring(svg)
    except (ElementTree.ParseError, ValueError):
        return False
    elements = root.iter()
    if next(elements).tag != f"{_NAMESPACE}svg" or not _has_safe_values(root):
        return False
    for element in elements:
        name = element.tag.removeprefix(_NAMESPACE)
        known = name in _SHAPES or (name in _WORDS and not len(element))
        if not known or element.tag == name or not _has_safe_values(element):
            return False
    return True


def _has_safe_values(element: ElementTree.Element) -> bool:
    return all(
        name in _PATTERNS and _PATTERNS[name].fullmatch(value) is not None for name, value in element.attrib.items()
    )
