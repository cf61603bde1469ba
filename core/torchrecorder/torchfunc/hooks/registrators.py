"""Putting a hook of yours on the layers of a network, chosen by type or by index.

    registrator = Forward(lambda module, inputs, output: print(output.shape))
    registrator.modules(model, types=(torch.nn.Linear,))
    ...
    registrator.remove(0)

A port of `torchfunc.hooks.registrators`, torchfunc 0.2.0; what differs, and why, is in `PORTS.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from torch import nn

from torchrecorder.running.handles import Handle
from torchrecorder.torchfunc.hooks.backward import BackwardHook
from torchrecorder.torchfunc.hooks.layers import OnLayers

__all__ = ["Backward", "Forward", "ForwardPre"]


class _Registrator(OnLayers):
    """Puts one hook on many modules.

    Args:
        hook: The hook, with the arguments that torch gives to hooks of its kind.

    Attributes:
        hook: The same.
        handles: What takes it off each module again, in the order of registration; `remove` is the better way.
    """

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook
        self.handles: list[Handle] = []

    def remove(self, index: int) -> None:
        """Take one of the hooks off; those after it move up by one.

        Raises:
            IndexError: There is no such hook.
        """
        try:
            handle = self.handles.pop(index)
        except IndexError:
            raise IndexError(f"there is no hook {index}: this registrator has {len(self)}") from None
        handle.remove()

    def __len__(self) -> int:
        return len(self.handles)

    def __iter__(self) -> Iterator[Handle]:
        return iter(self.handles)

    def _register(self, modules: Sequence[nn.Module]) -> Self:
        self.handles += [self._put_on(module) for module in modules]
        return self

    def _put_on(self, module: nn.Module) -> Handle:
        raise NotImplementedError


class ForwardPre(_Registrator):
    """Register forward pre hook based on module's type or indices: `hook(module, args)`."""

    def _put_on(self, module: nn.Module) -> Handle:
        return module.register_forward_pre_hook(self.hook)


class Forward(_Registrator):
    """Register forward hook based on module's type or indices: `hook(module, args, output)`."""

    def _put_on(self, module: nn.Module) -> Handle:
        return module.register_forward_hook(self.hook)


class Backward(_Registrator):
    """Register backward hook based on module's type or indices: `hook(module, grad_input, grad_output)`.

    The gradients are tuples with a place for each tensor among the arguments and in the output, in order; `None`
    where there is none. A module with one such argument may give another gradient for it: a tensor or a tuple of one.
    """

    def _put_on(self, module: nn.Module) -> Handle:
        return BackwardHook(self.hook).put_on(module)
