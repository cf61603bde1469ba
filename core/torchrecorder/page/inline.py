"""A picture fitted to its place in a page: ids that are unique there, its width, its links, other words for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from torchrecorder.drawing.links import Expandable

_LABELS = re.compile(r'aria-labelledby="[^"]*"')
_TITLES = re.compile(r"<title\b.*", re.DOTALL)
_UID = re.compile(r"\btr-[0-9a-f]{12}\b")
_WIDTH = re.compile(r"width:100%;max-width:[^;\"]*;")


def fitted(
    svg: str,
    *,
    copy: int = 1,
    alt: str = "",
    width: str = "",
    urls: Mapping[str, str] = MappingProxyType({}),
    expandable: Expandable | None = None,
) -> str:
    """The picture for inline use.

    Args:
        svg: A finished picture.
        copy: Counts the same picture in one page, because ids must be unique there.
        alt: What it shows, in place of its own title and description.
        width: As in CSS, in place of its natural width.
        urls: Addresses by class. Only relative ones, `#…`, `http:`, `https:` and `mailto:` become links.
        expandable: The closed layers that can be opened in the page.
    """
    from torchrecorder.drawing.links import Expandable, link

    head, end, body = link(svg, urls, expandable or Expandable()).partition("</desc>")
    if alt:
        head, end = _LABELS.sub(lambda _: f"aria-label={quoteattr(alt)}", head), ""
        head = _TITLES.sub("", head)
    elif copy > 1:
        head = _UID.sub(rf"\g<0>-{copy}", head)
    if width:
        head = _WIDTH.sub(f"width:{width};max-width:100%;", head, count=1)
    return head + end + body
