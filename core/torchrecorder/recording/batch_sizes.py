"""Sizes of the batch in the hands of a model's code: ints like any, of which it is known what they depend on.

`x.view(1, -1)` and `x.view(x.shape[0], -1)` are one operation if the batch is 1. So the numbers that a forward gets for
axes of the batch are kept apart from others; arithmetic keeps what is known of them.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn


class Origin:
    """A size that may be the batch of a recording, whose code is given sizes that depend on it."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.is_refuted = False
        self.has_leaked = self.has_decided = False
        """Whether a plain number of the code may depend on the batch, and whether it asked if the batch is the
        number that it is, with another of which it may do something else."""
        self.is_confirmed = self.is_apart = False
        """Whether a layer that knows which axis is the batch agrees, and whether its examples were taken apart since:
        there may be as many tensors as it has examples."""


class BatchSize(int):
    """A size that depends on what may be the batch."""

    facts: Mapping[Origin, bool | None]
    """Whether it is a multiple of that; None if nothing is known of it. Else it was computed from one."""

    @classmethod
    def of(cls, size: int, facts: Mapping[Origin, bool | None]) -> BatchSize:
        new = cls(size)
        new.facts = facts
        return new

    @property
    def is_multiple(self) -> bool | None:
        """Whether it is a multiple of the one batch that it may depend on."""
        (fact,) = self.facts.values()
        return fact

    def seen(self, origin: Origin, all_of_it: Collection[Origin]) -> int:
        """The number for one that may be the batch of a recording; a size of another recording is doubtful."""
        size = int.__index__(self)
        is_plain = origin not in self.facts and not self.facts.keys().isdisjoint(all_of_it)
        return size if is_plain else BatchSize.of(size, {origin: self.facts.get(origin, False)})

    def __eq__(self, other: object) -> bool:
        theirs = other.facts if isinstance(other, BatchSize) else {}
        facts = {**self.facts, **theirs}
        is_equal = int.__eq__(self, other)
        asked = [origin for origin in self.facts.keys() ^ theirs.keys() if facts[origin] is not None]
        if not is_equal:  # of a multiple, other code runs for one batch alone
            asked = [origin for origin in asked if not facts[origin]]
        if asked:
            asking: FrameType | None = sys._getframe(1)
            while asking is not None and asking.f_globals is globals():
                asking = asking.f_back
            is_check = asking is not None and str(asking.f_globals.get("__name__")).startswith("torch.")
            for origin in asked:
                origin.has_decided |= not is_check
        return is_equal

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
        origins = {**self.facts, **(others[0].facts if others and isinstance(others[0], BatchSize) else {})}
        if type(result) is int and name not in _GIVING_PLAIN:
            return BatchSize.of(result, {origin: _fact(name, result, origin, self, *others) for origin in origins})
        if result is not NotImplemented or isinstance(others[0], (list, tuple)):  # which is repeated
            for origin in origins:
                origin.has_leaked = True
        return result

    return operation


def _fact(name: str, result: int, origin: Origin, size: BatchSize, other: Any = None, *_: object) -> bool | None:
    """Whether the result is a multiple of a batch on which one of the two depends, or both."""
    theirs = other.facts if isinstance(other, BatchSize) else {}
    if origin not in size.facts:
        return theirs[origin] and result > 0 and name == "mul"
    if origin in theirs:
        return size.facts[origin] and result > 0 and name == "add" and theirs[origin] is True
    is_part = name == "floordiv" and int.__index__(size) % (origin.batch * int.__index__(other)) == 0
    return size.facts[origin] and result > 0 and (is_part or name in ("mul", "rmul"))


_GIVING_PLAIN = ("int", "float", "divmod", "rdivmod", "ceil", "floor", "round", "trunc")
_OTHERS = (
    "mul rmul add radd sub rsub floordiv rfloordiv mod rmod pow rpow neg pos abs invert truediv rtruediv and or xor"
)
for _name in (*_GIVING_PLAIN, *_OTHERS.split(), "lshift", "rshift"):
    setattr(BatchSize, f"__{_name}__", _operation(_name))


NO_SIZES = frozenset((Tensor, nn.Parameter, int, float, bool, str, type(None), torch.dtype, torch.device))
"""Types of most arguments of operations: none is a BatchSize, or holds one."""


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


def sizes_in(items: Iterable[Any], sizes: list[BatchSize]) -> list[BatchSize]:
    """Append the sizes of the batch in arguments to `sizes`, and give it back."""
    for item in items:
        kind = type(item)
        if kind is BatchSize:
            sizes.append(item)
        elif kind is slice:
            sizes_in((item.start, item.stop, item.step), sizes)
        elif (kind is tuple or kind is list or kind is torch.Size) and not NO_SIZES.issuperset(map(type, item)):
            sizes_in(item, sizes)
    return sizes
