"""Subrecorders of gradients, from hooks that a forward pass leaves on the tensors it sees."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.hooks.arguments import in_order
from torchrecorder.hooks.following import (
    Choose,
    OneInput,
    anything,
    follow_all,
    follow_first,
    followed,
    with_a_life_of_its_own,
)
from torchrecorder.hooks.gradients import Gathered, Gradients, Report, watched
from torchrecorder.hooks.subrecorder import Records, Subrecorder
from torchrecorder.hooks.two_handles import TwoHandles


class _OfGradients(Subrecorder):
    def _followed(self, value: Any, to_alias: Choose) -> Any:
        """`value`, or a copy with aliases in it; `None`, which leaves things as they are, where no alias was needed."""
        if not self._active:
            return None
        if self.data_method == "batch":
            seen = follow_all(value, to_alias, Gathered(self._keep_all))
        else:
            seen = follow_first(value, to_alias, self._keep)
        return None if seen is value else seen

    def _report(self) -> Report:
        """What takes the gradient of the only tensor that there is."""
        return self._keep if self._recorder.data_method == "sample" else self._keep_one

    def _keep(self, grad: Tensor) -> None:
        if self._wanted():
            self._record(_own(grad))

    def _keep_one(self, grad: Tensor) -> None:
        if self._wanted():
            self._record((_own(grad),))

    def _keep_all(self, grads: Gradients) -> None:
        if self._wanted():
            self._record(tuple(None if grad is None else _own(grad) for grad in grads))


def _own(grad: Tensor) -> Tensor:
    """A copy, as a leaf's `grad` may have the memory of this one, and be written to; not where that has a graph."""
    return grad if torch.is_grad_enabled() else grad.clone()


class _Open(threading.local):
    """The calls that run in this thread, the innermost last; `None` for one with nothing to look at afterwards."""

    def __init__(self) -> None:
        self.calls: list[OneInput | None] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return _Open, ()


class OfInputGradients(_OfGradients):
    """Records the gradients w.r.t. what a module was called with, as far as they come through that module."""

    def __init__(self, index: int, recorder: Records) -> None:
        super().__init__(index, recorder)
        self._open = _Open()

    def put_on(self, module: nn.Module) -> RemovableHandle:
        """Hook the module; each call gets aliases of its inputs, with the hooks on them."""
        before = module.register_forward_pre_hook(self._before, with_kwargs=True)
        return TwoHandles(before, module.register_forward_hook(self._after, always_call=True))

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if len(args) != 1 or kwargs or not isinstance(args[0], Tensor):
            self._open.calls.append(None)
            return self._followed((args, in_order(module, kwargs)), anything)
        if not self._active or not watched(args[0]):
            self._open.calls.append(None)
            return None
        call = OneInput(args[0], self._report())
        self._open.calls.append(call)
        return (call.shown,), kwargs

    def _after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        calls = self._open.calls
        if calls and (call := calls.pop()) is not None:
            call.after(output)


class OfOutputGradients(_OfGradients):
    """Records the gradients w.r.t. what a module gave."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        """Hook the module; each of its outputs gets a hook."""
        return module.register_forward_hook(self._after, with_kwargs=True)

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        to_alias = with_a_life_of_its_own(args, kwargs)
        if not isinstance(output, Tensor):
            return self._followed(output, to_alias)
        if not self._active or not watched(output):
            return None
        seen = followed(output, to_alias, self._report())
        return None if seen is output else seen
