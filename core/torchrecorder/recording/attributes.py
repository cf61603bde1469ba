"""The arguments of an operation that are no tensors, as a reader would write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

_ITEMS = 12
_CHARACTERS = 120
_SIMPLE = frozenset((bool, int, float, complex, str, bytes, type(None)))
_NAMED = (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.SymInt, torch.SymFloat, torch.SymBool)


def attributes(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, str]:
    """The arguments that are no tensors, by position or name. Never the address of anything."""
    found: dict[str, str] = {}
    for position, arg in enumerate(args):
        if type(arg) is not Tensor:  # most are, and this runs for every operation
            _add(found, str(position), arg)
    for name, arg in kwargs.items():
        _add(found, name, arg)
    return found


def _add(found: dict[str, str], name: str, arg: Any) -> None:
    if type(arg) in _SIMPLE:
        found[name] = repr(arg)[:_CHARACTERS]
    elif not (isinstance(arg, Tensor) or _only_tensors(arg)):
        found[name] = _text(arg)[:_CHARACTERS]


def _only_tensors(arg: Any) -> bool:
    return isinstance(arg, (list, tuple)) and bool(arg) and all(isinstance(item, Tensor) for item in arg)


def _text(arg: Any) -> str:
    if type(arg) in _SIMPLE:
        return repr(arg)
    if isinstance(arg, (list, tuple)):
        return _sequence(arg)
    if isinstance(arg, slice):
        return _slice(arg)
    if isinstance(arg, _NAMED):
        return str(arg)
    if arg is Ellipsis:
        return "..."
    return "tensor" if isinstance(arg, Tensor) else type(arg).__name__


def _sequence(arg: Sequence[Any]) -> str:
    items = [_text(item) for item in arg[:_ITEMS]]
    if len(arg) > _ITEMS:
        items.append("…")
    if isinstance(arg, list):
        return f"[{', '.join(items)}]"
    return f"({', '.join(items)}{',' if len(arg) == 1 else ''})"


def _slice(arg: slice) -> str:
    start, stop = ("" if end is None else _text(end) for end in (arg.start, arg.stop))
    return f"{start}:{stop}" + (f":{_text(arg.step)}" if arg.step is not None else "")
