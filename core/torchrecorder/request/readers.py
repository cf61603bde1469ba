"""From the text of an option to its value; each raises a ValueError that says what is wrong and what may be meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache

from torchrecorder.request.shapes import format_shapes, parse_shapes
from torchrecorder.request.shown import FACTS
from torchrecorder.request.target import parse_target
from torchrecorder.request.values import Depth

MAX_DEPTHS = 5
"""How many depths a reader may switch between."""


@lru_cache(maxsize=256)
def shape(text: str) -> str:
    """Shapes of inputs, in one spelling."""
    return format_shapes(parse_shapes(text))


def dotted(text: str) -> str:
    """A dotted name, perhaps with literal arguments."""
    return str(parse_target(text))


def depth(text: str) -> Depth | tuple[int, ...]:
    """One depth, or those of a range such as `1-3`."""
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


def one_of(*words: str) -> Callable[[str], str]:
    """A reader that takes these words only."""

    def read(text: str) -> str:
        if text in words:
            return text
        near = get_close_matches(text.lower(), words, 1)
        raise ValueError(f"{text!r} is none of {', '.join(words)}" + (f"; did you mean {near[0]}?" if near else ""))

    return read


def yes_no(text: str) -> bool:
    """Whether it is so; nothing written means yes."""
    if text.lower() in ("", "true", "yes", "on", "1"):
        return True
    if text.lower() in ("false", "no", "off", "0"):
        return False
    raise ValueError(f"{text!r} is neither yes nor no")


def whole(text: str) -> int:
    """A number of digits only."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise ValueError(f"{text!r} is no whole number")


def seconds(text: str) -> float:
    """A positive number of seconds, up to a day."""
    try:
        seconds = float(text.removesuffix("s").strip())
    except ValueError:
        seconds = 0.0
    if 0 < seconds <= 86400:
        return seconds
    raise ValueError(f"{text!r} is no number of seconds")


def direction(text: str) -> str:
    """Where the data flows; lower case is understood."""
    return one_of("TB", "LR")(text.upper())


def paths(text: str) -> tuple[str, ...]:
    """Words, with spaces or commas between them."""
    return tuple(text.replace(",", " ").split())


def facts(text: str) -> tuple[str, ...]:
    """What can be shown or hidden."""
    read = one_of(*FACTS)
    return tuple(read(word) for word in paths(text))


def length(text: str) -> str:
    """A width as in CSS; a bare number is of pixels."""
    if re.fullmatch(r"\d+(\.\d+)?(px|em|rem|ex|ch|pt|cm|mm|in|vw|%)?", text, re.ASCII):
        return text if not text[-1].isdigit() else f"{text}px"
    raise ValueError(f"{text!r} is no width: write 400px or 80%")


def required(text: str) -> str:
    """Any text but none."""
    if not text:
        raise ValueError("a text is expected")
    return text
