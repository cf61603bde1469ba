"""From what is written in a page, a configuration or a command to a request, with every problem there is.

The body of a fence is read here too; it is the same for every tool that reads Markdown:

    ```torchrecorder
    pkg.Net
    :shape: 1,3
    :caption: A long text
      goes on in an indented line.

    Text behind an empty line is the legend.
    ```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

from torchrecorder.errors import OptionError, did_you_mean, near_miss
from torchrecorder.request.options import OPTIONS, pixels
from torchrecorder.request.requests import (
    DiagramRequest,
    DrawingOptions,
    FigureOptions,
    RecordingRequest,
    parse_target,
    shown,
)

_BY_NAME = {option.name: option for option in OPTIONS}
_DEFAULTS = {option.name: option.default for option in OPTIONS}
_RECORDING = tuple(field.name for field in fields(RecordingRequest) if field.name in _BY_NAME)
_DRAWING = tuple(o.name for o in OPTIONS if o.stage == "drawing" and o.name not in ("depth", "show", "hide"))
_FIGURE = tuple(
    option.name for option in OPTIONS if option.stage == "figure" and option.name not in ("class", "figclass")
)

_OPTION_LINE = re.compile(r"(?::(?P<field>[\w-]+):|(?P<key>[\w-]+):)(?:\s+(?P<value>.*))?", re.ASCII)


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
    request = _drawable(target, written, site)
    if request.left_out:
        raise OptionError(request.left_out)
    return request


def _drawable(
    target: str | None, written: Mapping[str, str | None], site: Mapping[str, str] | None = None
) -> DiagramRequest:
    """The request with the defaults of options that are wrong, if only its look depends on them."""
    problems: list[str] = []
    name = ""
    if target and target.strip():
        try:
            name = str(parse_target(target))
        except ValueError as error:
            problems.append(str(error))
    else:
        problems.append("no model is named: write its dotted name, as in pkg.Net")
    given = _given((*{**(site or {}), **written}.items(),))
    if problems := [*problems, *given.problems]:
        raise OptionError((*problems, *given.left_out))
    recording = RecordingRequest(name, *given.recording)
    return DiagramRequest(recording, given.drawing, given.figure, given.timeout_s, given.depths, given.left_out)


class _Given(NamedTuple):
    """What the options of a diagram say, whatever its target is."""

    problems: tuple[str, ...]
    """Why no diagram can be drawn."""
    left_out: tuple[str, ...]
    """What is wrong with the other options."""
    recording: tuple[Any, ...]
    """The fields of a `RecordingRequest` behind the target."""
    drawing: DrawingOptions
    figure: FigureOptions
    timeout_s: float
    depths: tuple[int, ...]


@lru_cache(maxsize=256)  # the diagrams of a site mostly have the same options
def _given(written: tuple[tuple[str, str | None], ...]) -> _Given:
    problems: list[str] = []
    left_out: list[str] = []
    values = read_options(dict(written), problems, left_out)
    if values["shape"] and values["inputs"]:
        problems.append("shape and inputs both say what the model is called with; give one of them")
    classes = tuple(dict.fromkeys((*values["class"], *values["figclass"])))
    return _Given(
        tuple(problems),
        tuple(left_out),
        tuple(values[name] for name in _RECORDING),
        _drawing(values),
        FigureOptions(classes=classes, **{name: values[name] for name in _FIGURE}),
        values["timeout"],
        _depths(values),
    )


def read_values(given: Mapping[str, object]) -> dict[str, Any]:
    """The value of every option, of which a program gives some, each read as a directive would have it written.

    Raises:
        OptionError: With every problem there is.
    """
    problems: list[str] = []
    values = read_options({name: as_text(value) for name, value in given.items()}, problems, problems)
    if depths := _depths(values):
        problems.append(one_depth(depths))
    if problems:
        raise OptionError(tuple(problems))
    return values


def read_drawing(given: Mapping[str, object]) -> DrawingOptions:
    """The drawing options alone, of one picture.

    Raises:
        OptionError: With every problem there is, also of the other options.
    """
    return _drawing(read_values(given))


def as_text(value: object) -> str:
    """A value of Python or YAML as it would be written in a directive; none at all is an option without a value."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def one_depth(depths: tuple[int, ...]) -> str:
    """What is wrong with a range of depths where one picture is made."""
    return f"depth: {depths[0]}-{depths[-1]} lets readers of a page switch; one picture has one depth, as {depths[-1]}"


