"""The depths of a picture that a reader switches between, as many as a page has room for."""

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
    joined: list[tuple[str, Drawing]] = []
    notes: list[str] = []
    room = MAX_BYTES
    last = None
    for depth, drawing in depths:
        notes += drawing.notes
        layout = replace(drawing.layout, uid="")
        if layout == last:
            continue
        room -= len(zlib.compress(drawing.svg.encode()))
        if room < 0 and joined:
            notes.append(f"depth {depth} is too large for the switch; a picture of its own, with that depth, shows it")
            break
        joined.append((depth, drawing))
        last = layout
    depth, drawing = joined[-1]
    return *joined[:-1], (depth, replace(drawing, notes=tuple(dict.fromkeys(notes))))
