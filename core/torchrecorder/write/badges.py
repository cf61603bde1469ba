"""Signs at the corners of things: what became of each in a diff, and which of them are calls of one module.

Blue and orange differ also to readers who see no red and green; lines and signs need no colour at all.
"""

from __future__ import annotations

from collections.abc import Collection

from torchrecorder.layout.model import MARKS, SHARED, Figure
from torchrecorder.view.model import Mark
from torchrecorder.write.look import variable

_LINES: dict[Mark, str] = {"removed": "4 3", "moved": "1.5 2"}
_RADIUS = 5.5
_SIGNS: dict[Mark, str] = {
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


def mark_of(flags: Collection[str]) -> Mark | None:
    return next((mark for mark in MARKS if mark in flags), None)


def mark_line(mark: Mark | None) -> str:
    if not mark:
        return ""
    return ' stroke-width="1.6"' + (f' stroke-dasharray="{_LINES[mark]}"' if mark in _LINES else "")


def mark_paint(flags: Collection[str], *, is_box: bool = False) -> str:
    """The outline of a thing that is marked; empty if it is not."""
    mark = mark_of(flags)
    if not mark:
        return ""
    fill = f' fill="{variable(mark)}" fill-opacity=".07"' if is_box else ""
    return f'{fill} stroke="{variable(mark)}" stroke-opacity="1"{mark_line(mark)}'


def badge(figure: Figure) -> str:
    """The sign at the upper left corner; empty if the thing is not marked."""
    mark = mark_of(figure.flags)
    if not mark:
        return ""
    x, y = _corner(figure)
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" fill="{variable(mark)}" fill-opacity="1" stroke="none"/>'
    sign = (
        f'<path fill="none" stroke="#ffffff" stroke-opacity="1" stroke-width="1.5" d="{_moved(_SIGNS[mark], x, y)}"/>'
    )
    return f"<g><title>{mark}</title>{circle}{sign}</g>"


def tag(figure: Figure) -> str:
    """What tells a call of a module from those of others; empty for things whose module is called only there."""
    name = next((name for name in SHARED if name in figure.flags), "")
    if not name or mark_of(figure.flags):
        return ""
    path = _moved(_TAGS[name], *_corner(figure))
    return f'<g><title>shared</title><path fill="{variable(name)}" fill-opacity="1" stroke="none" d="{path}"/></g>'


def _corner(figure: Figure) -> tuple[float, float]:
    inset = (1 - 0.5**0.5) / 2 * figure.rect.width if figure.is_round else 2.0
    return figure.rect.left + inset, figure.rect.top + inset


def _moved(path: str, x: float, y: float) -> str:
    """The sign with its absolute points, those behind each M, moved."""
    parts = path.split("M")[1:]
    found = ""
    for part in parts:
        end = next(i for i, sign in enumerate(part) if sign.isalpha())
        dx, dy = map(float, part[:end].split())
        found += f"M{x + dx:.1f} {y + dy:.1f}{part[end:]}"
    return found
