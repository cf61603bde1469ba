"""Every option, declared once: directive options, fence options, site settings and command-line flags come from here.

A value is always written as text and read by the option's own reader, so that `:depth: 2`, `depth: 2` and `--depth 2`
mean the same and fail with the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal

from torchrecorder.errors import OptionError
from torchrecorder.renderer.svg.themes import ThemeName
from torchrecorder.renderer.words.shown import FACTS, USUAL, Fact, shown
from torchrecorder.request import RecordingRequest, format_shapes, parse_shapes, parse_target

Stage = Literal["recording", "drawing", "figure"]
Depth = int | Literal["auto", "all"]

MAX_DEPTHS = 5
"""How many depths a reader may switch between."""
TIMEOUT_S = 120.0


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


def read_request(
    target: str | None, written: Mapping[str, str | None], site: Mapping[str, str] | None = None
) -> DiagramRequest:
    """The request that a directive, a fence or a command asks for.

    Args:
        target: The name of the model; None or empty if none was given.
        written: The options as text by name; None for an option without a value.
        site: Options of the whole site, used where `written` says nothing.

    Raises:
        OptionError: With every problem there is.
    """
    problems: list[str] = []
    name = _read_target(target, problems)
    values = read_options({**(site or {}), **written}, problems)
    if values.get("shape") and values.get("inputs"):
        problems.append("shape and inputs both say what the model is called with; give one of them")
    if problems:
        raise OptionError(tuple(problems))
    recording = {key: values[key] for key in ("shape", "inputs", "mode", "run", "seed", "recorder", "depends")}
    figure = {key: values[key] for key in ("caption", "alt", "name", "align", "width", "links", "zoom")}
    return DiagramRequest(
        RecordingRequest(name, **recording),
        _drawing(values),
        FigureOptions(**figure, classes=values["class"]),
        values["timeout"],
        _depths(values),
    )


def read_drawing(written: Mapping[str, str]) -> DrawingOptions:
    """The drawing options alone, of one picture.

    Raises:
        OptionError: With every problem there is.
    """
    problems: list[str] = []
    values = read_options(written, problems)
    if depths := _depths(values):
        problems.append(one_depth(depths))
    if problems:
        raise OptionError(tuple(problems))
    return _drawing(values)


def one_depth(depths: tuple[int, ...]) -> str:
    """What is wrong with a range of depths where one picture is made."""
    return f"depth: {depths[0]}-{depths[-1]} lets readers of a page switch; one picture has one depth, as {depths[-1]}"


def read_options(written: Mapping[str, str | None], problems: list[str]) -> dict[str, Any]:
    """The value of every option, its default where nothing usable was written; problems are added to the list."""
    values = {option.name: option.default for option in OPTIONS}
    for name, text in written.items():
        option = _BY_NAME.get(name)
        if option is None:
            problems.append(_unknown(name))
            continue
        try:
            values[name] = option.read("" if text is None else text.strip())
        except ValueError as error:
            problems.append(f"{name}: {error}")
    return values


def site_options(written: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """Options for a whole site as `read_request` takes them, and what is wrong with the others.

    A wrong value for the site is reported once and left out, so that it does not break each diagram.
    """
    good: dict[str, str] = {}
    wrong: list[str] = []
    for name, value in written.items():
        problems: list[str] = []
        text = _as_text(value)
        if name in _BY_NAME and not _BY_NAME[name].site:
            problems.append(f"{name}: cannot be set for a whole site")
        else:
            read_options({name: text}, problems)
        wrong += problems
        if not problems:
            good[name] = text
    return good, wrong


def _as_text(value: object) -> str:
    """A value of Python or YAML as it would be written in a directive."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return str(value)


def _drawing(values: Mapping[str, Any]) -> DrawingOptions:
    chosen = {option.name: values[option.name] for option in OPTIONS if option.stage == "drawing"}
    chosen["depth"] = next(iter(_depths(values)), chosen["depth"])
    show = shown(chosen.pop("show"), chosen.pop("hide"))
    return DrawingOptions(**chosen, show=show)


def _depths(values: Mapping[str, Any]) -> tuple[int, ...]:
    return values["depth"] if isinstance(values["depth"], tuple) else ()


def _read_target(target: str | None, problems: list[str]) -> str:
    if not target or not target.strip():
        problems.append("no model is named: write its dotted name, as in pkg.Net")
        return ""
    try:
        return str(parse_target(target))
    except ValueError as error:
        problems.append(str(error))
        return ""


def _unknown(name: str) -> str:
    near = get_close_matches(name, _BY_NAME, 1)
    advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(_BY_NAME))}"
    return f"unknown option {name!r}, {advice}"


def _shape(text: str) -> str:
    return format_shapes(parse_shapes(text))


def _dotted(text: str) -> str:
    return str(parse_target(text))


def _depth(text: str) -> Depth | tuple[int, ...]:
    if text in ("auto", "all"):
        return "auto" if text == "auto" else "all"
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    if found := _RANGE.fullmatch(text):
        return _range(text, int(found["first"]), int(found["last"]))
    raise ValueError(
        f"{text!r} is no depth{_near_depth(text)}: write 0 for the model as one box, 1 for its children, …,"
        " auto or all, or 1-3 to let readers switch"
    )


_RANGE = re.compile(r"(?P<first>[0-9]{1,9}) ?- ?(?P<last>[0-9]{1,9})")


def _range(text: str, first: int, last: int) -> int | tuple[int, ...]:
    if first > last:
        raise ValueError(f"{text!r} counts down: did you mean {last}-{first}?")
    if last - first >= MAX_DEPTHS:
        n, near = last - first + 1, f"{first}-{first + MAX_DEPTHS - 1}"
        raise ValueError(f"{text!r} is {n} depths, and readers switch between at most {MAX_DEPTHS}: write {near}")
    return first if first == last else tuple(range(first, last + 1))


