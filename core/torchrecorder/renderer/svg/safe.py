"""Whether a picture that somebody else kept may stand in a page: a cache that is shared is data, and not trusted."""

from __future__ import annotations

import re
from xml.etree import ElementTree

_NAMESPACE = "{http://www.w3.org/2000/svg}"
_SHAPES = {"svg", "g", "path", "rect", "circle", "text", "tspan"}
_WORDS = {"title", "desc"}
"""HTML reads what is in them as HTML, so they may hold text alone."""
_ATTRIBUTES = {
    *("id", "class", "role", "aria-labelledby", "viewBox", "style", "d", "x", "y", "cx", "cy", "r", "rx"),
    *("width", "height", "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray"),
    *("font-family", "font-size", "font-weight", "font-style", "text-anchor"),
}
_VALUE = re.compile(r"[\w\s.,#%()+'\-]*", re.ASCII)
_STYLE = re.compile(r"(?:(?:width|max-width|height):[\w.%]+;?)*", re.ASCII)
_FORBIDDEN = re.compile(r"url\s*\(|expression|<!|<\?", re.IGNORECASE)


def is_safe(svg: str) -> bool:
    """Whether the picture holds only such elements and attributes as we write: no script, link, style or entity."""
    if _FORBIDDEN.search(svg):
        return False
    try:
        root = ElementTree.fromstring(svg)
    except (ElementTree.ParseError, ValueError):
        return False
    return root.tag == f"{_NAMESPACE}svg" and all(map(_is_safe_element, root.iter()))


def _is_safe_element(element: ElementTree.Element) -> bool:
    name = element.tag.removeprefix(_NAMESPACE)
    known = name in _SHAPES or (name in _WORDS and not len(element))
    return known and element.tag != name and all(_is_safe_value(*item) for item in element.attrib.items())


def _is_safe_value(name: str, value: str) -> bool:
    pattern = _STYLE if name == "style" else _VALUE
    return name in _ATTRIBUTES and pattern.fullmatch(value) is not None
