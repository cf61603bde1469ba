"""What a browser would make of a page: its elements, and what is wrong with their nesting."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Element:
    """An element with what is inside."""

    tag: str
    attributes: dict[str, str | None]
    inside: tuple[str, ...]
    """The tags around it, outermost first."""
    text: str = ""


@dataclass
class Seen:
    """A page as it is read."""

    elements: list[Element] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Elements that are not closed, closed in the wrong order, or no contents of a paragraph."""

    def all(self, tag: str, class_: str = "") -> list[Element]:
        """The elements of a tag that have the class."""
        of_tag = [element for element in self.elements if element.tag == tag]
        return [e for e in of_tag if not class_ or class_ in (e.attributes.get("class") or "").split()]

    @property
    def figures(self) -> list[Element]:
        return self.all("figure", "torchrecorder")

    @property
    def boxes(self) -> list[Element]:
        return self.all("div", "torchrecorder-error")

    @property
    def twice(self) -> set[str]:
        """Ids that are not unique."""
        ids = [element.attributes["id"] or "" for element in self.elements if "id" in element.attributes]
        return {id_ for id_ in ids if ids.count(id_) > 1}


class _Reader(HTMLParser):
    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self._seen = seen
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        inside = tuple(element.tag for element in self._open)
        element = Element(tag, dict(attrs), inside)
        if tag in ("figure", "div") and "p" in inside:
            self._seen.wrong.append(f"<{tag}> inside of <p>")
        self._seen.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen.elements.append(Element(tag, dict(attrs), tuple(element.tag for element in self._open)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop().tag != tag:
            self._seen.wrong.append(f"</{tag}> closes something else")

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data


def see(html: str) -> Seen:
    """Read a page, or a piece of one."""
    seen = Seen()
    reader = _Reader(seen)
    reader.feed(html)
    reader.close()
    return seen


def words(text: str) -> str:
    """The text with single spaces."""
    return re.sub(r"\s+", " ", text).strip()