def _near_depth(text: str) -> str:
    """A range that may have been meant, or a word."""
    numbers = re.findall("[0-9]+", text)
    if len(numbers) == 2 and re.fullmatch(r"[0-9]+[^0-9.]+[0-9]+|[0-9]+\.\.+[0-9]+", text):
        return f", did you mean {numbers[0]}-{numbers[1]}?"
    if len(numbers) == 1 and re.fullmatch("[0-9]{1,9} ?[-–]", text):
        return f", did you mean {numbers[0]}-{int(numbers[0]) + 2}?"
    near = get_close_matches(text.lower(), ("auto", "all"), 1)
    return f", did you mean {near[0]}?" if near else ""


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text in words:
            return text
        near = get_close_matches(text.lower(), words, 1)
        raise ValueError(f"{text!r} is none of {', '.join(words)}" + (f"; did you mean {near[0]}?" if near else ""))

    return read


def _yes_no(text: str) -> bool:
    if text.lower() in ("", "true", "yes", "on", "1"):
        return True
    if text.lower() in ("false", "no", "off", "0"):
        return False
    raise ValueError(f"{text!r} is neither yes nor no")


def _whole(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise ValueError(f"{text!r} is no whole number")


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s").strip())
    except ValueError:
        seconds = 0.0
    if 0 < seconds <= 86400:
        return seconds
    raise ValueError(f"{text!r} is no number of seconds")


def _direction(text: str) -> str:
    return _one_of("TB", "LR")(text.upper())


def _paths(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


def _facts(text: str) -> tuple[str, ...]:
    read = _one_of(*FACTS)
    return tuple(read(word) for word in _paths(text))


def _length(text: str) -> str:
    if re.fullmatch(r"\d+(\.\d+)?(px|em|rem|ex|ch|pt|cm|mm|in|vw|%)?", text, re.ASCII):
        return text if not text[-1].isdigit() else f"{text}px"
    raise ValueError(f"{text!r} is no width: write 400px or 80%")


def _required(text: str) -> str:
    if not text:
        raise ValueError("a text is expected")
    return text


OPTIONS: tuple[Option, ...] = (
    Option(
        "shape",
        "recording",
        _shape,
        "",
        "What the model is called with: `1,3`, `1,3; 1,8`, `ids=int64[1,16]<100`.",
    ),
    Option(
        "inputs",
        "recording",
        _dotted,
        "",
        "Dotted name of its inputs, or of a function that makes them.",
    ),
    Option(
        "mode",
        "recording",
        _one_of("eval", "train"),
        "eval",
        "Whether the model runs in `eval` or `train` mode.",
    ),
    Option(
        "run",
        "recording",
        _one_of("auto", "real", "fake", "meta"),
        "auto",
        "How it runs: `real` numbers, `fake` tensors, the `meta` device, or what suits its size.",
    ),
    Option("seed", "recording", _whole, 0, "Where random weights and inputs start."),
    Option(
        "recorder",
        "recording",
        _one_of("modern", "classic"),
        "modern",
        "`modern` shows operations as the code names them, `classic` as autograd does, with weights as nodes.",
    ),
    Option(
        "depends",
        "recording",
        _paths,
        (),
        "Files and folders it depends on that cannot be traced, from the project's folder, and variables as `$NAME`.",
    ),
    Option("timeout", "recording", _seconds, TIMEOUT_S, "Seconds a recording may take."),
    Option(
        "depth",
        "drawing",
        _depth,
        "auto",
        "0 the model as one box, 1 its children, …, `all`, `1-3` for a switch, or `auto`: what stays readable.",
    ),
    Option(
        "fold",
        "drawing",
        _yes_no,
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
        _paths,
        (),
        "Paths of modules to open beyond the depth; `*` stands for any part.",
    ),
    Option(
        "collapse",
        "drawing",
        _paths,
        (),
        "Paths of modules to keep closed; `*` stands for any part.",
    ),
    Option("direction", "drawing", _direction, "TB", "`TB` draws downwards, `LR` to the right."),
    Option("theme", "drawing", _one_of("modern", "classic"), "modern", "The look; `classic` is that of version 1."),
    Option(
        "show",
        "drawing",
        _facts,
        (),
        "What to say besides: `flops`, `memory` and `dtypes` of tensors, `weights` as nodes.",
    ),
    Option("styler", "drawing", _dotted, "", "Dotted name of a class that chooses colours, lines and labels."),
    Option("hide", "drawing", _facts, (), "What not to say: `shapes`, `params`."),
    Option("table", "drawing", _yes_no, False, "Whether a table of the layers stands under the picture."),
    Option("caption", "figure", _required, "", "Text under the diagram.", site=False),
    Option(
        "alt",
        "figure",
        _required,
        "",
        "Text for readers who cannot see it; made from the model if not given.",
        site=False,
    ),
    Option("name", "figure", _required, "", "A name to refer to the diagram by.", site=False),
    Option(
        "align",
        "figure",
        _one_of("left", "center", "right"),
        "",
        "Where it stands: `left`, `center` or `right`.",
    ),
    Option("width", "figure", _length, "", "Its width, as in CSS: `400px`, `80%`."),
    Option("class", "figure", _paths, (), "Further CSS classes of the figure."),
    Option("links", "figure", _yes_no, True, "Whether layers and boxes are links to the pages of their classes."),
    Option("zoom", "figure", _yes_no, True, "Whether readers can zoom, and open layers that are closed."),
)

_BY_NAME = {option.name: option for option in OPTIONS}
