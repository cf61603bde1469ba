"""Every option, declared once: directive options, fence options, site options and command-line flags come from here.

A value is always written as text and read by the option's own reader, so that `:depth: 2`, `depth: 2` and `--depth 2`
mean the same and fail with the same words. A reader raises a ValueError that says what is wrong and what may be meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from torchrecorder.errors import did_you_mean
from torchrecorder.request.requests import COLUMN, FACTS, TIMEOUT_S, Depth, parse_target
from torchrecorder.request.shapes import format_shapes, parse_shapes

MAX_DEPTHS = 5
"""How many depths a reader may switch between."""

Stage = Literal["recording", "drawing", "figure"]
Value = str | int | float | bool | tuple[str, ...] | tuple[int, ...]

_PIXELS = {"px": 1, "em": 16, "rem": 16, "ex": 8, "ch": 8, "pt": 4 / 3, "cm": 37.8, "mm": 3.78, "in": 96}
"""In a unit; the others are parts of the page."""
NARROWEST, WIDEST = 240, 1600
"""The widths that a picture is laid out for, in CSS pixels."""
MAX_SCALE = 1000
"""In percent."""
_DEPTH = re.compile(r"(?P<first>[0-9]{1,9})(?: ?- ?(?P<last>[0-9]{1,9}))?")


@lru_cache(maxsize=256)
def read_shape(text: str) -> str:
    """Shapes of inputs, in one spelling."""
    return format_shapes(parse_shapes(text))


def read_dotted_name(text: str) -> str:
    """A dotted name, perhaps with literal arguments."""
    return str(parse_target(text))


def read_depth(text: str) -> Depth | tuple[int, ...]:
    """One depth, or those of a range such as `1-3`."""
    if text in ("auto", "all"):
        return "auto" if text == "auto" else "all"
    match = _DEPTH.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is not a valid depth{_near_depth(text)}: write 0 for the model as one box, 1 for its children,"
            " …, auto or all, or 1-3 to let readers switch"
        )
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if first > last:
        raise ValueError(f"{text!r} counts down: did you mean {last}-{first}?")
    if last - first >= MAX_DEPTHS:
        n, near = last - first + 1, f"{first}-{first + MAX_DEPTHS - 1}"
        raise ValueError(f"{text!r} is {n} depths, and readers switch between at most {MAX_DEPTHS}: write {near}")
    return first if first == last else tuple(range(first, last + 1))


def _near_depth(text: str) -> str:
    numbers = re.findall("[0-9]+", text)
    if len(numbers) == 2 and re.fullmatch(r"[0-9]+[^0-9.]+[0-9]+|[0-9]+\.\.+[0-9]+", text):
        return f", did you mean {numbers[0]}-{numbers[1]}?"
    if len(numbers) == 1 and re.fullmatch("[0-9]{1,9} ?[-–]", text):
        return f", did you mean {numbers[0]}-{int(numbers[0]) + 2}?"
    return did_you_mean(text.lower(), ("auto", "all"), lead=", ")


@dataclass(frozen=True, slots=True)
class OneOf:
    """A reader that takes these words only."""

    words: tuple[str, ...]
    spelled: Callable[[str], str] = str
    """How a text is written before it is looked for."""

    def __call__(self, text: str) -> str:
        if (found := self.spelled(text)) in self.words:
            return found
        more = did_you_mean(text.lower(), self.words, lead="; ")
        raise ValueError(f"{self.spelled(text)!r} is none of {', '.join(self.words)}{more}")


def one_of(*words: str) -> OneOf:
    """A reader that takes these words only."""
    return OneOf(words)


def read_yes_no(text: str) -> bool:
    """Whether it is so; an option without a value means yes."""
    if text.lower() in ("", "true", "yes", "on", "1"):
        return True
    if text.lower() in ("false", "no", "off", "0"):
        return False
    raise ValueError(f"{text!r} is neither yes nor no")


def read_whole_number(text: str) -> int:
    """A number of digits only."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise ValueError(f"{text!r} is not a whole number")


