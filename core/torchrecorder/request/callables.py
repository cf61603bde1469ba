"""Signatures and docstrings of what is called: a model's class, a function, a forward."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def parameters_of(function: Any, *, evaluated: bool = False) -> tuple[inspect.Parameter, ...] | None:
    """Parameters of a callable; None if it does not say them, as code in C and some mocks do not.

    If `evaluated`, annotations that are text are made objects, where that is possible.
    """
    try:
        try:
            return (*inspect.signature(function, eval_str=evaluated).parameters.values(),)
        except (ValueError, TypeError):
            raise
        except Exception:  # an annotation may name what is only there for type checkers
            return (*inspect.signature(function).parameters.values(),)
    except Exception:  # it may be any object of the user's, and compute its signature
        return None


def required(parameters: Iterable[inspect.Parameter] | None) -> list[inspect.Parameter]:
    """Parameters for which something has to be given."""
    return [it for it in parameters or () if it.default is it.empty and it.kind not in _ANY_NUMBER]


def needed_arguments(function: Any) -> list[str]:
    """The names of what has to be given to a callable, as far as it says so."""
    return [parameter.name for parameter in required(parameters_of(function))]


def docstrings(cls: type) -> list[str]:
    """Docstrings that may show how an object of a class is built: its own, and that of its constructor."""
    return [text for it in (cls, getattr(cls, "__dict__", {}).get("__init__")) if (text := inspect.getdoc(it))]
