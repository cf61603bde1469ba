"""Signatures and docstrings of what is called: a model's class, a function, a forward."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeAlias

_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def parameters_of(function: Any, *, evaluated: bool = False) -> tuple[inspect.Parameter, ...] | None:
    """Parameters of a callable; None if it does not say them, as code in C and some mocks do not.

    If `evaluated`, annotations that are text are made objects, where that is possible.
    """
    for evaluates in dict.fromkeys((evaluated, False)):  # an annotation may name what is there for type checkers alone
        with suppress(Exception):  # it may be any object of the user's, and compute its signature
            return (*inspect.signature(function, eval_str=evaluates).parameters.values(),)
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


def example_of(function: Any, name: str, plain: type = object) -> str:
    """Python for an object with what the source of a function reads of one of its parameters.

    `cfg.model.width` makes it `SimpleNamespace(model=SimpleNamespace(width=…))`, `batch["x"]` makes it `{"x": …}`.
    Empty if it reads nothing but what all objects of the class `plain` have, or gives the name to something else.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except Exception:  # made by a program, or in C
        return ""
    nodes = sorted((it for it in ast.walk(tree) if isinstance(it, ast.expr)), key=lambda it: (it.lineno, it.col_offset))
    methods = {node.func for node in nodes if isinstance(node, ast.Call)}
    read: _Fields = {}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return ""
        at = read
        for step, is_attribute in (_way(node, name) or ()) if node not in methods else ():
            if is_attribute and hasattr(plain, step):
                break
            at = at.setdefault((step, is_attribute), {})
    return _written(read) if read else ""


_Fields: TypeAlias = "dict[tuple[str, bool], _Fields]"
"""By the name of an attribute or key, and whether it is an attribute, what is read of that."""


def _way(node: ast.AST, name: str) -> list[tuple[str, bool]] | None:
    """The attributes and keys that lead from a parameter to an expression; None if none do."""
    match node:
        case ast.Name(id=known):
            return [] if known == name else None
        case ast.Attribute(value=holder, attr=attribute):
            step = attribute, True
        case ast.Subscript(value=holder, slice=ast.Constant(value=str(key))):
            step = key, False
        case ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[ast.Constant(value=str(key)), *_]):
            step = key, False
        case _:
            return None
    way = _way(holder, name)
    return None if way is None else [*way, step]


def _written(fields: _Fields) -> str:
    is_object = all(is_attribute for _, is_attribute in fields)
    parts = ((name, _written(inner) if inner else "…") for (name, _), inner in fields.items())
    text = ", ".join(f"{name}={part}" if is_object else f'"{name}": {part}' for name, part in parts)
    return f"SimpleNamespace({text})" if is_object else f"{{{text}}}"
