"""Building the model of a target: with its arguments, else as the class itself shows how to build one.

A class that is documented with others is rarely built like all of them. What its own docstring builds it with,
`>>> attention = CBAM(in_channels=16, reduction_rate=4)`, is the author's word. It is read, never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from torchrecorder.recording.machine.large import built
from torchrecorder.request import Target
from torchrecorder.request.callables import docstrings, needed_arguments, parameters_of


class Built(NamedTuple):
    """The result of calling a class or function."""

    found: object
    note: str = ""
    """With which other arguments than those of the target; empty for its own."""


class _Way(NamedTuple):
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    note: str = ""


def constructed(target: Target, builder: Callable[..., object], seed: int, *, is_common: bool = False) -> Built:
    """The result of calling a class or function.

    Args:
        target: Has the arguments; without brackets, the examples of its docstring are tried where none are refused.
        builder: What it names.
        seed: What random weights are drawn from.
        is_common: Whether the arguments are meant for several classes, of which one takes those that it has.

    Raises:
        Exception: What the builder raised with the arguments of the target.
    """
    first: Exception | None = None
    for way in _ways(target, builder, is_common):
        try:
            return Built(built(partial(builder, *way.args, **way.kwargs), seed), way.note)
        except Exception as error:
            first = first or error
    assert first is not None
    raise first


def statements(text: str) -> Iterator[ast.stmt]:
    """The statements behind the prompts of Python in a docstring."""
    examples = re.findall(r"^[ \t]*>>> ?(.*(?:\n[ \t]*\.\.\. ?.*)*)", text, re.MULTILINE)
    for lines in examples:
        try:
            yield from ast.parse(re.sub(r"\n[ \t]*\.\.\. ?", "\n", lines)).body
        except SyntaxError:
            continue


def _ways(target: Target, builder: object, is_common: bool) -> Iterator[_Way]:
    kwargs = _accepted(builder, target.kwargs) if is_common else target.kwargs
    yield _Way(target.args, kwargs)
    if is_common and (target.args or kwargs) and not needed_arguments(builder):
        yield _Way((), {}, "built without arguments, since it cannot be built with those of its pattern")
    if is_common or not target.called:
        yield from _examples(builder)


def _accepted(builder: object, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments for which the builder has parameters; all, if it takes any or hides what it takes."""
    parameters = parameters_of(builder)
    if not parameters or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return kwargs
    names = {parameter.name for parameter in parameters}
    return {name: value for name, value in kwargs.items() if name in names}


def _examples(builder: object) -> Iterator[_Way]:
    """Arguments that the examples in the docstrings of a class build it with, where they are literals."""
    if not isinstance(builder, type):
        return
    for text in docstrings(builder):
        for statement in statements(text):
            for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
                if isinstance(call.func, (ast.Name, ast.Attribute)) and _last_name(call.func) == builder.__name__:
                    try:
                        args = tuple(map(ast.literal_eval, call.args))
                        kwargs = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
                    except (ValueError, TypeError):  # `nn.ReLU()`, `**config`
                        continue
                    shown = ast.unparse(ast.Call(ast.Name(builder.__name__), call.args, call.keywords))
                    yield _Way(args, kwargs, f"built as in an example of its docstring: {shown}")


def _last_name(func: ast.Name | ast.Attribute) -> str:
    return func.id if isinstance(func, ast.Name) else func.attr
