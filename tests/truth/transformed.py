"""Operations inside `torch.vmap`, executed again: which levels were open, and which axes of which tensors they hid."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._functorch import pyfunctorch

_functorch: Any = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]

Levels = tuple[tuple[int, str], ...]
"""The number of examples of each `vmap` that runs, the outermost first, and what it does about random numbers."""


@dataclass(frozen=True)
class Batched:
    """Where a tensor stood some of whose axes are hidden: the value of the tensor inside."""

    value: int
    hidden: tuple[tuple[int, int], ...]
    """Axis and level of each, the innermost tensor's first."""

    def of(self, tensor: Tensor) -> Tensor:
        for axis, level in self.hidden:
            tensor = _functorch._add_batch_dim(tensor, axis, level)
        return tensor


def levels() -> Levels:
    """What runs now.

    Raises:
        NotImplementedError: It is another transform than `vmap`, whose tensors do not outlive it.
    """
    if _functorch.peek_interpreter_stack() is None:
        return ()
    found = pyfunctorch.retrieve_all_functorch_interpreters()
    if not all(isinstance(one, pyfunctorch.VmapInterpreter) for one in found):
        raise NotImplementedError("what runs inside a derivative of torch.func cannot be executed again")
    return tuple((one.batch_size(), one.randomness()) for one in found)  # type: ignore[attr-defined]


def hidden(tensor: Tensor) -> tuple[tuple[int, int], ...]:
    """The axes that transforms hide, and the level of each; none for a tensor as it is."""
    found: list[tuple[int, int]] = []
    while _functorch.is_batchedtensor(tensor):
        found.append((_functorch.maybe_get_bdim(tensor), _functorch.maybe_get_level(tensor)))
        tensor = _functorch.get_unwrapped(tensor)
    return tuple(reversed(found))


def inside(tensor: Tensor) -> Tensor:
    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


@contextlib.contextmanager
def running(around: Levels) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for size, randomness in around:
            _functorch._vmap_increment_nesting(size, randomness)
            stack.callback(_functorch._vmap_decrement_nesting)
        yield
