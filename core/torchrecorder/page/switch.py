"""One diagram of several depths, between which the reader of a page switches."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from torchrecorder.drawing.model import Drawing

MAX_BYTES = 100_000
"""Of all pictures of a switch together, as a server sends them: compressed."""


def join_depths(depths: Sequence[tuple[str, Drawing]]) -> tuple[tuple[str, Drawing], ...]:
    """The depths to choose from; one that shows the same as the one before it is left out.

    Args:
        depths: At least one, each with its drawing; the first is shown first.

    Returns:
        Those with room in a page; the last has the notes of all.
    """
    if len(depths) == 1:
        return tuple(depths)
    kept: list[tuple[str, Drawing]] = []
    notes: list[str] = []
    room = MAX_BYTES
    for depth, drawing in depths:
        notes += drawing.notes
        if kept and _looks(kept[-1][1]) == _looks(drawing):
            continue
        room -= len(zlib.compress(drawing.svg.encode()))
        if room < 0 and kept:
            notes.append(f"depth {depth} is too large for the switch; a picture of its own, with that depth, shows it")
            break
        kept.append((depth, drawing))
    last, drawing = kept[-1]
    return *kept[:-1], (last, replace(drawing, notes=tuple(dict.fromkeys(notes))))


def _looks(drawing: Drawing) -> str:
    return drawing.svg.replace(drawing.uid, "")
