"""Values that are read in code: what can be given to a constructor or a forward, and tensors by their shapes."""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import torch

from torchrecorder.request import InputSpec

LARGEST = 1 << 12
"""Items that an expression may make: what is built for a picture has no longer lists."""

_DEEPEST = 24
"""Containers within one another; a tree of objects has a dozen, and what holds itself any number."""


class _Unread:
    def __repr__(self) -> str:
        return "…"


UNREAD: Any = _Unread()
"""In place of what is not written out."""


class Made(NamedTuple):
    """An argument that is an object of a class: a module of torch or of the package, or a dataclass of it."""

    cls: type
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __repr__(self) -> str:
        return call_text(self.cls.__name__, self.args, self.kwargs)


Call = tuple[str, tuple[Any, ...], dict[str, Any]]
"""Arguments that something is called with, and where: the file and line, or nothing for a docstring."""
CallAt = tuple[int, tuple[Any, ...], dict[str, Any]]
"""The same with the line alone."""

Prepared = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method that sets something in what was built, `net.set_timestep(t)`, with its arguments."""


@dataclass(eq=False)
class Example:
    """One call of a class."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    line: int
    calls: list[CallAt] = field(default_factory=list)
    """Calls of what was built."""
    prepared: list[Prepared] = field(default_factory=list)


def items_in(value: Any, deepest: int = _DEEPEST) -> Iterator[Any]:
    """A value, and all that is in it, if it holds others; UNREAD in place of what lies too deep in it."""
    yield value if deepest else UNREAD
    if deepest and isinstance(value, (Mapping, list, tuple, set)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from items_in(item, deepest - 1)


def is_small(value: object) -> bool:
    """Whether it holds no more than what is built for a picture has: what grows in a loop may fill the memory."""
    sizes = (1 + (len(item) // LARGEST if isinstance(item, str) else 0) for item in items_in(value))
    return all(size <= LARGEST for size in accumulate(sizes))


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with other items in new containers."""
    if type(value) in (list, tuple, set):
        return type(value)(mapped(item, change) for item in value)
    return {key: mapped(item, change) for key, item in value.items()} if type(value) is dict else change(value)


def is_given(value: object) -> bool:
    """Whether all of a value is known, tensors by their shapes."""
    return not any(it is UNREAD or isinstance(it, (Example, ModuleType)) for it in items_in(value))


def is_read(value: object) -> bool:
    """Whether it is known and can be given to a constructor."""
    return is_given(value) and not any(isinstance(it, (InputSpec, torch.Tensor)) for it in items_in(value))


def made(value: Any) -> Any:
    """The value, with the objects made that are part of it, and with containers that nothing else has."""

    def change(item: Any) -> Any:
        return item.cls(*made(item.args), **made(item.kwargs)) if isinstance(item, Made) else copy.deepcopy(item)

    return mapped(value, change)


def call_text(name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    """The call as one writes it."""
    given = [*map(value_text, args), *(f"{key}={value_text(value)}" for key, value in kwargs.items())]
    return f"{name}({', '.join(given)})"


def value_text(value: Any) -> str:
    if type(value) in (list, tuple):
        items = ", ".join(map(value_text, value))
        return f"[{items}]" if type(value) is list else f"({items},)" if len(value) == 1 else f"({items})"
    if type(value) is dict:
        return "{" + ", ".join(f"{key!r}: {value_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    return value.__name__ if isinstance(value, (type, FunctionType)) else repr(value)


_FLOATS = ("float32", "float64", "float16", "bfloat16", "float", "double", "half")
CASTS = {"long": "int64", "int": "int32", "bool": "bool", "float": "float32"}
_EXACT = ("tensor", "linspace", "arange", "eye", "meshgrid", "Size")
"""Functions of torch whose numbers are written out."""
SHAPES = ("unsqueeze", "squeeze", "permute", "transpose", "reshape", "view", "repeat", "expand", "flatten")
_JOINS = ("stack", "cat", "concat")
TENSORS = (
    *("rand", "randn", "empty", "zeros", "ones", "Tensor", "FloatTensor", "full", "randint", *_EXACT, *_JOINS),
    *("rand_like", "randn_like", "zeros_like", "ones_like"),
)


def tensor(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A tensor by its shape, or by its numbers where they are written out."""
    if name in _JOINS:
        return reshaped(name, args[0], args[1:], kwargs)
    if name in _EXACT:
        counts = [it for it in (*args, *kwargs.values()) if isinstance(it, (int, float))]
        is_small = is_given(args) and max(map(abs, counts), default=0) < LARGEST
        given = {key: value for key, value in kwargs.items() if key not in ("device", "requires_grad")}
        return getattr(torch, name)(*args, **given) if is_small else UNREAD
    if name.endswith("_like"):
        return args[0]
    sizes = args[0] if name == "full" else kwargs.get("size", args)
    dtype = str(kwargs.get("dtype", torch.float32)).removeprefix("torch.")
    if name == "randint":
        *bounds, sizes = (*args, *([kwargs["size"]] if "size" in kwargs else []))
        high = kwargs.get("high", bounds[-1] if bounds else None)
        return _spec(sizes, "int64", high) if isinstance(sizes, (tuple, list)) and type(high) is int else UNREAD
    found = _spec(sizes, "float32" if dtype in _FLOATS else CASTS.get(dtype, dtype))
    is_weight = name == "ones" and found is not UNREAD and found.dtype == "float32" and len(found.shape) == 1
    return torch.ones(found.shape) if is_weight else found


def _spec(sizes: Sequence[Any], dtype: str, high: int | None = None) -> Any:
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    is_shape = all(type(size) is int and size > 0 for size in sizes)
    return InputSpec(tuple(sizes), dtype, high=high) if is_shape and dtype in {*CASTS.values()} else UNREAD


def cast(given: InputSpec, dtype: str) -> InputSpec:
    return InputSpec(given.shape, dtype, high=(given.high or 2) if dtype.startswith("int") else None)


def reshaped(name: str, given: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What an operation on the shape of a tensor, or of several, gives; torch itself says it."""
    several = [*given] if isinstance(given, (list, tuple)) else [given]
    is_exact = all(isinstance(it, torch.Tensor) for it in several)
    empty = [torch.empty(it.shape, device="meta") for it in several]
    function = getattr(torch if name in _JOINS else torch.Tensor, name)
    shape = function(empty if name in _JOINS else empty[0], *args, **kwargs).shape
    if not is_exact:
        return replace(several[0], shape=tuple(shape))
    exact = several if name in _JOINS else several[0]
    return function(exact, *args, **kwargs) if shape.numel() < LARGEST**2 else UNREAD
