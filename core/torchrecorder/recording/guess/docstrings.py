"""Inputs from docstrings: the shapes that that of a forward says, and the examples, which are read and never run."""

from __future__ import annotations

import ast
import inspect
import math
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from torchrecorder.recording.constructing import statements
from torchrecorder.recording.guess import layers
from torchrecorder.recording.guess.guess import Guess, by_name, parameters, required, specs_in
from torchrecorder.recording.guess.names import role_of
from torchrecorder.recording.guess.roles import input_for, masked
from torchrecorder.request import InputSpec

_AXES = r"(?P<axes>[^()\[\]`]*,[^()\[\]`]*)"
_SHAPE = re.compile(rf"(?:shapes?|:math:)[^()]{{0,40}}\({_AXES}[)`]")
_TYPED = re.compile(rf"\A[ `]*(?:torch\.)?\w*Tensor[ `)]*:?[ `]*[(\[]{_AXES}[)\]]")
"""A shape that stands behind a type, `x : torch.Tensor (batch, time, channels)`; an example says more."""
_SECTION = re.compile(r"^[ \t]*Shape:?[ \t]*\n((?:[ \t]*-? ?[Ii]nput.*\n?)+)", re.MULTILINE)
"""What torch writes of its layers, and others after it: `Shape:` and below it `- Input: (N, C, H, W)`."""
_OF_BATCH = r"\*|b|bs|bsz|batch(_?size)?"
_SIZES = {
    r"f|t|(num_)?frames?": 5,
    r"[hw](_?\{\w+\}|\d)?|(\w+_)?(height|width)": 32,
    r"c(_?\{?in\}?)?|(num_|in_)?channels?": 0,
    r".*(text|prompt|caption).*(len|length|tokens|seq)": 8,
    r"n|[ls](_?\{?in\}?)?|.*(len|length|tokens|seq|time|samples)": 16,
}
"""Axes by name, where no attribute of the model says their size; of 0 channels there are as many as a layer takes."""
_LONGEST = 1 << 13
"""Above it, the size of an attribute is that of real data, and a guess has a shorter axis."""


def from_docstring(model: nn.Module, batch: int, *, is_typed: bool = False) -> Iterator[Guess]:
    """The shapes that the forward's docstring says, for the others what a first layer takes, or their names.

    With `is_typed`, shapes behind types are looked for, and in a section of the class.
    """
    known = documented(model, batch, is_typed=is_typed)
    wanted = required(model) or [p for p in parameters(model) if p.name in known][:1]
    if not any(p.name in known for p in wanted):
        return
    main = next(iter(known.values()))
    found = {p.name: known.get(p.name) or input_for(p, model, main, batch) for p in wanted}
    yield Guess.named("from the docstring of its forward", masked(found))


def documented(model: nn.Module, batch: int, *, is_typed: bool = False) -> dict[str, InputSpec]:
    """Inputs that the forward's docstring describes, by parameter."""
    found: dict[str, InputSpec] = {}
    taken = {p.name: p for p in parameters(model)}
    said = by_name(inspect.getdoc(type(model).forward))
    for name, text in (*said, *_of_section(model)) if is_typed else said:
        patterns = (_SHAPE, _TYPED) if is_typed else (_SHAPE,)
        shapes = (_shape(text, pattern, model, batch) for pattern in patterns if name in taken)
        shape = next(filter(None, shapes), None)
        if shape is None:
            continue
        typed = f"{taken[name].annotation} {text.partition(')')[0]}"
        spec = input_for(taken[name], model, InputSpec(shape), batch)
        if isinstance(spec, InputSpec):
            is_integer = "LongTensor" in typed or "IntTensor" in typed or spec.dtype == "int64"
            dtype = "bool" if "BoolTensor" in typed else "int64" if is_integer else spec.dtype
            found.setdefault(name, replace(spec, shape=shape, dtype=dtype))
    return found


def _of_section(model: nn.Module) -> Iterator[tuple[str, str]]:
    if type(model).__module__.startswith("torch.nn."):  # whose attributes say it with their sizes
        return
    for doc in (inspect.getdoc(type(model).forward), inspect.getdoc(type(model))):
        for section in _SECTION.finditer(doc or ""):
            names = [p.name for p in required(model) or parameters(model)[:1]]
            yield from zip(names, (f"shape {line.partition(':')[2]}" for line in section[1].splitlines()), strict=False)


