"""Inputs as users give them in Python, and the ones that the option `inputs` names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchrecorder.errors import InputError, TargetError
from torchrecorder.recording.origin import innermost_origin
from torchrecorder.recording.target import load_object
from torchrecorder.request import parse_target

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments of a forward."""


def as_arguments(inputs: Any) -> Arguments:
    """The arguments that a user means by `inputs`.

    `(args, kwargs)` if it is a pair of a tuple or list and a dict with names for keys; else a tuple holds the
    positional arguments, a dict of names the keyword arguments, and anything else is the one argument.
    """
    if isinstance(inputs, tuple) and len(inputs) == 2 and isinstance(inputs[0], (tuple, list)) and _is_named(inputs[1]):
        return tuple(inputs[0]), dict(inputs[1])
    if isinstance(inputs, tuple):
        return inputs, {}
    return ((), dict(inputs)) if _is_named(inputs) else ((inputs,), {})


def load_arguments(dotted: str) -> Arguments:
    """The arguments that a dotted name stands for; if it is a function or class, what calling it gives.

    Raises:
        InputError: There is nothing of that name, or calling it raised.
    """
    try:
        target = parse_target(dotted)
        found = load_object(dotted, target)
    except (TargetError, ValueError) as error:
        raise InputError(f"the inputs {dotted} cannot be had: {error}") from error
    if not callable(found):
        return as_arguments(found)
    try:
        return as_arguments(found(*target.args, **target.kwargs))
    except Exception as error:
        where = innermost_origin(error)
        cause = f"{type(error).__name__}: {error}" + (f" ({where})" if where else "")
        raise InputError(f"calling {dotted} for the inputs failed: {cause}") from error


def _is_named(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
