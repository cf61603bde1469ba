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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from torchrecorder.errors import OptionError, did_you_mean, near_miss
from torchrecorder.request.options import pixels, taken
from torchrecorder.request.requests import (
    OPTIONS,
    TRIAL_S,
    DiagramRequest,
    DrawingOptions,
    FigureOptions,
    RecordingRequest,
)
from torchrecorder.request.targets import is_pattern, parse_target

_BY_NAME = {option.name: option for option in OPTIONS}
_DEFAULTS = {option.name: option.default for option in OPTIONS}

_OPTION_LINE = re.compile(r"(?::(?P<field>[\w-]+):|(?P<key>[\w-]+):)(?:\s+(?P<value>.*))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Body:
    """Target and options as a directive or a fence has them, or the settings for a documented class."""

    target: str
    options: Mapping[str, str | None] = field(hash=False, default_factory=dict)
    """As written, by name; None where no value was."""
    problems: tuple[str, ...] = ()
    """Options that are given twice, and lines that cannot be read."""
    legend: tuple[str, ...] = ()
    """The lines of text at the end, behind an empty one."""
    pattern: str = ""
    """Of a documented class, the pattern of the settings that asks for it; empty if its docstring does."""
    is_tried: bool = False
    """Whether its page shows nothing if it cannot be drawn, because it was not asked for by name."""
    is_ranked: bool = False
    """Whether its page shows nothing, too, if its picture would tell readers little."""
    obstacle: str = ""
    """Why the class is not even tried unasked; empty if it may be."""
    defined: str = ""
    """Name of the class where it is defined; empty if that is not known."""
    fault: str = ""
    """Why nothing of it can be read."""
    is_listed: bool = False
    """Whether it is a line of a list, which may be a pattern over names of models."""

    @staticmethod
    def read(
        lines: Iterable[str], target: str = "", options: Mapping[str, str | None] | None = None, *, described: str = ""
    ) -> Body:
        """Body of some lines, below a target and options that are given already.

        `described` is the class in whose description they stand: the target, unless the first line names a model.
        """
        written, problems = dict(options or {}), []
        last, last_indent = "", 0  # the option that an indented line continues
        all_lines = [line.expandtabs() for line in lines]
        if described and not (all_lines and _names_model(all_lines[0])):
            target, all_lines = described, ["", *all_lines]
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

    def request(self, site: Mapping[str, str] | None = None) -> DiagramRequest:
        """The diagram it asks for; options that are wrong, but change only its look, are left out.

        `site` has the options that hold where the body says nothing.

        Raises:
            OptionError: With every problem there is.
        """
        if self.fault:
            raise OptionError((self.fault,))
        problems, name = [*self.problems], ""
        try:
            if not self.target.strip():
                raise ValueError("no model is named: write its dotted name, as in pkg.Net")
            if is_pattern(self.target) and not self.is_listed:
                raise ValueError(f"{self.target} is a pattern, which stands in a torchrecorder-models alone")
            name = self.target if is_pattern(self.target) else str(parse_target(self.target))
        except ValueError as error:
            problems.append(str(error))
        of_options, request = _given((*{**(site or {}), **self.options}.items(),))
        if problems := [*problems, *of_options]:
            raise OptionError((*problems, *request.left_out))
        # What a pattern with `*` says is for several classes, each of which takes what it can.
        is_common = "*" in self.pattern and (name.endswith(")") or bool(request.recording.shape))
        recording = replace(request.recording, target=name, is_common=is_common)
        figure = replace(request.figure, legend="\n".join(self.legend)) if self.legend else request.figure
        request = replace(request, recording=recording, figure=figure, pattern=self.pattern, defined=self.defined)
        request = replace(request, is_tried=self.is_tried, is_ranked=self.is_ranked)
        is_short = request.is_trial and "timeout" not in {**(site or {}), **self.options}
        return replace(request, timeout_s=TRIAL_S) if is_short else request


def read_request(
    target: str | None, written: Mapping[str, str | None], site: Mapping[str, str] | None = None
) -> DiagramRequest:
    """Request of a command or a program, in which nothing may be wrong.

    `written` and `site` are options as text by name.

    Raises:
        OptionError: With every problem there is.
    """
    request = Body(target or "", written).request(site)
    if request.left_out:
        raise OptionError(request.left_out)
    return request


@lru_cache(maxsize=256)  # the diagrams of a site mostly have the same options
def _given(written: tuple[tuple[str, str | None], ...]) -> tuple[tuple[str, ...], DiagramRequest]:
    """Problems that prevent a diagram, and the request that the options make, still without its model."""
    problems: list[str] = []
    left_out: list[str] = []
    values = read_options(dict(written), problems, left_out)
    if values["shape"] and values["inputs"]:
        problems.append("shape and inputs both say what the model is called with; give one of them")
    recording, figure = (
        RecordingRequest("", **taken(RecordingRequest, values)),
        FigureOptions(**taken(FigureOptions, values)),
    )
    more = {"depths": _depths(values), "left_out": tuple(left_out), **taken(DiagramRequest, values)}
    return tuple(problems), DiagramRequest(recording, _drawing(values), figure, **more)


def read_values(given: Mapping[str, object], *further: str) -> dict[str, Any]:
    """Value of every option, of which a program gives some, each read as a directive would have it written.

    `further` says what else is wrong with what the program was called with.

    Raises:
        OptionError: With every problem there is.
    """
    problems: list[str] = []
    values = read_options({name: as_text(value) for name, value in given.items()}, problems, problems)
    if depths := _depths(values):
        problems.append(one_depth(depths))
    if problems := [*problems, *further]:
        raise OptionError(tuple(problems))
    return values


def read_drawing(given: Mapping[str, object], *further: str) -> DrawingOptions:
    """The drawing options alone; raises as `read_values`, also for the other options."""
    return _drawing(read_values(given, *further))


def as_text(value: object) -> str:
    """A value of Python or YAML as it would be written in a directive; none at all is an option without a value."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def one_depth(depths: tuple[int, ...]) -> str:
    """Problem of a range of depths where one picture is made."""
    return f"depth: {depths[0]}-{depths[-1]} lets readers of a page switch; one picture has one depth, as {depths[-1]}"


def read_options(written: Mapping[str, str | None], problems: list[str], left_out: list[str]) -> dict[str, Any]:
    """Value of every option, its default where nothing usable was written.

    Args:
        written: The options as text by name.
        problems: Takes what is wrong with options of the recording, or with near misses of one.
        left_out: Takes what is wrong with the others.
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


def _names_model(line: str) -> bool:
    try:
        return bool(parse_target(line))
    except ValueError:
        return False


def _drawing(values: Mapping[str, Any]) -> DrawingOptions:
    return DrawingOptions(**taken(DrawingOptions, values), room=pixels(values["width"]))


def _depths(values: Mapping[str, Any]) -> tuple[int, ...]:
    return values["depth"] if isinstance(values["depth"], tuple) else ()


_PAIR = re.compile(r"(?P<name>[A-Za-z][\w-]*)=(?P<value>.*)", re.ASCII | re.DOTALL)
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "\"'"


def read_header(text: str) -> Body:
    """Body of the words; the lines below it may say more."""
    options, others, problems = read_words_of_options(text)
    target, *more = others or [""]
    problems += [f"cannot read {word!r}: the model is {target}, and an option is written `depth=2`" for word in more]
    return Body(target, options, tuple(problems))


def read_words_of_options(text: str) -> tuple[dict[str, str | None], list[str], list[str]]:
    """The options of a line, the words that are none, and what is wrong."""
    options: dict[str, str | None] = {}
    others, problems = [], []
    for word in _words(text):
        name, value = _option(word)
        if name in options and name != "class":
            problems.append(f"{name} is given twice")
        if name:
            options[name] = f"{options[name]} {value}" if name in options and name == "class" else value
        else:
            others.append(word)
    return options, others, problems


def _option(word: str) -> tuple[str, str]:
    """Name and value; no name if it is not an option. `.wide` is a class and `#net` a name, as in attribute lists."""
    if pair := _PAIR.fullmatch(word):
        value = pair["value"]
        is_quoted = len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]
        return pair["name"].lower(), value[1:-1] if is_quoted else value
    if len(word) > 1 and word[0] in ".#":
        return "class" if word[0] == "." else "name", word[1:]
    return "", ""


def _words(text: str) -> Iterator[str]:
    """Split at spaces and braces, not inside quotes and brackets; a value that ends with a comma goes on."""
    word, quote, depth = "", "", 0
    for char in text:
        if not quote and not depth and (char.isspace() or char in "{}"):
            if char.isspace() and "=" in word and word.rstrip().endswith((",", ";")):
                word += " "
            elif word:
                yield word.rstrip()
                word = ""
            continue
        word += char
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES and (depth or word in ("'", '"') or word[-2] in "= "):
            quote = char  # elsewhere it is an apostrophe
        else:
            depth = max(0, depth + (char in _OPENING) - (char in _CLOSING))
    if word:
        yield word.rstrip()
