"""References in a picture, and the addresses that a page has for them.

A picture is drawn long before the addresses of the pages of an API are known. Its layout says `pkg.Class` at each
layer, `pkg.Class#12` at one that is closed and was the call 12; a front end has an address for it, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from torchrecorder.layout.model import Figure, Layout, Title

XLINK = "http://www.w3.org/1999/xlink"
_CLASS = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_CALL = re.compile("[0-9]+")
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\ufeff]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_KEPT = "/:~[]()!*,;@$&+="
"""Characters of a path that an address may hold as they are, besides letters, digits and `_.-~`."""
_SAFE = frozenset(("http", "https", "mailto"))


class Reference(NamedTuple):
    """A node's or title's reference."""

    cls: str
    """Its dotted class; empty for one that no page can have, such as a class of a function."""
    call: int | None
    """The number of a closed layer's call."""

    @staticmethod
    def of(text: str) -> Reference | None:
        """The reference; None if the text is neither a dotted name nor a call, nor a name with a call."""
        name, sign, number = text.partition("#")
        cls = name if _CLASS.fullmatch(name) else ""
        call = int(number) if _CALL.fullmatch(number) else None
        return None if (sign and call is None) or not (cls or sign) else Reference(cls, call)


def in_reading_order(layout: Layout) -> Iterator[Figure | list[Title]]:
    """The nodes, each behind the titles of the boxes that begin with it."""
    opening: dict[int, list[Title]] = {}
    for title in layout.titles or ():
        opening.setdefault(title.before, []).append(title)
    for i, node in enumerate(layout.nodes):
        if i in opening:
            yield opening.pop(i)
        yield node
    if opening:
        yield [title for titles in opening.values() for title in titles]


def classes(layout: Layout) -> Iterator[str]:
    """The classes that a picture refers to, in reading order."""
    for item in in_reading_order(layout):
        for thing in (item,) if isinstance(item, Figure) else item:
            if (reference := Reference.of(thing.reference)) is not None and reference.cls:
                yield reference.cls


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one picture in its page.

    They take the colour of the text, not that of the page's links: colours tell kinds. They are written as
    `xlink:href`: scripts of pages, such as the instant navigation of Material for MkDocs, fail at an `href` of SVG.
    """

    urls: Mapping[str, str] = field(default_factory=dict)
    """Addresses by class: relative ones, `#…`, `http:`, `https:` and `mailto:`; others are left out."""
    paths: Mapping[int, str] = field(default_factory=dict)
    """The paths of the closed layers that can be opened in the page, by the numbers of their calls."""
    prefix: str = ""
    """Begins the ids: `net:` for `net:layer1` of a layer and `net:layer1/` of its inside."""
    named: Collection[str] = ()
    """The layers that have their id in the page already."""

    def opens(self, reference: Reference) -> bool:
        return reference.call in self.paths

    def tag(self, reference: Reference) -> str:
        """The first tag of the link; empty for what leads nowhere."""
        from xml.sax.saxutils import quoteattr  # which loads what opens URLs, and most pages have no links

        if reference.call is not None and self.opens(reference):
            path = self.paths[reference.call]
            id_ = layer_id(self.prefix, path)
            own = "" if path in self.named else f" id={quoteattr(id_)}"
            return f'<a class="door" xlink:href="{fragment(id_)}/"{own} style="color:inherit">'
        url = self.urls.get(reference.cls)
        if url is None or not is_safe(url):
            return ""
        return f'<a xlink:href={quoteattr(url)} style="color:inherit">'


class References:
    """The references themselves in place of links, which no page shows."""

    def opens(self, reference: Reference) -> bool:
        return False

    def tag(self, reference: Reference) -> str:
        call = "" if reference.call is None else f"#{reference.call}"
        return f'<a href="torchrecorder:{reference.cls}{call}">'


def layer_id(prefix: str, path: str) -> str:
    """The id of a layer in its page: HTML allows any character but spaces."""
    return prefix + "_".join(path.split())


def fragment(id_: str) -> str:
    from urllib.parse import quote  # which few pages need

    return "#" + quote(id_, safe=_KEPT)


def is_safe(url: str) -> bool:
    """Whether a browser that follows the address runs no code: it is relative, or has one of three schemes."""
    bare = _UNSEEN.sub("", url)
    scheme = _SCHEME.match(bare)
    return bool(bare) and (scheme is None or scheme[1].lower() in _SAFE)
