"""What a diagram is asked to be, once every option is read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from torchrecorder.request.recording import RecordingRequest
from torchrecorder.request.shown import USUAL, Fact

Depth = int | Literal["auto", "all"]
ThemeName = Literal["modern", "classic"]

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class DrawingOptions:
    """What decides the picture of a Graph."""

    depth: Depth = "auto"
    fold: bool = True
    focus: str = ""
    expand: tuple[str, ...] = ()
    collapse: tuple[str, ...] = ()
    direction: Literal["TB", "LR"] = "TB"
    theme: ThemeName = "modern"
    show: tuple[Fact, ...] = USUAL
    """What is said besides names and classes."""
    styler: str = ""
    """Dotted name of a user's own look."""
    table: bool = False
    """Whether the rows of the table of layers are made too."""


@dataclass(frozen=True, slots=True)
class FigureOptions:
    """What decides the figure around the picture; front ends turn it into their own markup."""

    caption: str = ""
    alt: str = ""
    name: str = ""
    align: Literal["", "left", "center", "right"] = ""
    width: str = ""
    classes: tuple[str, ...] = ()
    links: bool = True
    zoom: bool = True


@dataclass(frozen=True, slots=True)
class DiagramRequest:
    """One diagram to draw."""

    recording: RecordingRequest
    drawing: DrawingOptions = field(default_factory=DrawingOptions)
    figure: FigureOptions = field(default_factory=FigureOptions)
    timeout_s: float = TIMEOUT_S
    depths: tuple[int, ...] = ()
    """The depths that readers can switch between; `drawing` has the first, which is shown to begin with."""

    def singles(self) -> tuple[DiagramRequest, ...]:
        """One request for each depth, or only itself."""
        if not self.depths:
            return (self,)
        return tuple(replace(self, drawing=replace(self.drawing, depth=depth), depths=()) for depth in self.depths)
