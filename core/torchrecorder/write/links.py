"""References in a picture, and the addresses that a page has for them.

A picture is drawn long before the addresses of the pages of an API are known. It says `torchrecorder:pkg.Class` at each
layer, `torchrecorder:pkg.Class#12` at one that is closed and was the call 12; a front end puts an address in its place,
or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

_CLASS = r"[^\W\d]\w*(?:\.[^\W\d]\w*)+"
_CALL = "#[0-9]+"
_WHOLE = re.compile(f"{_CLASS}(?:{_CALL})?|{_CALL}")
REFERENCE = f"torchrecorder:(?:{_WHOLE.pattern})"
"""What stands in `href` of a cached picture: never an address."""
_OPEN = re.compile(r'<a href="torchrecorder:(?P<cls>[\w.]*)(?:#(?P<call>[0-9]+))?">|</a>')
_EXPANDABLE = re.compile(
    r'<a class="door"[^>]*>(?:<g[^>]*>)?(?:<path[^>]*>)?'
    r'<rect x="(?P<x>[\d.]+)" y="(?P<y>[\d.]+)" width="(?P<width>[\d.]+)"[^>]*>'
)
XLINK = "http://www.w3.org/1999/xlink"
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\ufeff]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_KEPT = "/:~[]()!*,;@$&+="
"""Signs of a path that an address may hold as they are, besides letters, digits and `_.-~`."""
_SAFE = frozenset(("http", "https", "mailto"))


@dataclass(frozen=True, slots=True)
class Expandable:
    """The closed layers of a picture that can be opened in its page."""

    paths: Mapping[int, str] = field(default_factory=dict)
    """Their paths, by the numbers of their calls."""
    prefix: str = ""
    """Begins the ids: `net:` for `net:layer1` of a layer and `net:layer1/` of its inside."""
    named: Collection[str] = ()
    """Those that have their id in the page already."""

    def opening(self, call: int) -> str:
        """The first tag of the link from a closed layer to its inside."""
        from xml.sax.saxutils import quoteattr

        id_ = layer_id(self.prefix, self.paths[call])
        own = "" if self.paths[call] in self.named else f" id={quoteattr(id_)}"
        return f'<a class="door" xlink:href="{fragment(id_)}/"{own} style="color:inherit">'


_NOTHING = Expandable()


def layer_id(prefix: str, path: str) -> str:
    """The id of a layer in its page: HTML allows any sign but spaces."""
    return prefix + "_".join(path.split())


def fragment(id_: str) -> str:
    """The end of an address that leads to the id."""
    from urllib.parse import quote  # which few pages need

    return "#" + quote(id_, safe=_KEPT)


def refer_to(element: str, name: str) -> str:
    """The element as a reference; itself if that is neither a dotted name nor a call, nor a name with a call."""
    _, sign, call = name.partition("#")
    known = next((text for text in (name, sign + call) if _WHOLE.fullmatch(text)), "")
    return f'<a href="torchrecorder:{known}">{element}</a>' if known else element


def classes(svg: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(match["cls"] for match in _OPEN.finditer(svg) if match["cls"]))


def link(svg: str, urls: Mapping[str, str], expandable: Expandable = _NOTHING) -> str:
    """The picture with addresses in place of references; a reference without one is removed.

    Links take the colour of the text around the picture, not that of the page's links: colours tell kinds. A picture
    with links is a group for those who do not see it, one without is an image, whose inside is not read out.

    They are written as `xlink:href`, which browsers read as well: scripts of pages, such as the instant navigation of
    Material for MkDocs, take everything with `href` for a link of HTML, and fail at those of SVG.

    Args:
        svg: A finished picture.
        urls: Addresses by class: relative ones, `#…`, `http:`, `https:` and `mailto:`; others are left out.
        expandable: The closed layers that lead to their own insides instead.
    """
    if not urls and not expandable.paths:
        return _OPEN.sub("", svg).replace(' role="group"', ' role="img"', 1)
    from xml.sax.saxutils import quoteattr  # which loads what opens URLs, and most pages have no links

    safe = {cls: url for cls, url in urls.items() if is_safe(url)}
    closing: list[str] = []

    def put(match: re.Match[str]) -> str:
        if match["cls"] is None:
            return closing.pop() if closing else ""
        if match["call"] and int(match["call"]) in expandable.paths:
            closing.append("</a>")
            return expandable.opening(int(match["call"]))
        url = safe.get(match["cls"])
        closing.append("" if url is None else "</a>")
        return "" if url is None else f'<a xlink:href={quoteattr(url)} style="color:inherit">'

    def with_plus(layer: re.Match[str]) -> str:
        right, top = float(layer["x"]) + float(layer["width"]), float(layer["y"])
        cross = f"M{right - 7.5:.4g} {top + 5:.4g}h4m-2-2v4"
        return f'{layer[0]}<path fill="none" stroke="currentColor" d="{cross}"/>'

    linked = _OPEN.sub(put if safe or expandable.paths else "", svg)
    linked = _EXPANDABLE.sub(with_plus, linked) if expandable.paths else linked
    if "<a " not in linked:
        return linked.replace(' role="group"', ' role="img"', 1)
    return linked.replace("<svg ", f'<svg xmlns:xlink="{XLINK}" ', 1)


def is_safe(url: str) -> bool:
    """Whether a browser that follows the address runs no code: it is relative, or has one of three schemes."""
    bare = _UNSEEN.sub("", url)
    scheme = _SCHEME.match(bare)
    return bool(bare) and (scheme is None or scheme[1].lower() in _SAFE)
