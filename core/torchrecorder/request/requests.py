"""What one diagram is asked to be, once its target and every option is read.

A `Target` names the model: `pkg.Net`, `pkg.mod:Net`, `pkg.make_net` or `pkg.Net(width=64)`. `RecordingRequest` is all
that decides the Graph and nothing that decides its picture; `DiagramRequest` adds the picture and the figure around it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_PATTERN = re.compile(r"[^\W\d]\w*(?:\.[\w*]+)+")
_TARGET = re.compile(rf"(?P<first>{_NAME})(?::(?P<second>{_NAME}))?\s*(?P<call>\(.*\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """A dotted name, and the literal arguments to call it with."""

    dotted: str
    """The whole name with dots only, `pkg.mod.Net`."""
    module: str | None
    """The part before the colon, if there is one; else the module is found by trying."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    called: bool = False
    """Whether arguments were written, if only `()`."""

    def __str__(self) -> str:
        name = self.dotted if self.module is None else f"{self.module}:{self.dotted[len(self.module) + 1 :]}"
        if not self.called:
            return name
        arguments = [*map(repr, self.args), *(f"{key}={value!r}" for key, value in self.kwargs.items())]
        return f"{name}({', '.join(arguments)})"


def parse_target(text: str) -> Target:
    """The target that the text names.

    Raises:
        ValueError: It is not a dotted name, or its arguments are not literals.
    """
    match = _TARGET.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text.strip()!r} names no model: write pkg.Net, pkg.mod:Net or pkg.Net(width=64)")
    module = match["first"] if match["second"] else None
    dotted = f"{module}.{match['second']}" if module else match["first"]
    if "." not in dotted:
        raise ValueError(f"{dotted!r} names no module: write pkg.{dotted}, or {dotted}.Net if {dotted} is the module")
    if match["call"] is None:
        return Target(dotted, module)
    args, kwargs = _arguments(match["call"])
    return Target(dotted, module, args, kwargs, called=True)


def is_pattern(text: str) -> bool:
    """Whether a text names all models of a package that match it, as `pkg.models.*` does, in place of one."""
    return "*" in text and _PATTERN.fullmatch(text) is not None


def matches(pattern: str, name: str) -> bool:
    """Whether a dotted name is meant by a pattern, in which `*` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def _arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        call = ast.parse(f"f{text}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"the arguments {text} are not valid Python: {error}") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"{text} is not a list of arguments")
    named = {keyword.arg: _literal(keyword.value) for keyword in call.keywords if keyword.arg is not None}
    if any(keyword.arg is None for keyword in call.keywords):
        raise ValueError("`**` cannot be used in the arguments of a target")
    return tuple(_literal(argument) for argument in call.args), named


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        advice = (
            "only numbers, texts, tuples, lists and dicts are allowed; for more, name a function that builds the model"
        )
        raise ValueError(f"the argument {ast.unparse(node)} is not a literal: {advice}") from error


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
COLUMN = 720
"""The width of a page's column of text, in CSS pixels."""

_TO_TEXT = json.JSONEncoder(sort_keys=True).encode  # made once: `json.dumps` makes another for each key


