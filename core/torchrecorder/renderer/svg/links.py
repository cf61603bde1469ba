"""References to classes in a picture, and the addresses that a page has for them.

A picture is drawn long before anybody knows where the pages of an API are. It says `torchrecorder:pkg.Class` at each
layer; a front end puts an address in its place, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from xml.sax.saxutils import quoteattr

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)+"
_CLASS = re.compile(_NAME)
REFERENCE = f"torchrecorder:{_NAME}"
"""What stands in `href` of a kept picture: never an address."""
_OPEN = re.compile(r'<a href="torchrecorder:([\w.]+)"[^>]*>|</a>')
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\ufeff]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_SAFE = frozenset(("http", "https", "mailto"))


def opened(element: str, cls: str) -> str:
    """The element as a reference to a class; itself if that is no dotted name."""
    return f'<a href="torchrecorder:{cls}">{element}</a>' if _is_class(cls) else element


@lru_cache(maxsize=4096)
def _is_class(cls: str) -> bool:
    return _CLASS.fullmatch(cls) is not None


def classes(svg: str) -> tuple[str, ...]:
    """The classes that a picture refers to, each once, in order."""
    return tuple(dict.fromkeys(match[1] for match in _OPEN.finditer(svg) if match[1]))


def link(svg: str, urls: Mapping[str, str]) -> str:
    """The picture with addresses in place of references; a reference without one is removed.

    Links take the colour of the text around the picture, not that of the page's links: colours tell kinds. A picture
    with links is a group for those who do not see it, one without is an image, whose inside is not read out.

    Args:
        svg: A finished picture.
        urls: Addresses by class: relative ones, `#…`, `http:`, `https:` and `mailto:`; others are left out.
    """
    safe = {cls: url for cls, url in urls.items() if is_safe(url)}
    closing: list[str] = []

    def put(match: re.Match[str]) -> str:
        if match[1] is None:
            return closing.pop() if closing else ""
        url = safe.get(match[1])
        closing.append("" if url is None else "</a>")
        return "" if url is None else f'<a href={quoteattr(url)} style="color:inherit">'

    linked = _OPEN.sub(put, svg)
    return linked if "<a " in linked else linked.replace(' role="group"', ' role="img"', 1)


def is_safe(url: str) -> bool:
    """Whether a browser that follows the address runs no code: it is relative, or has one of three schemes."""
    bare = _UNSEEN.sub("", url)
    scheme = _SCHEME.match(bare)
    return bool(bare) and (scheme is None or scheme[1].lower() in _SAFE)