def _shape(text: str, pattern: re.Pattern[str], model: nn.Module, batch: int) -> tuple[int, ...] | None:
    """The first shape in the text all of whose axes have a known size, one with an axis for examples before others."""
    found: list[tuple[bool, tuple[int, ...]]] = []
    for written in pattern.finditer(re.sub(r"\\text(?:tt)?\{([^{}]*)\}", r"\1", text.replace("\\_", "_"))):
        words = [word for axis in written["axes"].split(",") if (word := axis.strip())]
        if words[:1] == ["N"]:  # any other N is a number of things
            words[0] = "batch"
        axes = [size for word in words if (size := _size(word, model, batch))]
        if axes and len(axes) == len(words) and "*" not in words[1:]:
            found.append((re.fullmatch(_OF_BATCH, words[0].lower()) is None, tuple(axes)))
    return min(found, key=lambda shape: shape[0])[1] if found else None


def _size(axis: str, model: nn.Module, batch: int) -> int | None:
    if axis.isdigit():
        return int(axis)
    if parts := re.fullmatch(r"(.+?) *([*/]) *(.+)", axis):
        left, right = _size(parts[1], model, batch), _size(parts[3], model, batch)
        return (left * right if parts[2] == "*" else left // right) if left and right else None
    word = re.sub(r"[ -]+", "_", axis.removeprefix("self.").removeprefix("config.")).lower()
    if re.fullmatch(_OF_BATCH, word):
        return batch
    config = getattr(model, "config", None)
    for holder in (config, model):
        size = holder.get(word) if isinstance(holder, Mapping) else getattr(holder, word, None)
        if type(size) is int and 0 < size <= _LONGEST:
            return size
    size = next((size for pattern, size in _SIZES.items() if re.fullmatch(pattern, word)), None)
    if size == 0:
        own = config.get("in_channels") if isinstance(config, Mapping) else getattr(model, "in_channels", None)
        return own if type(own) is int else next(layers.widths(model), 3)
    return size


_RANDOM = ("rand", "randn", "empty", "zeros", "ones", "Tensor")
_CASTS = {"long": "int64", "int": "int32", "bool": "bool", "float": "float32"}
_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
_LARGEST = 1 << 20
"""Numbers in an input above which an example is meant for real data: of many examples one is taken."""


def from_examples(model: nn.Module, batch: int) -> Iterator[Guess]:
    """Arguments that the examples call the model with: shapes of tensors that they make, and numbers."""
    if type(model).__module__.startswith("torch.nn."):
        return
    taken = {p.name: p for p in parameters(model) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)}
    for text in (inspect.getdoc(type(model).forward), inspect.getdoc(type(model))):
        known: dict[str, Any] = {}
        for statement in statements(text or ""):
            for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
                if _is_of_model(call):
                    given = _small(_given(call, [*taken], known))
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
    """Calls of what may be the model: neither a class nor a function of a module."""
    func = call.func
    if isinstance(func, ast.Attribute):
        return func.attr == "forward"
    return isinstance(func, ast.Call) or (isinstance(func, ast.Name) and not func.id[:1].isupper())


def _small(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments for one example, if there are more numbers than a guess has; nothing, if one has so many."""
    large = next((spec for spec in specs_in([*given.values()]) if math.prod(spec.shape) > _LARGEST), None)
    if large is None:
        return given
    of_all = {n: s for n, s in given.items() if isinstance(s, InputSpec) and s.shape[:1] == large.shape[:1]}
    is_one = len(large.shape) < 3 or large.shape[0] == 1
    return {} if is_one else _small(given | {n: replace(s, shape=(1, *s.shape[1:])) for n, s in of_all.items()})


_UNREAD = object()
"""In place of what an example gives, but does not write out."""


def _given(call: ast.Call, names: list[str], known: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by parameter; none, if it gives what the forward does not take."""
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
    return InputSpec(tuple(sizes), dtype, high=high)
