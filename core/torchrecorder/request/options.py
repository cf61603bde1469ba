"""How an option is declared, and the readers that turn its text into its value.

Each option of a diagram is declared once, at the field of `request.requests` that holds its value: usual value, reader,
sentence. Directive options, fence options, options of a site, flags of the command and the reference are made from it.

A value is always written as text and read by the option's own reader, so that `:depth: 2`, `depth: 2` and `--depth 2`
mean the same and fail with the same words. A reader raises a ValueError that says what is wrong and what may be meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args

from torchrecorder.errors import did_you_mean
from torchrecorder.request.shapes import format_shapes, parse_shapes
from torchrecorder.request.targets import parse_target

MAX_DEPTHS = 5
"""Depths that a reader may switch between: so many buttons fit into a line."""

Stage = Literal["recording", "drawing", "figure"]
Value = str | int | float | bool | tuple[str, ...] | tuple[int, ...]
Depth = int | Literal["auto", "all"]
Fact = Literal["shapes", "params", "flops", "memory", "dtypes", "weights", "settings"]
"""Facts in a picture besides names and classes. `memory` is that of a tensor, said with its shape; `weights` draws
each parameter as a node; `settings` are all that a layer says of itself.
"""
T = TypeVar("T")

COLUMN = 720
"""The width of a page's column of text, in CSS pixels."""
NARROWEST, WIDEST = 240, 1600
"""The widths that a picture is laid out for, in CSS pixels."""
FEWEST_PIXELS = 16
"""The least width that a number without a unit may mean: a letter is as wide, so less stands for inches."""
MAX_SCALE = 1000
"""In percent: ten times is a poster; more is a slip of the keyboard."""
_PIXELS = {"px": 1, "em": 16, "rem": 16, "ex": 8, "ch": 8, "pt": 4 / 3, "cm": 37.8, "mm": 3.78, "in": 96}
"""Pixels in each unit; the other units are parts of the page."""
_DEPTH = re.compile(r"(?P<first>[0-9]{1,9})(?: ?- ?(?P<last>[0-9]{1,9}))?")


class Option(NamedTuple):
    name: str
    read: Callable[[str], Value]
    """From text to value; raises ValueError with what is wrong."""
    default: Value
    help: str
    site: bool = True
    """Whether it can be set for a whole site."""
    stage: Stage = "drawing"
    """The part that it changes: the recording, its drawing, or only the figure around it."""

    def written(self) -> str:
        """Word for its value in help, or its choices: `SHAPES`, `{eval,train}`."""
        if isinstance(self.read, OneOf):
            return f"{{{','.join(self.read.words)}}}"
        return _WRITTEN.get(self.read, self.name.upper())


def option(
    default: T,
    read: Callable[[str], Value],
    help: str,  # noqa: A002 (what else)
    *,
    name: str = "",
    site: bool = True,
    join: Callable[..., object] = lambda value: value,
) -> T:
    """A field of a dataclass that one option sets, named otherwise than the field if `name` is given.

    `join` makes the value of the field from that of the option.
    """
    return several(default, Option(name, read, cast("Value", default), help, site), join=join)


def several(default: T, *options: Option, join: Callable[..., object]) -> T:
    """A field of a dataclass whose value is joined from those of several options."""
    declared: T = field(default=default, metadata={"options": options, "join": join})
    return declared


def options_of(cls: type, stage: Stage) -> Iterator[Option]:
    for at in fields(cls):
        for declared in at.metadata.get("options", ()):
            yield declared._replace(name=declared.name or at.name, stage=stage)


