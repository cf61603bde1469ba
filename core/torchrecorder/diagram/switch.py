"""One diagram of several depths, between which the reader of a page switches."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from torchrecorder.diagram.model import Diagram, Drawing

MAX_BYTES = 100_000
"""Of all pictures of a switch together, as a server sends them: compressed."""


def join_depths(diagrams: Sequence[tuple[int | str, Diagram]]) -> Diagram:
    """The diagram with all depths to choose from; one that shows the same as the one before it is left out.

    Args:
        diagrams: At least one, the first to be shown first.
    """
    first = diagrams[0][1]
    kept: list[tuple[str, Drawing]] = []
    notes: list[str] = []
    room = MAX_BYTES
    for depth, diagram in diagrams:
        drawing = diagram.drawing
        notes += drawing.notes
        if kept and _looks(kept[-1][1]) == _looks(drawing):
            continue
        room -= len(zlib.compress(drawing.svg.encode()))
        if room < 0 and kept:
            notes.append(f"depth {depth} is too large for the switch; a picture of its own, with that depth, shows it")
            break
        kept.append((str(depth), drawing))
    if len(kept) == 1:
        return replace(first, drawing=replace(kept[0][1], notes=tuple(dict.fromkeys(notes))))
    kept[-1] = (kept[-1][0], replace(kept[-1][1], notes=tuple(dict.fromkeys(notes))))
    return replace(first, drawing=kept[0][1], depths=tuple(kept))


def _looks(drawing: Drawing) -> str:
    return drawing.svg.replace(drawing.uid, "")
