"""Inputs from the examples in a model's docstring, `>>> net(torch.rand(1, 3, 32, 32))`, which are read, never run."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torchrecorder.recording.constructing import statements
from torchrecorder.recording.guess.guess import Guess, parameters
from torchrecorder.recording.guess.leaves import specs_in
from torchrecorder.recording.guess.names import role_of
from torchrecorder.recording.guess.roles import input_for, masked
from torchrecorder.request import InputSpec

_RANDOM = ("rand", "randn", "empty", "zeros", "ones", "Tensor")
_CASTS = {"long": "int64", "int": "int32", "bool": "bool", "float": "float32"}
_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
_LARGEST = 1 << 20
"""Numbers in an input above which an example is meant for real data: of many examples one is taken."""


def from_examples(model: nn.Module, batch: int) -> Iterator[Guess]:
    """What the examples call the model with: shapes of tensors that they make, and numbers."""
    if type(model).__module__.startswith("torch.nn."):
        return
    taken = {p.name: p for p in parameters(model) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)}
    for text in (inspect.getdoc(type(model).forward), inspect.getdoc(type(model))):
        known: dict[str, Any] = {}
        for statement in statements(text or ""):
            for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
                if _is_of_model(call):
                    given = _given(call, [*taken], known)
                    main = next(specs_in([*given.values()]), None)
                    unread = [name for name, value in given.items() if value is _UNREAD]
                    if main and all(role_of(name) in ("mask", "length") for name in unread):
                        given |= {name: input_for(taken[name], model, main, batch) for name in unread}
                        given = masked(given) if unread else given
                        yield Guess.named(f"from an example in the docstring of {type(model).__name__}", given)
            if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
                known.pop(target.id, None)
                value = _value(statement.value, known)
                if value is not None:
                    known[target.id] = value


def _is_of_model(call: ast.Call) -> bool:
    """Whether something is called that may be the model: neither a class nor a function of a module."""
    func = call.func
    if isinstance(func, ast.Attribute):
        return func.attr == "forward"
    return isinstance(func, ast.Call) or (isinstance(func, ast.Name) and not func.id[:1].isupper())


_UNREAD = object()
"""In place of what an example gives, but does not write out."""


def _given(call: ast.Call, names: list[str], known: dict[str, Any]) -> dict[str, Any]:
    """What the call gives to each parameter; nothing, if it gives what the forward does not take."""
    if len(call.args) > len(names) or any(word.arg not in names for word in call.keywords):
        return {}
    written = [*zip(names, call.args, strict=False), *((str(word.arg), word.value) for word in call.keywords)]
    given = {name: _value(node, known) for name, node in written}
    is_none = {name for name, node in written if isinstance(node, ast.Constant) and node.value is None}
    return {name: _UNREAD if value is None and name not in is_none else value for name, value in given.items()}


def _value(node: ast.expr, known: dict[str, Any]) -> Any:
    """A tensor, a number or several of them; None for what cannot be read."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        sides = _value(node.left, known), _value(node.right, known)
        return _ARITHMETIC[type(node.op)](*sides) if all(type(side) is int for side in sides) and sides[1] else None
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [_value(item, known) for item in node.elts]
        return None if None in items or not items else tuple(items) if isinstance(node, ast.Tuple) else items
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name = node.func.attr
    if name in _CASTS and not node.args:
        made = _value(node.func.value, known)
        return _cast(made, _CASTS[name]) if isinstance(made, InputSpec) else made
    if not isinstance(node.func.value, ast.Name) or node.func.value.id != "torch":
        return None
    arguments = [_value(argument, known) for argument in node.args]
    dtype = next((word.value.attr for word in node.keywords if isinstance(word.value, ast.Attribute)), "float32")
    if name == "tensor" and arguments and isinstance(arguments[0], (list, tuple)):
        return torch.tensor(arguments[0])
    if name in _RANDOM:
        spec = _spec(arguments, "float32" if dtype in ("float", "float32") else _CASTS.get(dtype, dtype))
        is_weight = name == "ones" and spec and spec.dtype == "float32" and len(spec.shape) == 1
        return torch.ones(spec.shape) if spec and is_weight else spec
    if name == "randint":
        *bounds, sizes = arguments or [None]
        is_known = isinstance(sizes, (tuple, list)) and bounds and type(bounds[-1]) is int
        return _spec([sizes], "int64", bounds[-1]) if is_known else None
    return None


def _cast(spec: InputSpec, dtype: str) -> InputSpec:
    high = (spec.high or 2) if dtype.startswith("int") else None
    return InputSpec(spec.shape, dtype, high=high)


def _spec(sizes: list[Any], dtype: str, high: int | None = None) -> InputSpec | None:
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = [*sizes[0]]
    if not all(type(size) is int and size > 0 for size in sizes) or dtype not in ("float32", "int64", "int32", "bool"):
        return None
    if len(sizes) > 2 and torch.Size(sizes).numel() > _LARGEST:
        sizes = [1, *sizes[1:]]
    if torch.Size(sizes).numel() > _LARGEST:
        return None
    return InputSpec(tuple(sizes), dtype, high=high)
