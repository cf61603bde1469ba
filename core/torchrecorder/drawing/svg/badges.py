"""How a picture shows what became of a thing: by colour, by its line, and by a sign at its corner.

Blue and orange differ also to readers who see no red and green; the line and the sign need no colour at all.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from torchrecorder.drawing.svg.layout import Figure
from torchrecorder.drawing.svg.themes import variable
from torchrecorder.view.model import Mark

MARKS: tuple[Mark, ...] = get_args(Mark)
_LINES: dict[Mark, str] = {"removed": "4 3", "moved": "1.5 2"}
_RADIUS = 5.5
_SIGNS: dict[Mark, str] = {
    "added": "M-3 0h6M0 -3v6",
    "removed": "M-3 0h6",
    "changed": "M-3.2 .6c1 -2.4 2.2 -2.4 3.2 -.6c1 1.8 2.2 1.8 3.2 -.6",
    "moved": "M-3.2 0h6.2M.6 -2.4l2.6 2.4l-2.6 2.4",
}
"""Around 0, 0, in points."""


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
    inset = (1 - 0.5**0.5) / 2 * figure.rect.width if figure.is_round else 2.0
    x, y = figure.rect.left + inset, figure.rect.top + inset
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" fill="{variable(mark)}" fill-opacity="1" stroke="none"/>'
    sign = (
        f'<path fill="none" stroke="#ffffff" stroke-opacity="1" stroke-width="1.5" d="{_moved(_SIGNS[mark], x, y)}"/>'
    )
    return f"<g><title>{mark}</title>{circle}{sign}</g>"


def _moved(path: str, x: float, y: float) -> str:
    """The sign with its absolute points, those behind each M, moved."""
    parts = path.split("M")[1:]
    found = ""
    for part in parts:
        end = next(i for i, sign in enumerate(part) if sign.isalpha())
        dx, dy = map(float, part[:end].split())
        found += f"M{x + dx:.1f} {y + dy:.1f}{part[end:]}"
    return found