def taken(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of those fields of a dataclass that options set, by name of the field."""
    joined: dict[str, Any] = {}
    for at in fields(cls):
        if options := at.metadata.get("options"):
            joined[at.name] = at.metadata["join"](*(values[each.name or at.name] for each in options))
    return joined


@lru_cache(maxsize=256)
def read_shape(text: str) -> str:
    return format_shapes(parse_shapes(text))


def read_dotted_name(text: str) -> str:
    return str(parse_target(text))


def read_inputs_name(text: str) -> str:
    if text.startswith(tuple("{[(0123456789")):
        advice = "name a function that gives it, as in inputs: pkg.example"
        with suppress(ValueError):
            advice = f"write shape: {read_shape(text)}"
        raise ValueError(f"{text!r} is an input, not the name of one: {advice}")
    return read_dotted_name(text)


def read_depth(text: str) -> Depth | tuple[int, ...]:
    """Depth, or those of a range such as `1-3`."""
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
    """A reader that takes some words only."""

    words: tuple[str, ...]
    spelled: Callable[[str], str] = str
    """Makes the spelling that is looked for."""

    def __call__(self, text: str) -> str:
        word = self.spelled(text)
        if word in self.words:
            return word
        more = did_you_mean(text.lower(), self.words, lead="; ")
        raise ValueError(f"{word!r} is none of {', '.join(self.words)}{more}")


def one_of(words: object, spelled: Callable[[str], str] = str) -> OneOf:
    """The reader for the words of a `Literal`."""
    return OneOf(tuple(word for word in get_args(words) if word), spelled)


def read_yes_no(text: str) -> bool:
    """Yes or no; an option without a value means yes."""
    if text.lower() in ("", "true", "yes", "on", "1"):
        return True
    if text.lower() in ("false", "no", "off", "0"):
        return False
    raise ValueError(f"{text!r} is neither yes nor no")


def read_fold(text: str) -> bool | tuple[str, ...]:
    """Yes or no, or paths of layers to fold, with `!` before those to leave apart."""
    words = read_words(text)
    if words and all("*" in word or word.startswith("!") for word in words):
        return words
    try:
        return read_yes_no(text)
    except ValueError as error:
        raise ValueError(f"{error}, nor a path with * or !, such as layers.*") from error


def read_whole_number(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise ValueError(f"{text!r} is not a whole number")


def read_seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s").strip())
    except ValueError:
        seconds = 0.0
    if 0 < seconds <= 86400:
        return seconds
    raise ValueError(f"{text!r} is not a valid number of seconds")


def read_words(text: str) -> tuple[str, ...]:
    """Words, with spaces or commas between them."""
    return tuple(text.replace(",", " ").split())


def read_facts(text: str) -> tuple[str, ...]:
    return tuple(one_of(Fact)(word) for word in read_words(text))


def read_width(text: str) -> str:
    """A width as in CSS; a bare number is of pixels."""
    return _length(text, "width", "80%", "vw|%")


def read_height(text: str) -> str:
    """A height as in CSS; a bare number is of pixels."""
    return _length(text, "height", "80vh", "vh")


def _length(text: str, what: str, other: str, relative: str) -> str:
    match = re.fullmatch(rf"(\d+(?:\.\d+)?)(px|em|rem|ex|ch|pt|cm|mm|in|{relative})?", text, re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not a valid {what}: write 400px or {other}")
    if match[2]:
        return text
    if float(text) < FEWEST_PIXELS:
        raise ValueError(f"{text!r} has no unit, and {text} pixels show nothing: write {text}in, {text}cm or {text}em")
    return f"{text}px"


def read_scale(text: str) -> int:
    digits = text.removesuffix("%").strip()
    if digits.isascii() and digits.isdigit() and 1 <= int(digits) <= MAX_SCALE:
        return int(digits)
    raise ValueError(f"{text!r} is not a valid scale: write a percentage from 1 to {MAX_SCALE}, such as 50")


def read_figwidth(text: str) -> str:
    if text == "image":
        return text
    try:
        return read_width(text)
    except ValueError as error:
        raise ValueError(f"{error}, or image") from error


def pixels(width: str) -> int:
    """CSS pixels of a width, about; those of a page's column if it is not given."""
    match = re.fullmatch(r"([\d.]+)(\D*)", width, re.ASCII)
    if match is None:
        return COLUMN
    size = float(match[1]) * _PIXELS.get(match[2], COLUMN / 100)
    return round(min(max(size, NARROWEST), WIDEST))


def read_text(text: str) -> str:
    if not text:
        raise ValueError("a text is expected")
    return text


_WRITTEN: dict[object, str] = {
    read_shape: "SHAPES",
    read_dotted_name: "NAME",
    read_inputs_name: "NAME",
    read_depth: "DEPTH",
    read_yes_no: "{yes,no}",
    read_fold: "{yes,no,PATHS}",
    read_whole_number: "NUMBER",
    read_seconds: "SECONDS",
    read_words: "NAMES",
    read_facts: "FACTS",
    str: "PATH",
}
"""Word for a value in a line of help, by its reader."""
