"""The colours of the kinds, in one place: as CSS variables for pages, and as numbers for everything else.

The middle tones are chosen to be seen on white and on near-black alike; a node is filled with its colour at low opacity
under text in the page's own colour, so that one picture is right in light and dark.
"""

from __future__ import annotations

from torchrecorder.drawing.labels.kinds import Kind

Paint = Kind | str

COLOURS: dict[str, str] = {
    "conv": "#3b82c4",
    "linear": "#7c6cd6",
    "norm": "#2a9d8f",
    "act": "#d98e04",
    "pool": "#5a9e3e",
    "attention": "#c2528b",
    "io": "#7d8590",
    "op": "#7d8590",
    "block": "#7d8590",
    "data": "#7d8590",
    "link": "#d98e04",
    "skip": "#d98e04",
    "error": "#d1242f",
}
"""Colour by kind, and of `skip` edges and of calls that failed (`error`)."""

FONT = "Helvetica,Arial,'Liberation Sans',Arimo,'Nimbus Sans',sans-serif"
"""Fonts as wide as the one that layout reckons with."""


def variable(kind: str) -> str:
    """The colour as a CSS variable that a site may set: `var(--torchrecorder-conv,#3b82c4)`."""
    return f"var(--torchrecorder-{kind},{COLOURS[kind]})"
