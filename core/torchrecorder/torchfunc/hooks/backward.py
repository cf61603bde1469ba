"""Hooks that show the gradients of what a module was called with and of what it gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.running.handles import Handles
from torchrecorder.running.nested import named_tensors
from torchrecorder.torchfunc.hooks.gradients import (
    Choose,
    Gathered,
    Gradients,
    every_tensor,
    follow_all,
    follow_first,
    followed,
    given_or_leaf,
    watched,
)
from torchrecorder.torchfunc.hooks.subrecorder import Subrecorder, in_order


class _OfGradients(Subrecorder):
    def _followed(self, value: Any, to_alias: Choose) -> Any:
        """`value`, or a copy with aliases in it; `None`, which leaves things as they are, where no alias was needed."""
        if not self._active:
            return None
        if isinstance(value, Tensor):
            report = self._keep if self.data_method == "sample" else lambda grad: self._keep_all((grad,))
            seen = followed(value, to_alias, report) if watched(value) else value
        elif self.data_method == "sample":
            seen = follow_first(value, to_alias, self._keep)
        else:
            seen = follow_all(value, to_alias, Gathered(self._keep_all))
        return None if seen is value else seen

    def _keep(self, grad: Tensor) -> None:
        if self._wanted():
            self._record(_own(grad))

    def _keep_all(self, grads: Gradients) -> None:
        if self._wanted():
            self._record(tuple(None if grad is None else _own(grad) for grad in grads))


def _own(grad: Tensor) -> Tensor:
    """A copy, as a leaf's `grad` may have the memory of this one, and be written to; not where that has a graph."""
    return grad if torch.is_grad_enabled() else grad.clone()


class OfInputGradients(_OfGradients):
    """Records the gradients w.r.t. what a module was called with, as far as they come through that module."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        return module.register_forward_pre_hook(self._before, with_kwargs=True)

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if len(args) != 1 or kwargs or not isinstance(args[0], Tensor):
            return self._followed((args, in_order(module, kwargs)), every_tensor)
        seen = self._followed(args[0], every_tensor)
        return None if seen is None else ((seen,), kwargs)


class OfOutputGradients(_OfGradients):
    """Records the gradients w.r.t. what a module gave."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        return module.register_forward_hook(self._after, with_kwargs=True)

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        return self._followed(output, given_or_leaf(args, kwargs))


class BackwardHook:
    """Calls `hook(module, grad_input, grad_output)` once for each call of the module that a backward pass reaches."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self._hook = hook
        self._open: list[_BackwardCall] = []

    def put_on(self, module: nn.Module) -> Handles:
        handles = Handles()
        handles.add(
            module.register_forward_pre_hook(self._before, with_kwargs=True),
            module.register_forward_hook(self._after, with_kwargs=True, always_call=True),
        )
        return handles

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        call = _BackwardCall(self._hook, module)
        self._open.append(call)
        return call.given((args, in_order(module, kwargs)))

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        if not self._open:  # another pre hook has raised before ours ran
            return None
        seen = self._open.pop().gave(output, args, kwargs)
        return None if seen is output else seen


class _BackwardCall:
    """One call: which of its tensors have gradients decides what the hook waits for."""

    def __init__(self, hook: Callable[..., Any], module: nn.Module) -> None:
        self._hook = hook
        self._module = module
        self._inputs: list[bool] = []
        self._outputs = Gathered(self._output_grads)
        self._last: Gradients = ()

    def given(self, inputs: Any) -> Any:
        self._inputs = [watched(tensor) for _, tensor in named_tensors(inputs)]
        if sum(self._inputs) == 1:
            return follow_first(inputs, every_tensor, self._one)
        return follow_all(inputs, every_tensor, Gathered(self._several))

    def gave(self, output: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return follow_all(output, given_or_leaf(args, kwargs), self._outputs)

    def _one(self, grad: Tensor) -> Tensor | None:
        grads = tuple(grad if has else None for has in self._inputs)
        found = self._hook(self._module, grads, self._outputs.now())
        if isinstance(found, tuple):
            found = found[self._inputs.index(True)]
        return found if isinstance(found, Tensor) else None

    def _output_grads(self, grads: Gradients) -> None:
        """At the end of the pass; those of several inputs are delivered after this, as they come later."""
        self._last = grads
        if not any(self._inputs):
            self._hook(self._module, (None,) * len(self._inputs), grads)

    def _several(self, grads: Gradients) -> None:
        outputs, self._last = self._last, ()
        if self._hook(self._module, grads, outputs) is not None:
            raise RuntimeError(
                f"a backward hook cannot replace the gradients of {type(self._module).__name__}, "
                "which has several inputs that need one; return None"
            )