def read_options(written: Mapping[str, str | None], problems: list[str], left_out: list[str]) -> dict[str, Any]:
    """The value of every option, its default where nothing usable was written.

    Args:
        written: The options as text by name.
        problems: What is wrong with options of the recording, or with near misses of one, is added here.
        left_out: What is wrong with the others is added here.
    """
    values: dict[str, Any] = {**_DEFAULTS}
    for name, text in written.items():
        problem, meant = "", name
        if name not in _BY_NAME:
            advice = did_you_mean(name, _BY_NAME, f"known are {', '.join(sorted(_BY_NAME))}")
            problem, meant = f"unknown option {name!r}, {advice}", near_miss(name, _BY_NAME)
        else:
            try:
                values[name] = _BY_NAME[name].read("" if text is None else text.strip())
            except ValueError as error:
                problem = f"{name}: {error}"
        if problem:
            (problems if meant and _BY_NAME[meant].stage == "recording" else left_out).append(problem)
    return values


def site_options(written: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """Options for a whole site as `read_request` takes them, and what is wrong with the others.

    A wrong value for the site is reported once and left out, so that it does not break each diagram.
    """
    good: dict[str, str] = {}
    wrong: list[str] = []
    for name, value in ((str(name), value) for name, value in written.items()):  # YAML has other keys, too
        problems: list[str] = []
        text = as_text(value)
        if name in _BY_NAME and not _BY_NAME[name].site:
            problems.append(f"{name}: cannot be set for a whole site")
        else:
            read_options({name: text}, problems, problems)
        wrong += problems
        if not problems:
            good[name] = text
    return good, wrong


@dataclass(frozen=True, slots=True)
class Body:
    """What the body of a directive or a fence says."""

    target: str
    options: dict[str, str | None]
    """As written, by name; None where no value was."""
    problems: tuple[str, ...] = ()
    """Options that are given twice, and lines that cannot be read."""
    legend: tuple[str, ...] = ()
    """The lines of text at the end, behind an empty one."""

    def request(self, site: Mapping[str, str] | None = None) -> DiagramRequest:
        """The diagram it asks for; options that are wrong, but change only its look, are left out.

        Args:
            site: Options that hold where the body says nothing.

        Raises:
            OptionError: With every problem there is.
        """
        try:
            request = _drawable(self.target, self.options, site)
        except OptionError as error:
            raise OptionError((*self.problems, *error.problems)) from error
        if self.problems:
            raise OptionError((*self.problems, *request.left_out))
        if self.legend:
            return replace(request, figure=replace(request.figure, legend="\n".join(self.legend)))
        return request


def read_body(lines: Iterable[str], target: str = "", options: Mapping[str, str | None] | None = None) -> Body:
    """What the lines say, together with what stands above them.

    Args:
        lines: The body.
        target: Given if the target is not to be looked for.
        options: Those that are given already.
    """
    written, problems = dict(options or {}), []
    last, last_indent = "", 0  # the option that an indented line continues
    all_lines = [line.expandtabs() for line in lines]
    is_apart = False
    for number, line in enumerate(all_lines):
        text, indent = line.strip(), len(line) - len(line.lstrip())
        option = _OPTION_LINE.fullmatch(text)
        if not text:
            is_apart = True
            continue
        if option and is_apart and target and option["key"] and option["key"].lower() not in _BY_NAME:
            option = None  # a sentence such as "Note: …"
        if option:
            last, last_indent = (option["field"] or option["key"]).lower(), indent
            if last in written:
                problems.append(f"{last} is given twice")
            written[last] = option["value"]
        elif last and indent > last_indent:
            written[last] = f"{written[last] or ''} {text}".strip()
        elif target and is_apart:
            return Body(target, written, tuple(problems), tuple(all_lines[number:]))
        elif target:
            last = ""
            problems.append(f"cannot read {text!r}: the model is {target}, and an option is written `:depth: 2`")
        else:
            last, target = "", text
        is_apart = False
    return Body(target, written, tuple(problems))


def _drawing(values: Mapping[str, Any]) -> DrawingOptions:
    depth = next(iter(_depths(values)), values["depth"])
    others = {name: values[name] for name in _DRAWING}
    room = pixels(values["width"])
    return DrawingOptions(depth, **others, show=shown(values["show"], values["hide"]), room=room)


def _depths(values: Mapping[str, Any]) -> tuple[int, ...]:
    return values["depth"] if isinstance(values["depth"], tuple) else ()
