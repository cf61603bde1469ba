"""Signs at the corners of nodes and boxes: a change in a diff, a call of a module used elsewhere, a branch decided.

Blue and orange differ also to readers who see no red and green; lines and forms need no colour at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchrecorder.layout.model import SHARED, Figure
from torchrecorder.write.look import Look, decimal, mark_of

DECIDES = "the code takes one branch or another because of these numbers"
"""What a pointer over the rhomb of a node shows."""
_RHOMB = 4.0  # half of a diagonal of the rhomb, in points
_RADIUS = 5.5  # points, around the paths below
_INSET = 2.0  # of the middle of a badge from the corner of its figure, in points
_BADGES = {
    "added": "M-3 0h6M0 -3v6",
    "removed": "M-3 0h6",
    "changed": "M-3.2 .6c1 -2.4 2.2 -2.4 3.2 -.6c1 1.8 2.2 1.8 3.2 -.6",
    "moved": "M-3.2 0h6.2M.6 -2.4l2.6 2.4l-2.6 2.4",
}
"""Around 0, 0, in points."""
_TAGS = {
    "shared1": "M-3 0c0 -1.66 1.34 -3 3 -3c1.66 0 3 1.34 3 3c0 1.66 -1.34 3 -3 3c-1.66 0 -3 -1.34 -3 -3z",
    "shared2": "M0 -3.9l3.9 3.9 -3.9 3.9 -3.9 -3.9z",
    "shared3": "M0 -3.8l3.9 6.6h-7.8z",
    "shared4": "M-2.7 -2.7h5.4v5.4h-5.4z",
}
"""The tags of modules whose calls are drawn apart, around 0, 0: their forms differ, as hues do not in print."""


class SignPart(NamedTuple):
    look: Look
    path: str = ""  # path data as in an SVG; empty for a circle
    circle: tuple[str, str, str] = ("", "", "")  # middle and radius


class Sign(NamedTuple):
    name: str  # what a pointer over it shows
    parts: tuple[SignPart, ...]


def signs(figure: Figure) -> Iterator[Sign]:
    rect = figure.rect
    inset = (1 - 0.5**0.5) / 2 * rect.width
    if "decides" in figure.flags:
        x = rect.right - (inset if figure.is_round else _RHOMB)
        y = rect.top + (inset if figure.is_round else 0.0) - _RHOMB
        yield Sign(DECIDES, (SignPart(Look("skip", line="none"), f"M{decimal(x)} {decimal(y)}l4 4 -4 4 -4 -4z"),))
    inset = inset if figure.is_round else _INSET
    x, y = rect.left + inset, rect.top + inset
    if mark := mark_of(figure.flags):
        circle = SignPart(Look(mark, "1", "none"), circle=(f"{x:.1f}", f"{y:.1f}", str(_RADIUS)))
        path = _moved(_BADGES[mark], x, y)
        yield Sign(mark, (circle, SignPart(Look("none", "", "#ffffff", "1", "1.5"), path)))
    elif tag := next((name for name in SHARED if name in figure.flags), ""):
        yield Sign("shared", (SignPart(Look(tag, "1", "none"), _moved(_TAGS[tag], x, y)),))


def _moved(path: str, x: float, y: float) -> str:
    """The path with its absolute points, those behind each M, moved."""
    moved = ""
    for part in path.split("M")[1:]:
        end = next(i for i, letter in enumerate(part) if letter.isalpha())
        dx, dy = map(float, part[:end].split())
        moved += f"M{x + dx:.1f} {y + dy:.1f}{part[end:]}"
    return moved
