"""What one diagram is asked to be, once every option is read.

`RecordingRequest` is all that decides the Graph and nothing that decides its picture; `DiagramRequest` adds the picture
and the figure around it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from torchrecorder.request.target import parse_target

REVISION = 1
"""Raised when the same model and request give another Graph than before."""

TIMEOUT_S = 120.0

Run = Literal["auto", "real", "fake", "meta"]
Mode = Literal["eval", "train"]
RecorderName = Literal["modern", "classic"]
Depth = int | Literal["auto", "all"]
ThemeName = Literal["modern", "classic"]
Fact = Literal["shapes", "params", "flops", "memory", "dtypes", "weights"]

FACTS: tuple[Fact, ...] = ("shapes", "params", "flops", "memory", "dtypes", "weights")
"""What a picture says besides names and classes. `memory` is that of a tensor, said with its shape; `weights` draws
each parameter as a node."""
USUAL: tuple[Fact, ...] = ("shapes", "params")

_TO_TEXT = json.JSONEncoder(sort_keys=True).encode  # made once: `json.dumps` makes another for each key


def shown(show: Collection[str], hide: Collection[str]) -> tuple[Fact, ...]:
    """The facts that a picture says: the usual ones and those in `show`, without those in `hide`, in a fixed order."""
    return tuple(fact for fact in FACTS if (fact in USUAL or fact in show) and fact not in hide)


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """One model and how it is called. Texts are in the one spelling their grammar gives back."""

    target: str
    shape: str = ""
    """As `request.shapes` writes it; empty: the inputs are found."""
    inputs: str = ""
    """Dotted name of the inputs, or of a function that makes them; empty: `shape` says them."""
    mode: Mode = "eval"
    run: Run = "auto"
    seed: int = 0
    recorder: RecorderName = "modern"
    """`classic` records as torchrecorder 1.0.3 does."""
    depends: tuple[str, ...] = ()
    """Files, folders and environment variables (`$NAME`) it depends on besides those that can be traced."""

    def key(self) -> str:
        """Names the request in the cache: the SHA-256 of its JSON, in hexadecimal digits."""
        facts = {"torchrecorder_request": REVISION, **self.to_json()}
        return hashlib.sha256(_TO_TEXT(facts).encode()).hexdigest()

    def root_module(self) -> str:
        """The top-level package or module the target lies in."""
        return parse_target(self.target).dotted.split(".")[0]

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RecordingRequest:
        """The request that `to_json` wrote."""
        return RecordingRequest(**{**data, "depends": tuple(data.get("depends", ()))})


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