def shown(show: Collection[str], hide: Collection[str]) -> tuple[Fact, ...]:
    """The facts that a picture says: the usual ones and those in `show`, without those in `hide`, in a fixed order."""
    return tuple(fact for fact in FACTS if (fact in USUAL or fact in show) and fact not in hide)


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """One model and how it is called. Texts are in the one spelling their grammar gives back."""

    target: str
    """A worker answers a pattern in its place with the names that match."""
    shape: str = ""
    """As `request.shapes` writes it; empty: the inputs are found."""
    inputs: str = ""
    """Dotted name of the inputs, or of a function that makes them; empty: `shape` says them."""
    mode: Mode = "eval"
    run: Run = "auto"
    seed: int = 0
    recorder: RecorderName = "modern"
    """`classic` records with gradients on, and what autograd makes of each operation is drawn.

    It is part of the key, because another forward runs: otherwise gradients are off.
    """
    depends: tuple[str, ...] = ()
    """Files, folders and environment variables (`$NAME`) it depends on besides those that can be traced."""
    is_common: bool = False
    """Whether arguments and shape are meant for several classes, each of which takes what it can."""

    def key(self) -> str:
        """Names the request in the cache: the SHA-256 of its JSON, in hexadecimal digits."""
        facts = {"torchrecorder_request": REVISION, **self.to_json()}
        return hashlib.sha256(_TO_TEXT(facts).encode()).hexdigest()

    def root_module(self) -> str:
        """The top-level package or module the target lies in."""
        return re.split(r"[.:(]", self.target, maxsplit=1)[0]

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data; `is_common` only if it is, so that other keys are those of before it was added."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "is_common" or self.is_common}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RecordingRequest:
        """The request that `to_json` wrote, perhaps without what is empty."""
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
    layout: Literal["paper", "layered"] = "paper"
    theme: ThemeName = "modern"
    grey: bool = False
    foot: bool = True
    """Whether notes stand at the foot of a picture that leaves its page."""
    show: tuple[Fact, ...] = USUAL
    """What is said besides names and classes."""
    styler: str = ""
    """Dotted name of a user's own look."""
    diff: str = ""
    """Dotted name of the old model, if the picture shows what has changed from it."""
    table: bool = False
    """Whether the rows of the table of layers are made too."""
    room: int = COLUMN
    """The width in CSS pixels that the picture is laid out for; a picture may be wider if its parts are."""


@dataclass(frozen=True, slots=True)
class FigureOptions:
    """What decides the figure around the picture; front ends turn it into their own markup."""

    caption: str = ""
    alt: str = ""
    name: str = ""
    align: Literal["", "left", "center", "right"] = ""
    width: str = ""
    height: str = ""
    scale: int = 100
    """In percent of the size that it would have."""
    figwidth: str = ""
    """Of the figure with its caption; `image` for that of the picture."""
    classes: tuple[str, ...] = ()
    loading: Literal["embed", "link", "lazy"] = "embed"
    """Whether a page of HTML holds the picture, or refers to a file."""
    links: bool = True
    zoom: bool = True
    legend: str = ""
    """Text below the caption, its paragraphs with empty lines between them."""

    def size(self, natural: float) -> tuple[str, str]:
        """Width and height of the picture as CSS has them; one that follows from the other or from neither is empty.

        Args:
            natural: The width of the drawing in CSS pixels.
        """
        if self.scale == 100:
            return self.width, self.height
        width = self.width or ("" if self.height else f"{natural:.0f}px")
        return _scaled(width, self.scale), _scaled(self.height, self.scale)


def _scaled(length: str, percent: int) -> str:
    size = re.match(r"[\d.]+", length)
    return f"{float(size[0]) * percent / 100:g}{length[size.end() :]}" if size else ""


@dataclass(frozen=True, slots=True)
class DiagramRequest:
    """One diagram to draw."""

    recording: RecordingRequest
    drawing: DrawingOptions = field(default_factory=DrawingOptions)
    figure: FigureOptions = field(default_factory=FigureOptions)
    timeout_s: float = TIMEOUT_S
    depths: tuple[int, ...] = ()
    """The depths that readers can switch between; `drawing` has the first, which is shown to begin with."""
    left_out: tuple[str, ...] = ()
    """What is wrong with options that were written and do not hold, because a diagram can be drawn without them."""
    pattern: str = ""
    """The one of the settings that asks for it; empty if a page or a docstring does."""
    is_tried: bool = False
    """Whether its page shows nothing if it cannot be drawn, because it was not asked for by name."""

    @property
    def old(self) -> RecordingRequest | None:
        """The recording that it is compared with."""
        return replace(self.recording, target=self.drawing.diff) if self.drawing.diff else None

    def singles(self) -> tuple[DiagramRequest, ...]:
        """One request for each depth, or only itself."""
        if not self.depths:
            return (self,)
        return tuple(replace(self, drawing=replace(self.drawing, depth=depth), depths=()) for depth in self.depths)
