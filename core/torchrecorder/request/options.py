"""Every option, declared once: directive options, fence options, site settings and command-line flags come from here.

A value is always written as text and read by the option's own reader, so that `:depth: 2`, `depth: 2` and `--depth 2`
mean the same and fail with the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from torchrecorder.request import readers
from torchrecorder.request.values import TIMEOUT_S

Stage = Literal["recording", "drawing", "figure"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option: how it is written, read and explained."""

    name: str
    stage: Stage
    """What it changes: the recording, its drawing, or only the figure around it."""
    read: Callable[[str], Any]
    """From text to value; raises ValueError with what is wrong."""
    default: Any
    help: str
    site: bool = True
    """Whether it can be set for a whole site."""


OPTIONS: tuple[Option, ...] = (
    Option(
        "shape",
        "recording",
        readers.shape,
        "",
        "What the model is called with: `1,3`, `1,3; 1,8`, `ids=int64[1,16]<100`.",
    ),
    Option(
        "inputs",
        "recording",
        readers.dotted,
        "",
        "Dotted name of its inputs, or of a function that makes them.",
    ),
    Option(
        "mode",
        "recording",
        readers.one_of("eval", "train"),
        "eval",
        "Whether the model runs in `eval` or `train` mode.",
    ),
    Option(
        "run",
        "recording",
        readers.one_of("auto", "real", "fake", "meta"),
        "auto",
        "How it runs: `real` numbers, `fake` tensors, the `meta` device, or what suits its size.",
    ),
    Option("seed", "recording", readers.whole, 0, "Where random weights and inputs start."),
    Option(
        "recorder",
        "recording",
        readers.one_of("modern", "classic"),
        "modern",
        "`modern` shows operations as the code names them, `classic` as autograd does, with weights as nodes.",
    ),
    Option(
        "depends",
        "recording",
        readers.paths,
        (),
        "Files and folders it depends on that cannot be traced, from the project's folder, and variables as `$NAME`.",
    ),
    Option("timeout", "recording", readers.seconds, TIMEOUT_S, "Seconds a recording may take."),
    Option(
        "depth",
        "drawing",
        readers.depth,
        "auto",
        "0 the model as one box, 1 its children, …, `all`, `1-3` for a switch, or `auto`: what stays readable.",
    ),
    Option(
        "fold",
        "drawing",
        readers.yes_no,
        True,
        "Whether equal neighbours are drawn once, with their number.",
    ),
    Option(
        "focus",
        "drawing",
        str,
        "",
        "Path of the module to draw instead of the whole model.",
        site=False,
    ),
    Option(
        "expand",
        "drawing",
        readers.paths,
        (),
        "Paths of modules to open beyond the depth; `*` stands for any part.",
    ),
    Option(
        "collapse",
        "drawing",
        readers.paths,
        (),
        "Paths of modules to keep closed; `*` stands for any part.",
    ),
    Option("direction", "drawing", readers.direction, "TB", "`TB` draws downwards, `LR` to the right."),
    Option(
        "theme", "drawing", readers.one_of("modern", "classic"), "modern", "The look; `classic` is that of version 1."
    ),
    Option(
        "show",
        "drawing",
        readers.facts,
        (),
        "What to say besides: `flops`, `memory` and `dtypes` of tensors, `weights` as nodes.",
    ),
    Option("styler", "drawing", readers.dotted, "", "Dotted name of a class that chooses colours, lines and labels."),
    Option("hide", "drawing", readers.facts, (), "What not to say: `shapes`, `params`."),
    Option("table", "drawing", readers.yes_no, False, "Whether a table of the layers stands under the picture."),
    Option("caption", "figure", readers.required, "", "Text under the diagram.", site=False),
    Option(
        "alt",
        "figure",
        readers.required,
        "",
        "Text for readers who cannot see it; made from the model if not given.",
        site=False,
    ),
    Option("name", "figure", readers.required, "", "A name to refer to the diagram by.", site=False),
    Option(
        "align",
        "figure",
        readers.one_of("left", "center", "right"),
        "",
        "Where it stands: `left`, `center` or `right`.",
    ),
    Option("width", "figure", readers.length, "", "Its width, as in CSS: `400px`, `80%`."),
    Option("class", "figure", readers.paths, (), "Further CSS classes of the figure."),
    Option("links", "figure", readers.yes_no, True, "Whether layers and boxes link to the pages of their classes."),
    Option("zoom", "figure", readers.yes_no, True, "Whether readers can zoom, and open layers that are closed."),
)

BY_NAME = {option.name: option for option in OPTIONS}