def read_seconds(text: str) -> float:
    """A positive number of seconds, up to a day."""
    try:
        seconds = float(text.removesuffix("s").strip())
    except ValueError:
        seconds = 0.0
    if 0 < seconds <= 86400:
        return seconds
    raise ValueError(f"{text!r} is not a valid number of seconds")


read_direction = OneOf(("TB", "LR"), str.upper)
"""Where the data flows; lower case is understood."""


def read_words(text: str) -> tuple[str, ...]:
    """Words, with spaces or commas between them."""
    return tuple(text.replace(",", " ").split())


def read_facts(text: str) -> tuple[str, ...]:
    """What can be shown or hidden."""
    read = one_of(*FACTS)
    return tuple(read(word) for word in read_words(text))


def read_width(text: str) -> str:
    """A width as in CSS; a bare number is of pixels."""
    if re.fullmatch(r"\d+(\.\d+)?(px|em|rem|ex|ch|pt|cm|mm|in|vw|%)?", text, re.ASCII):
        return text if not text[-1].isdigit() else f"{text}px"
    raise ValueError(f"{text!r} is not a valid width: write 400px or 80%")


def read_height(text: str) -> str:
    """A height as in CSS; a bare number is of pixels."""
    if re.fullmatch(r"\d+(\.\d+)?(px|em|rem|ex|ch|pt|cm|mm|in|vh)?", text, re.ASCII):
        return text if not text[-1].isdigit() else f"{text}px"
    raise ValueError(f"{text!r} is not a valid height: write 400px or 80vh")


def read_scale(text: str) -> int:
    """A percentage of the usual size."""
    digits = text.removesuffix("%").strip()
    if digits.isascii() and digits.isdigit() and 1 <= int(digits) <= MAX_SCALE:
        return int(digits)
    raise ValueError(f"{text!r} is not a valid scale: write a percentage from 1 to {MAX_SCALE}, such as 50")


def read_figwidth(text: str) -> str:
    """The width of a figure, or the word for that of its picture."""
    if text == "image":
        return text
    try:
        return read_width(text)
    except ValueError as error:
        raise ValueError(f"{error}, or image") from error


def pixels(width: str) -> int:
    """How many CSS pixels a width is about; that of a page's column if it is not given."""
    found = re.fullmatch(r"([\d.]+)(\D*)", width, re.ASCII)
    if found is None:
        return COLUMN
    size = float(found[1]) * _PIXELS.get(found[2], COLUMN / 100)
    return round(min(max(size, NARROWEST), WIDEST))


def read_text(text: str) -> str:
    """Any text that is not empty."""
    if not text:
        raise ValueError("a text is expected")
    return text


_WRITTEN: dict[object, str] = {
    read_shape: "SHAPES",
    read_dotted_name: "NAME",
    read_depth: "DEPTH",
    read_yes_no: "{yes,no}",
    read_whole_number: "NUMBER",
    read_seconds: "SECONDS",
    read_words: "NAMES",
    read_facts: "FACTS",
    str: "PATH",
}
"""What stands for a value in a line of help, by its reader."""


class Option(NamedTuple):
    """One option: how it is written, read and explained."""

    name: str
    stage: Stage
    """What it changes: the recording, its drawing, or only the figure around it."""
    read: Callable[[str], Value]
    """From text to value; raises ValueError with what is wrong."""
    default: Value
    help: str
    site: bool = True
    """Whether it can be set for a whole site."""

    def written(self) -> str:
        """How its value is written, in a word or its choices: `SHAPES`, `{eval,train}`."""
        if isinstance(self.read, OneOf):
            return f"{{{','.join(self.read.words)}}}"
        return _WRITTEN.get(self.read, self.name.upper())


