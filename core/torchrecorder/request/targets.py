"""The name of a model, as a page writes it: `pkg.Net`, `pkg.mod:Net`, `pkg.make_net` or `pkg.Net(width=64)`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_PATTERN = re.compile(r"[^\W\d]\w*(?:\.[\w*]+)+")
_TARGET = re.compile(rf"(?P<first>{_NAME})(?::(?P<second>{_NAME}))?\s*(?P<call>\(.*\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """A dotted name, and the literal arguments to call it with."""

    dotted: str
    """The whole name with dots only, `pkg.mod.Net`."""
    module: str | None
    """The part before the colon, if there is one; else the module is found by trying."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    called: bool = False
    """Whether arguments were written, if only `()`."""

    def __str__(self) -> str:
        name = self.dotted if self.module is None else f"{self.module}:{self.dotted[len(self.module) + 1 :]}"
        if not self.called:
            return name
        arguments = [*map(repr, self.args), *(f"{key}={value!r}" for key, value in self.kwargs.items())]
        return f"{name}({', '.join(arguments)})"


def parse_target(text: str) -> Target:
    """Target that the text names.

    Raises:
        ValueError: It is not a dotted name, or its arguments are not literals.
    """
    match = _TARGET.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text.strip()!r} names no model: write pkg.Net, pkg.mod:Net or pkg.Net(width=64)")
    module = match["first"] if match["second"] else None
    dotted = f"{module}.{match['second']}" if module else match["first"]
    if "." not in dotted:
        raise ValueError(f"{dotted!r} names no module: write pkg.{dotted}, or {dotted}.Net if {dotted} is the module")
    if match["call"] is None:
        return Target(dotted, module)
    args, kwargs = _arguments(match["call"])
    return Target(dotted, module, args, kwargs, called=True)


def is_pattern(text: str) -> bool:
    """Whether a text names all models of a package that match it, as `pkg.models.*` does, in place of one."""
    return "*" in text and _PATTERN.fullmatch(text) is not None


def matches(pattern: str, name: str) -> bool:
    """Whether a dotted name is meant by a pattern, in which `*` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def _arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        call = ast.parse(f"f{text}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"the arguments {text} are not valid Python: {error}") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"{text} is not a list of arguments")
    named = {keyword.arg: _literal(keyword.value) for keyword in call.keywords if keyword.arg is not None}
    if any(keyword.arg is None for keyword in call.keywords):
        raise ValueError("`**` cannot be used in the arguments of a target")
    return tuple(_literal(argument) for argument in call.args), named


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        advice = (
            "only numbers, texts, tuples, lists and dicts are allowed; for more, name a function that builds the model"
        )
        raise ValueError(f"the argument {ast.unparse(node)} is not a literal: {advice}") from error
