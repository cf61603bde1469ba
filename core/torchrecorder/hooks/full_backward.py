"""A module's backward hook that shows the gradients of its inputs and outputs, in-place activations or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn

from torchrecorder.hooks.arguments import in_order
from torchrecorder.hooks.following import anything, follow_all, follow_first, with_a_life_of_its_own
from torchrecorder.hooks.gradients import Gathered, Gradients, watched
from torchrecorder.running import Handles, named_tensors


class BackwardHook:
    """Calls `hook(module, grad_input, grad_output)` once for each call of the module that a backward pass reaches."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self._hook = hook
        self._open: list[_Call] = []

    def put_on(self, module: nn.Module) -> Handles:
        """Hook the module."""
        handles = Handles()
        handles.add(
            module.register_forward_pre_hook(self._before, with_kwargs=True),
            module.register_forward_hook(self._after, with_kwargs=True, always_call=True),
        )
        return handles

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        call = _Call(self._hook, module)
        self._open.append(call)
        return call.given((args, in_order(module, kwargs)))

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        if not self._open:  # another pre hook has raised before ours ran
            return None
        seen = self._open.pop().gave(output, args, kwargs)
        return None if seen is output else seen


class _Call:
    """One call: which of its tensors have gradients decides what the hook waits for."""

    def __init__(self, hook: Callable[..., Any], module: nn.Module) -> None:
        self._hook = hook
        self._module = module
        self._inputs: list[bool] = []
        self._outputs = Gathered(self._output_grads)
        self._last: Gradients = ()

    def given(self, inputs: Any) -> Any:
        """The inputs, followed on aliases."""
        self._inputs = [watched(tensor) for _, tensor in named_tensors(inputs)]
        if sum(self._inputs) == 1:
            return follow_first(inputs, anything, self._one)
        return follow_all(inputs, anything, Gathered(self._several))

    def gave(self, output: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The output, followed."""
        return follow_all(output, with_a_life_of_its_own(args, kwargs), self._outputs)

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
