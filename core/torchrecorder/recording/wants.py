"""What the classes of a package want before they can be drawn, for a command that suggests settings for them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from torchrecorder.recording.examples import Way, arguments_found
from torchrecorder.recording.matching import models_in
from torchrecorder.recording.written.values import value_text
from torchrecorder.request import InputSpec, format_shapes, parse_shapes, why_class_not_tried
from torchrecorder.request.callables import parameters_of, required
from torchrecorder.trace.mentions import looking_once

_MOST_WAYS = 1
"""Of a class: the first is the surest."""


def wants(pattern: str, allow: Sequence[str]) -> dict[str, str]:
    """Facts of each class with a docstring that matches a pattern, as JSON by name.

    `kind` is why none is tried, `needs` the names of the arguments that have no defaults, `ways` where such were found:
    the text of each argument by name, what it is called with there as far as that is tensors, and the note.
    """
    found: dict[str, str] = {}
    _, models = models_in(pattern, allow)
    with looking_once():
        for name, cls in models.items():
            if isinstance(cls, type) and (cls.__doc__ or "").strip():
                needs = [parameter.name for parameter in required(parameters_of(cls))]
                kind = why_class_not_tried(name, cls)
                ways = [] if kind or not needs else [*islice(_ways(cls), _MOST_WAYS)]
                found[name] = json.dumps({"kind": kind, "needs": needs, "ways": ways})
    return found


def _ways(cls: type) -> Iterator[dict[str, Any]]:
    names = [it.name for it in parameters_of(cls) or () if it.kind in (it.POSITIONAL_ONLY, it.POSITIONAL_OR_KEYWORD)]
    for way in arguments_found(cls):
        texts = _texts({**dict(zip(names, way.args, strict=False)), **way.kwargs})
        if texts or not way.args:
            yield {"arguments": texts, "shape": _shape(way), "note": way.note, "grade": way.grade}


def _texts(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Those that are literals, as settings can have them."""
    texts = {name: value_text(value) for name, value in arguments.items()}
    return {name: text for name, text in texts.items() if _is_literal(text)}


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError):
        return False
    return True


def _shape(way: Way) -> str:
    """The shape option for what is called there with tensors alone, by position."""
    for _, args, kwargs in way.calls:
        if args and not kwargs and all(isinstance(it, InputSpec) for it in args):
            text = format_shapes(args)
            with suppress(ValueError):
                parse_shapes(text)
                return text
    return ""