OPTIONS: tuple[Option, ...] = (
    Option(
        "shape", "recording", read_shape, "", "What the model is called with: `1,3`, `1,3; 1,8`, `ids=int64[1,16]<100`."
    ),
    Option("inputs", "recording", read_dotted_name, "", "Dotted name of its inputs, or of a function that makes them."),
    Option("mode", "recording", one_of("eval", "train"), "eval", "Whether the model runs in `eval` or `train` mode."),
    Option(
        "run",
        "recording",
        one_of("auto", "real", "fake", "meta"),
        "auto",
        "How it runs: `real` numbers, `fake` tensors, the `meta` device, or what suits its size.",
    ),
    Option("seed", "recording", read_whole_number, 0, "Seed of the random weights and inputs."),
    Option(
        "recorder",
        "recording",
        one_of("modern", "classic"),
        "modern",
        "`modern` shows operations as the code names them, `classic` as autograd does, with weights as nodes.",
    ),
    Option(
        "depends",
        "recording",
        read_words,
        (),
        "Files and folders it depends on that cannot be traced, from the project's folder, and variables as `$NAME`.",
    ),
    Option("timeout", "recording", read_seconds, TIMEOUT_S, "Seconds a recording may take."),
    Option(
        "depth",
        "drawing",
        read_depth,
        "auto",
        "0 the model as one box, 1 its children, …, `all`, `1-3` for a switch, or `auto`: what stays readable.",
    ),
    Option("fold", "drawing", read_yes_no, True, "Whether equal neighbours are drawn once, with their number."),
    Option("focus", "drawing", str, "", "Path of the module to draw instead of the whole model.", site=False),
    Option("expand", "drawing", read_words, (), "Paths of modules to open beyond the depth; `*` stands for any part."),
    Option("collapse", "drawing", read_words, (), "Paths of modules to keep closed; `*` stands for any part."),
    Option("direction", "drawing", read_direction, "TB", "`TB` draws downwards, `LR` to the right."),
    Option(
        "layout",
        "drawing",
        one_of("paper", "layered"),
        "paper",
        "`paper` lays it out like a figure of a paper where that is readable, `layered` always as Graphviz does.",
    ),
    Option("theme", "drawing", one_of("modern", "classic"), "modern", "The look; `classic` is that of version 1."),
    Option("grey", "drawing", read_yes_no, False, "Whether it is drawn in shades of grey, for print."),
    Option("foot", "drawing", read_yes_no, True, "Whether files say at the foot of the picture what it does not show."),
    Option(
        "show",
        "drawing",
        read_facts,
        (),
        "What to say besides: `flops`, `memory` and `dtypes` of tensors, `weights` as nodes.",
    ),
    Option("styler", "drawing", read_dotted_name, "", "Dotted name of a class that chooses colours, lines and labels."),
    Option("hide", "drawing", read_facts, (), "What not to say: `shapes`, `params`."),
    Option(
        "diff",
        "drawing",
        read_dotted_name,
        "",
        "Dotted name of another model, recorded with the same options: what differs from it is marked.",
        site=False,
    ),
    Option("table", "drawing", read_yes_no, False, "Whether a table of the layers stands under the picture."),
    Option("caption", "figure", read_text, "", "Text under the diagram.", site=False),
    Option(
        "alt",
        "figure",
        read_text,
        "",
        "Text for readers who cannot see it; made from the model if not given.",
        site=False,
    ),
    Option("name", "figure", read_text, "", "A name to refer to the diagram by.", site=False),
    Option("align", "figure", one_of("left", "center", "right"), "", "Where it stands: `left`, `center` or `right`."),
    Option("width", "figure", read_width, "", "Its width, as in CSS: `400px`, `80%`; it is laid out for that."),
    Option("height", "figure", read_height, "", "Its height, as in CSS: `400px`, `80vh`."),
    Option("scale", "figure", read_scale, 100, "Its size in percent of what it would be."),
    Option(
        "figwidth", "figure", read_figwidth, "", "Width of the figure with its caption, or `image`: as its picture."
    ),
    Option("class", "figure", read_words, (), "Further CSS classes of the figure."),
    Option("figclass", "figure", read_words, (), "The same, under the name that `figure` has for it."),
    Option(
        "loading",
        "figure",
        one_of("embed", "link", "lazy"),
        "embed",
        "`embed` puts it into the page; `link` into a file, `lazy` into one that is loaded when it is seen.",
    ),
    Option("links", "figure", read_yes_no, True, "Whether layers and boxes link to the pages of their classes."),
    Option("zoom", "figure", read_yes_no, True, "Whether readers can zoom, and open layers that are closed."),
)
