"""From what is written in a page, a configuration or a command to a request, with every problem there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import lru_cache
from operator import itemgetter
from typing import Any

from torchrecorder.errors import OptionError
from torchrecorder.request.options import BY_NAME, OPTIONS
from torchrecorder.request.recording import RecordingRequest
from torchrecorder.request.shown import shown
from torchrecorder.request.target import parse_target
from torchrecorder.request.values import Depth, DiagramRequest, DrawingOptions, FigureOptions

_DEFAULTS = {option.name: option.default for option in OPTIONS}
_RECORDING = tuple(field.name for field in fields(RecordingRequest))[1:]
_SAID = ("show", "hide")
_DRAWING = (*_SAID, *(o.name for o in OPTIONS if o.stage == "drawing" and o.name not in ("depth", *_SAID)))
_FIGURE = tuple(option.name for option in OPTIONS if option.stage == "figure")
_recording_values, _drawing_values, _figure_values = (itemgetter(*names) for names in (_RECORDING, _DRAWING, _FIGURE))


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
    return DiagramRequest(
        RecordingRequest(name, *_recording_values(values)),
        _drawing(values),
        _figure(*_figure_values(values)),
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
    values = {**_DEFAULTS}
    for name, text in written.items():
        option = BY_NAME.get(name)
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
        if name in BY_NAME and not BY_NAME[name].site:
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
    return _drawing_of(next(iter(_depths(values)), values["depth"]), *_drawing_values(values))


@lru_cache(maxsize=256)
def _drawing_of(depth: Depth, show: tuple[str, ...], hide: tuple[str, ...], *others: Any) -> DrawingOptions:
    """The diagrams of a site mostly share them."""
    return DrawingOptions(depth, **dict(zip(_DRAWING[len(_SAID) :], others, strict=True)), show=shown(show, hide))


@lru_cache(maxsize=256)
def _figure(*values: Any) -> FigureOptions:
    named = dict(zip(_FIGURE, values, strict=True))
    return FigureOptions(classes=named.pop("class"), **named)


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
    near = get_close_matches(name, BY_NAME, 1)
    advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(BY_NAME))}"
    return f"unknown option {name!r}, {advice}"
