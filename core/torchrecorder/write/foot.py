"""The lines at the foot of a picture that leaves its page: what a reader should know of it stands nowhere else then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchrecorder.layout.model import PAD, Layout
from torchrecorder.layout.widths import width
from torchrecorder.write.look import decimal

SIZE, _STEP, _BASE = 8.0, 10.0, 6.0
"""Points of its letters, smaller than all words of a picture; from line to line, which the script of pages knows, too;
and from the top of a line to its base."""


def foot_lines(layout: Layout, notes: Sequence[str]) -> list[tuple[str, str, str]]:
    """Notes in lines as wide as the picture, each with its place."""
    high = float(decimal(layout.height))
    lines = enumerate(_lines(_joined(notes), float(decimal(layout.width)) - 2 * PAD))
    return [(f"{PAD:g}", f"{high + _BASE + i * _STEP:.1f}", line) for i, line in lines]


def sides(layout: Layout, notes: Sequence[str]) -> tuple[str, str]:
    """Width and height of a picture with notes at its foot, in points, as its file says them."""
    if n := len(foot_lines(layout, notes)):
        return f"{float(decimal(layout.width)):g}", f"{float(decimal(layout.height)) + n * _STEP:.1f}"
    return decimal(layout.width), decimal(layout.height)


def described(layout: Layout, notes: Sequence[str]) -> str:
    return f"{layout.description}. {said}" if (said := _joined(notes)).strip() else layout.description


def _joined(notes: Sequence[str]) -> str:
    return " · ".join(note.replace("`", "") for note in notes)


def _lines(text: str, room: float) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and width(f"{line} {word}", SIZE) > room:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
        while width(line, SIZE) > room and len(line) > 1:
            part = next(n for n in range(len(line) - 1, 0, -1) if n == 1 or width(line[:n], SIZE) <= room)
            yield line[:part]
            line = line[part:]
    if line:
        yield line
