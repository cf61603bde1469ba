"""Pictures made to fit a page: one picture in its place, and several depths that a reader switches between."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from torchrecorder.drawing.model import Drawing

if TYPE_CHECKING:
    from torchrecorder.write.links import Expandable

MAX_BYTES = 100_000
"""Of all pictures of a switch together, as a server sends them: compressed."""

_LABELS = re.compile(r'aria-labelledby="[^"]*"')
_TITLES = re.compile(r"<title\b.*", re.DOTALL)
_UID = re.compile(r"\btr-[0-9a-f]{12}\b")
_SIZE = re.compile(r"width:100%;max-width:[^;\"]*;height:auto")


def fitted(
    svg: str,
    *,
    copy: int = 1,
    alt: str = "",
    width: str = "",
    height: str = "",
    urls: Mapping[str, str] = MappingProxyType({}),
    doors: Expandable | None = None,
) -> str:
    """The picture for inline use.

    Args:
        svg: A finished picture.
        copy: Counts the same picture in one page, because ids must be unique there.
        alt: What it shows, in place of its own title and description.
        width: As in CSS, in place of its natural width.
        height: As in CSS, in place of what follows from its width.
        urls: Addresses by class. Only relative ones, `#…`, `http:`, `https:` and `mailto:` become links.
        doors: The closed layers that can be opened in the page.
    """
    from torchrecorder.write.links import Expandable, link  # a build that writes no page does not need it

    head, end, body = link(svg, urls, doors or Expandable()).partition("</desc>")
    if alt:
        from xml.sax.saxutils import quoteattr  # which loads what opens URLs

        head, end = _LABELS.sub(lambda _: f"aria-label={quoteattr(alt)}", head), ""
        head = _TITLES.sub("", head)
    elif copy > 1:
        head = _UID.sub(rf"\g<0>-{copy}", head)
    if width or height:
        head = _SIZE.sub(f"width:{width or 'auto'};max-width:100%;height:{height or 'auto'}", head, count=1)
    return head + end + body


def join_depths(depths: Sequence[tuple[str, Drawing]]) -> tuple[tuple[str, Drawing], ...]:
    """The depths to choose from; one that shows the same as the one before it is left out.

    Args:
        depths: At least one, each with its drawing; the first is shown first.

    Returns:
        Those with room in a page; the last has the notes of all.
    """
    if len(depths) == 1:
        return tuple(depths)
    joined: list[tuple[str, Drawing]] = []
    notes: list[str] = []
    room = MAX_BYTES
    last_look = ""
    for depth, drawing in depths:
        notes += drawing.notes
        look = drawing.svg.replace(drawing.uid, "")
        if look == last_look:
            continue
        room -= len(zlib.compress(drawing.svg.encode()))
        if room < 0 and joined:
            notes.append(f"depth {depth} is too large for the switch; a picture of its own, with that depth, shows it")
            break
        joined.append((depth, drawing))
        last_look = look
    last, drawing = joined[-1]
    return *joined[:-1], (last, replace(drawing, notes=tuple(dict.fromkeys(notes))))
