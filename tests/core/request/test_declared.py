"""What is written out beside the declaration of options, for editors and readers, says the same as it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from torchrecorder import capture, draw
from torchrecorder.request import OPTIONS, DrawingOptions, FigureOptions, Option, RecordingRequest
from torchrecorder.request.reading import as_text

BY_NAME = {option.name: option for option in OPTIONS}
HINTS = {
    name: hint
    for cls in (RecordingRequest, DrawingOptions, FigureOptions)
    for name, hint in get_type_hints(cls).items()
}
LISTS = str | Sequence[str]
"""What stands for a tuple of words in the signature of a program."""
OTHERWISE = {"shape", "inputs", "styler", "width"}
"""Options that a program gives as objects, or for print."""
OF_PAGES = {"recorder", "depends", "timeout", "diff", "table"}
"""Options of recordings and drawings that a program has no use for."""


def own(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function that are options."""
    return {name: it for name, it in inspect.signature(function).parameters.items() if name in BY_NAME}


@pytest.mark.parametrize("function", [draw, capture])
def test_a_signature_has_the_defaults_and_the_types_of_the_declaration(function: Callable[..., Any]) -> None:
    hints = get_type_hints(function, localns={"ExportedProgram": object})
    for name, parameter in own(function).items():
        if name in OTHERWISE:
            continue
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert parameter.default == BY_NAME[name].default, name
        declared = HINTS.get(name, tuple[str, ...])  # `hide` is part of `show`
        is_list = str(declared).startswith("tuple[")
        assert hints[name] == (LISTS if is_list else bool | LISTS if name == "fold" else declared), name


def test_a_program_can_say_all_that_a_page_says_of_its_recording_and_picture() -> None:
    of_pictures = {option.name for option in OPTIONS if option.stage != "figure"}
    assert {*own(draw)} == (of_pictures - OF_PAGES) | {"width"}
    assert {*own(capture)} == {"mode", "run", "seed", "recorder"}


def test_the_docstring_of_a_program_has_the_sentences_of_the_declaration() -> None:
    text = re.sub(r"\s+", " ", inspect.getdoc(draw) or "")
    for name in own(draw).keys() - OTHERWISE - {"depth"}:  # of which a program has one
        assert f"{name}: {BY_NAME[name].help}" in text, name


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_a_default_is_what_its_reader_makes_of_its_text(option: Option) -> None:
    if option.default in ("", ()):  # nothing was written
        return
    assert option.read(as_text(option.default)) == option.default


def test_every_option_fills_a_field() -> None:
    declared = [
        option
        for cls in (RecordingRequest, DrawingOptions, FigureOptions)
        for field in fields(cls)
        for option in field.metadata.get("options", ())
    ]
    assert len(declared) == len(OPTIONS) - 1  # `timeout` is of the request itself
