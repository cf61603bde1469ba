"""Integers that know that they are the batch: what `x.shape[0]` gives while a forward is recorded.

`x.view(1, -1)` and `x.view(x.shape[0], -1)` are one operation if the batch is 1. So the numbers that a forward gets for
axes of the batch are kept apart from others: they are ints like any, and arithmetic keeps what is known of them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Origin:
    """A recording whose code is given sizes that depend on its batch."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.has_leaked = self.has_decided = False
        """Whether a plain number of the code may depend on the batch, and whether it asked if the batch is a certain
        number, with another of which it may do something else."""


class BatchSize(int):
    """A size that depends on the batch."""

    origin: Origin
    is_multiple: bool | None
    """Whether it is a multiple of the batch; None if nothing is known of it. Else it was computed from one."""

    @classmethod
    def of(cls, size: int, origin: Origin, is_multiple: bool | None) -> BatchSize:
        new = cls(size)
        new.origin, new.is_multiple = origin, is_multiple
        return new

    def __eq__(self, other: object) -> bool:
        if self.is_multiple is not None and not isinstance(other, BatchSize):
            self.origin.has_decided = True
        return int.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    __hash__ = int.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int.__index__(self),)  # copies need not know


def _operation(name: str) -> Any:
    plain = getattr(int, f"__{name}__")

    def operation(self: BatchSize, *others: Any) -> Any:
        result = plain(self, *others)
        if type(result) is int and name not in _GIVING_PLAIN:
            return BatchSize.of(result, self.origin, self.is_multiple and result > 0 and _stays(name, self, *others))
        if result is not NotImplemented:
            self.origin.has_leaked = True
        return result

    return operation


def _stays(name: str, size: BatchSize, other: Any = None, *_: object) -> bool:
    """Whether the result is a multiple too."""
    if isinstance(other, BatchSize):
        return name == "add" and other.is_multiple is True
    return name in ("mul", "rmul") or (
        name == "floordiv" and int.__index__(size) % (size.origin.batch * int(other)) == 0
    )


_GIVING_PLAIN = ("int", "float", "divmod", "rdivmod", "ceil", "floor", "round", "trunc")
_OTHERS = (
    "mul rmul add radd sub rsub floordiv rfloordiv mod rmod pow rpow neg pos abs invert truediv rtruediv and or xor"
)
for _name in (*_GIVING_PLAIN, *_OTHERS.split(), "lshift", "rshift"):
    setattr(BatchSize, f"__{_name}__", _operation(_name))


NO_SIZES = frozenset((Tensor, nn.Parameter, int, float, bool, str, type(None), torch.dtype, torch.device))
"""Types of most arguments of operations, which are no such numbers and hold none."""


def mapped(item: Any, number: Any, tensor: Any = None) -> Any:
    """An argument with another number for each size of the batch in it, and another tensor for each tensor."""
    kind = type(item)
    if kind is BatchSize:
        return number(item)
    if kind is slice:
        return slice(*(mapped(end, number, tensor) for end in (item.start, item.stop, item.step)))
    if tensor is not None and issubclass(kind, Tensor):
        return tensor(item)
    is_sequence = kind is tuple or kind is list or kind is torch.Size
    if is_sequence and (tensor is not None or not NO_SIZES.issuperset(map(type, item))):
        return kind(mapped(inner, number, tensor) for inner in item)
    return item


def sizes_in(*items: Any) -> list[BatchSize]:
    """The sizes of the batch in arguments."""
    sizes: list[BatchSize] = []

    def note(size: BatchSize) -> BatchSize:
        sizes.append(size)
        return size

    mapped(items, note)
    return sizes
