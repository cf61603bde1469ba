"""What a picture looks like: colours, corners and lines by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torchrecorder.drawing.svg.palette import variable
from torchrecorder.request.requests import ThemeName


@dataclass(frozen=True, slots=True)
class Paint:
    """How a node is painted."""

    fill: str
    opacity: str
    stroke: str
    ink: str = ""
    """Colour of its words; that of the page if empty."""


@dataclass(frozen=True, slots=True)
class Theme:
    """A look."""

    paint: Callable[[str, bool], Paint]
    """The paint of a node by its kind, and whether it is a layer."""
    round_node: float
    round_box: float
    box_opacity: str
    skip: str
    dashes: bool = True
    """Whether what is no layer and no op has a dashed outline."""


def _modern(kind: str, is_layer: bool) -> Paint:
    return Paint(variable(kind), ".16", variable(kind))


_CLASSIC = {
    "io": Paint("#add8e6", "1", "currentColor", "#000000"),
    "data": Paint("#556b2f", "1", "currentColor", "#ffffff"),
    "link": Paint("none", "1", "currentColor"),
}
_LAYER, _OP = (Paint(colour, "1", "currentColor", "#000000") for colour in ("#d3d3d3", "#ffa500"))
"""Grey layers, orange ops, blue tensors, olive parameters: as torchrecorder 1.0.3 drew them, with words one can read
on each, and lines in the page's own colour, because black is not seen on a dark page."""


def _classic(kind: str, is_layer: bool) -> Paint:
    return _CLASSIC.get(kind) or (_LAYER if is_layer or kind == "block" else _OP)


THEMES: Mapping[ThemeName, Theme] = {
    "modern": Theme(_modern, 8.0, 9.0, ".035", variable("skip")),
    "classic": Theme(_classic, 0.0, 0.0, "0", "currentColor", dashes=False),
}
