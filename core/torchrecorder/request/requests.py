"""What one diagram is asked to be, once its target and every option is read: the declaration of all options.

`RecordingRequest` is all that decides the Graph and nothing that decides its picture; `DiagramRequest` adds the picture
and the figure around it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from torchrecorder.request.options import (
    COLUMN,
    Depth,
    Fact,
    Option,
    one_of,
    option,
    options_of,
    read_depth,
    read_dotted_name,
    read_facts,
    read_figwidth,
    read_fold,
    read_height,
    read_inputs_name,
    read_scale,
    read_seconds,
    read_shape,
    read_text,
    read_whole_number,
    read_width,
    read_words,
    read_yes_no,
    several,
)
from torchrecorder.request.targets import package_of

REVISION = 1
"""Raised when the same model and request give another Graph than before."""

TIMEOUT_S = 120.0
"""Seconds of a recording, most of which take about one: a loop without end must not hold up a build for long."""

TRIAL_S = 15.0
"""Seconds for a class that is only tried: a package has a hundred, and what takes longer is drawn when it is named."""

SHARE_BYTES = 1 << 30
"""Resident memory for such a class while others are tried: two, with the builder, take 2.5 GB."""

TRIAL_BYTES = 7 << 28
"""The same for one that is tried again alone, since it filled its share; with the builder it takes as much as two."""

Run = Literal["auto", "real", "fake", "meta"]
Mode = Literal["eval", "train"]
RecorderName = Literal["modern", "classic"]
ThemeName = Literal["modern", "classic"]
Direction = Literal["TB", "LR"]
LayoutName = Literal["paper", "layered"]
Align = Literal["", "left", "center", "right"]
Loading = Literal["embed", "link", "lazy"]

FACTS: tuple[Fact, ...] = get_args(Fact)
USUAL: tuple[Fact, ...] = ("shapes", "params")

_TO_TEXT = json.JSONEncoder(sort_keys=True).encode  # made once: `json.dumps` makes another for each key


def shown(show: Collection[str], hide: Collection[str]) -> tuple[Fact, ...]:
    """The facts that a picture says: the usual ones and those in `show`, without those in `hide`, in a fixed order."""
    return tuple(fact for fact in FACTS if (fact in USUAL or fact in show) and fact not in hide)


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """A model and the way it is called. Texts are in the spelling that their grammar gives back."""

    target: str
    """A worker answers a pattern in its place with the names that match."""
    shape: str = option(
        "", read_shape, "What the model is called with: `1,3`, `1,3; 1,8`, `ids=int64[1,16]<100`."
    )  # empty: the inputs are found
    inputs: str = option("", read_inputs_name, "Dotted name of its inputs, or of a function that makes them.")
    mode: Mode = option("eval", one_of(Mode), "Whether the model runs in `eval` or `train` mode.")
    run: Run = option(
        "auto", one_of(Run), "How it runs: `real` numbers, `fake` tensors, the `meta` device, or what suits its size."
    )
    seed: int = option(0, read_whole_number, "Seed of the random weights and inputs.")
    # It is part of the key, because another forward runs: `classic` records with gradients on.
    recorder: RecorderName = option(
        "modern",
        one_of(RecorderName),
        "`modern` shows operations as the code names them, `classic` as autograd does, with weights as nodes.",
    )
    depends: tuple[str, ...] = option(
        (),
        read_words,
        "Files and folders it depends on that cannot be traced, from the project's folder, and variables as `$NAME`.",
    )
    is_common: bool = False
    """Whether arguments and shape are meant for several classes, each of which takes what it can. Of a pattern: whether
    what its classes want is asked, and not only their names."""

    def key(self) -> str:
        """Names the request in the cache: the SHA-256 of its JSON, in hexadecimal digits."""
        facts = {"torchrecorder_request": REVISION, **self.to_json()}
        return hashlib.sha256(_TO_TEXT(facts).encode()).hexdigest()

    def root_module(self) -> str:
        """The top-level package or module the target lies in."""
        return package_of(self.target)

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data; `is_common` only if it is, so that other keys are those of before it was added."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "is_common" or self.is_common}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RecordingRequest:
        return RecordingRequest(**{**data, "depends": tuple(data.get("depends", ()))})


@dataclass(frozen=True, slots=True)
class DrawingOptions:
    depth: Depth = option(
        "auto",
        read_depth,
        "0 the model as one box, 1 its children, …, `all`, `1-3` for a switch, or `auto`: what stays readable.",
        join=lambda depth: depth[0] if isinstance(depth, tuple) else depth,
    )
    fold: bool | tuple[str, ...] = option(
        True,
        read_fold,
        "Whether what repeats is drawn once, with its number; or paths of what to fold, or after `!` not.",
    )
    focus: str = option("", str, "Path of the module to draw instead of the whole model.", site=False)
    expand: tuple[str, ...] = option(
        (), read_words, "Paths of modules to open beyond the depth; `*` stands for any part."
    )
    collapse: tuple[str, ...] = option(
        (), read_words, "Paths of modules or lists of modules to keep closed; `*` stands for any part."
    )
    direction: Direction = option("TB", one_of(Direction, str.upper), "`TB` draws downwards, `LR` to the right.")
    layout: LayoutName = option(
        "paper",
        one_of(LayoutName),
        "`paper` lays it out like a figure of a paper where that is readable, `layered` always as Graphviz does.",
    )
    theme: ThemeName = option("modern", one_of(ThemeName), "The look; `classic` is that of version 1.")
    grey: bool = option(False, read_yes_no, "Whether it is drawn in shades of grey, for print.")
    foot: bool = option(True, read_yes_no, "Whether files say at the foot of the picture what it does not show.")
    show: tuple[Fact, ...] = several(
        USUAL,
        Option(
            "show",
            read_facts,
            (),
            "What to say besides: `flops`, `memory` and `dtypes` of tensors, `weights` as nodes, `settings` of layers.",
        ),
        Option("hide", read_facts, (), "What not to say: `shapes`, `params`."),
        join=shown,
    )
    styler: str = option("", read_dotted_name, "Dotted name of a class that chooses colours, lines and labels.")
    diff: str = option(
        "",
        read_dotted_name,
        "Dotted name of another model, recorded with the same options: what differs from it is marked.",
        site=False,
    )
    table: bool = option(False, read_yes_no, "Whether a table of the layers stands under the picture.")
    room: int = COLUMN
    """The width in CSS pixels that the picture is laid out for; a picture may be wider if its parts are."""


@dataclass(frozen=True, slots=True)
class FigureOptions:
    """Options of the figure around the picture; front ends turn them into their own markup."""

    caption: str = option("", read_text, "Text under the diagram.", site=False)
    alt: str = option(
        "", read_text, "Text for readers who cannot see it; made from the model if not given.", site=False
    )
    name: str = option("", read_text, "A name to refer to the diagram by.", site=False)
    align: Align = option("", one_of(Align), "Where it stands: `left`, `center` or `right`.")
    width: str = option("", read_width, "Its width, as in CSS: `400px`, `80%`; it is laid out for that.")
    height: str = option("", read_height, "Its height, as in CSS: `400px`, `80vh`.")
    scale: int = option(100, read_scale, "Its size in percent of what it would be.")
    figwidth: str = option("", read_figwidth, "Width of the figure with its caption, or `image`: as its picture.")
    classes: tuple[str, ...] = several(
        (),
        Option("class", read_words, (), "Further CSS classes of the figure."),
        Option("figclass", read_words, (), "The same, under the name that `figure` has for it."),
        join=lambda *words: tuple(dict.fromkeys(sum(words, ()))),
    )
    loading: Loading = option(
        "embed",
        one_of(Loading),
        "`embed` puts it into the page; `link` into a file, `lazy` into one that is loaded when it is seen.",
    )
    links: bool = option(True, read_yes_no, "Whether layers and boxes link to the pages of their classes.")
    zoom: bool = option(True, read_yes_no, "Whether readers can zoom, and open layers that are closed.")
    facts: bool = option(False, read_yes_no, "Whether a line below says its parameters, FLOPs, memory and ends.")
    legend: str = ""
    """Text below the caption, its paragraphs with empty lines between them."""

    def size(self, natural: float) -> tuple[str, str]:
        """Width and height of the picture as CSS has them; one that follows from the other or from neither is empty.

        `natural` is the width of the drawing in CSS pixels.
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
    recording: RecordingRequest
    drawing: DrawingOptions = field(default_factory=DrawingOptions)
    figure: FigureOptions = field(default_factory=FigureOptions)
    timeout_s: float = option(TIMEOUT_S, read_seconds, "Seconds a recording may take.", name="timeout")
    depths: tuple[int, ...] = ()
    """The depths that readers can switch between; `drawing` has the first, which is shown to begin with."""
    left_out: tuple[str, ...] = ()
    """Problems of options that were written and do not hold, because a diagram can be drawn without them."""
    pattern: str = ""
    """The one of the settings that asks for it; empty if a page or a docstring does."""
    is_tried: bool = False
    """Whether its page shows nothing if it cannot be drawn, because it was not asked for by name."""
    is_ranked: bool = False
    """Whether its page shows nothing, too, if its picture would tell readers little."""
    defined: str = ""
    """Name of its class where that is defined, if a documented class is asked for by another."""

    @property
    def old(self) -> RecordingRequest | None:
        """The recording that it is compared with."""
        return replace(self.recording, target=self.drawing.diff) if self.drawing.diff else None

    @property
    def is_trial(self) -> bool:
        """Whether its recording may take less time and memory, because a whole package is tried."""
        return self.is_tried and "*" in self.pattern

    def singles(self) -> tuple[DiagramRequest, ...]:
        """A request for each depth, or only itself."""
        if not self.depths:
            return (self,)
        return tuple(replace(self, drawing=replace(self.drawing, depth=depth), depths=()) for depth in self.depths)


OPTIONS: tuple[Option, ...] = (
    *options_of(RecordingRequest, "recording"),
    *options_of(DiagramRequest, "recording"),
    *options_of(DrawingOptions, "drawing"),
    *options_of(FigureOptions, "figure"),
)
"""Every option, in the order of the reference."""
