"""What no check foresees: a step of ours that raises, in the tests of both front ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

NO_DIAGRAM = "No diagram of "


def raising(step: str, number: int, put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Have one call of a function, `module:Class.method`, raise, or all of them if no number is given."""
    module, _, names = step.partition(":")
    *outer, name = names.split(".")
    holder = import_module(module)
    for part in outer:
        holder = getattr(holder, part)
    real: Callable[..., Any] = getattr(holder, name)
    calls = []

    @wraps(real)
    def call(*args: Any, **named: Any) -> Any:
        calls.append(args)
        if len(calls) == number or not number:
            raise UnicodeError("unforeseen")
        return real(*args, **named)

    put(holder, name, call)
