"""The line at the foot of a picture that leaves its page: what a reader should know of it stands nowhere else then."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from torchrecorder.layout.model import PAD
from torchrecorder.layout.widths import width

_SIZE, _STEP, _BASE = 8.0, 10.0, 6.0
"""Points of its letters, smaller than all words of a picture; from line to line, which the script of pages knows, too;
and from the top of a line to its base."""
_MUTED = ".75"
"""A contrast of 7:1 on white, less than that of the words in the picture."""
_SIDES = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def sides(svg: str) -> tuple[float, float]:
    """Width and height of a finished picture, in points."""
    found = _SIDES.search(svg)
    return (float(found[1]), float(found[2])) if found else (0.0, 0.0)


def foot(svg: str, notes: Sequence[str]) -> str:
    """Notes as the last group of a finished picture, in lines as wide as the picture; empty if there are none."""
    wide, high = sides(svg)
    lines = enumerate(_lines(_joined(notes), wide - 2 * PAD))
    said = "".join(f'<text x="{PAD:g}" y="{high + _BASE + i * _STEP:.1f}">{escape(line)}</text>' for i, line in lines)
    look = f'text-anchor="start" font-size="{_SIZE:g}" fill-opacity="{_MUTED}"'
    return f'<g class="foot" {look}>{said}</g>' if said else ""


def footed(svg: str, notes: Sequence[str]) -> str:
    """A finished picture with notes at its foot and in its description."""
    if not (group := foot(svg, notes)):
        return svg
    wide, high = sides(svg)
    taller = f'viewBox="0 0 {wide:g} {high + group.count("<text") * _STEP:.1f}"'
    described = _SIDES.sub(taller, svg, count=1).replace("</desc>", f". {escape(_joined(notes))}</desc>", 1)
    return described.removesuffix("</svg>") + group + "</svg>"


def _joined(notes: Sequence[str]) -> str:
    return " · ".join(note.replace("`", "") for note in notes)


def _lines(text: str, room: float) -> Iterator[str]:
    """The text in lines; a word that is longer than a line is broken."""
    line = ""
    for word in text.split():
        if line and width(f"{line} {word}", _SIZE) > room:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
        while width(line, _SIZE) > room and len(line) > 1:
            part = next(n for n in range(len(line) - 1, 0, -1) if n == 1 or width(line[:n], _SIZE) <= room)
            yield line[:part]
            line = line[part:]
    if line:
        yield line
