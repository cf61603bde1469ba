"""Putting a hook of yours on the layers of a network, chosen by type or by index.

A port of `torchfunc.hooks.registrators`, torchfunc 0.2.0; what differs, and why, is in `PORTS.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

from torch import Tensor, nn

from torchrecorder.running.handles import Handle, Handles
from torchrecorder.running.nested import named_tensors
from torchrecorder.torchfunc.hooks.gradients import Gathered, Gradients, first_to, follow, given_or_leaf, watched
from torchrecorder.torchfunc.hooks.layers import OnLayers
from torchrecorder.torchfunc.hooks.subrecorder import in_order

__all__ = ["Backward", "Forward", "ForwardPre"]


class _Registrator(OnLayers):
    """Puts one hook on many modules.

    Attributes:
        hook: The hook.
        handles: What takes it off each module again, in the order of registration; `remove` is the better way.
    """

    def __init__(self, hook: Callable[..., Any]) -> None:
        """Make a registrator that is on no module yet.

        Args:
            hook: The hook, with the arguments that torch gives to hooks of its kind.
        """
        self.hook = hook
        self.handles: list[Handle] = []

    def remove(self, index: int) -> None:
        """Take one of the hooks off; those after it move up by one.

        Args:
            index: Which one, in the order of registration.

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
    """Register forward pre hook based on module's type or indices: `hook(module, args)`.

    A result other than `None` takes the place of the arguments.

    Examples:
        >>> import torch, torchrecorder
        >>> net = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity())
        >>> registrator = torchrecorder.torchfunc.hooks.registrators.ForwardPre(lambda module, args: args[0] + 1)
        >>> len(registrator.children(net))
        2
        >>> net(torch.zeros(3))
        tensor([2., 2., 2.])
        >>> registrator.remove(0)
        >>> net(torch.zeros(3))
        tensor([1., 1., 1.])
    """

    def _put_on(self, module: nn.Module) -> Handle:
        return nn.Module.register_forward_pre_hook(module, self.hook)


class Forward(_Registrator):
    """Register forward hook based on module's type or indices: `hook(module, args, output)`.

    A result other than `None` takes the place of the output.

    Examples:
        >>> import torch, torchrecorder
        >>> net = torch.nn.Sequential(torch.nn.Identity(), torch.nn.ReLU())
        >>> registrator = torchrecorder.torchfunc.hooks.registrators.Forward(lambda module, args, output: -output)
        >>> _ = registrator.children(net, types=(torch.nn.ReLU,))
        >>> net(torch.ones(3))
        tensor([-1., -1., -1.])
    """

    def _put_on(self, module: nn.Module) -> Handle:
        return nn.Module.register_forward_hook(module, self.hook)


class Backward(_Registrator):
    """Register backward hook based on module's type or indices: `hook(module, grad_input, grad_output)`.

    The gradients are tuples with a place for each tensor among the arguments and in the output, in order, of the same
    shape as that; `None` where there is none. A module with one such argument may give another gradient for it: a
    tensor or a tuple of one. The hook runs once for each call of the module that a backward pass reaches.

    Examples:
        >>> import torch, torchrecorder
        >>> net = torch.nn.Sequential(torch.nn.Linear(3, 2))
        >>> registrator = torchrecorder.torchfunc.hooks.registrators.Backward(
        ...     lambda module, grad_input, grad_output: print(grad_input[0].shape, grad_output[0].shape)
        ... )
        >>> _ = registrator.children(net)
        >>> net(torch.ones(5, 3, requires_grad=True)).sum().backward()
        torch.Size([5, 3]) torch.Size([5, 2])
    """

    def _put_on(self, module: nn.Module) -> Handle:
        hooks, handles = _BackwardHooks(self.hook), Handles()
        handles.add(
            nn.Module.register_forward_pre_hook(module, hooks.before, with_kwargs=True),
            nn.Module.register_forward_hook(module, hooks.after, with_kwargs=True, always_call=True),
        )
        return handles


class _BackwardHooks:
    def __init__(self, hook: Callable[..., Any]) -> None:
        self._hook = hook
        self._open: list[_BackwardCall] = []

    def before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        call = _BackwardCall(self._hook, module)
        self._open.append(call)
        return call.given((args, in_order(module, kwargs)))

    def after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        if not self._open:  # another pre hook has raised before ours ran
            return None
        seen = follow(output, given_or_leaf(args, kwargs), self._open.pop().outputs.report_for)
        return None if seen is output else seen


class _BackwardCall:
    """A call: which of its tensors have gradients decides what the hook waits for."""

    def __init__(self, hook: Callable[..., Any], module: nn.Module) -> None:
        self.outputs = Gathered(self._output_grads)
        self._hook = hook
        self._module = module
        self._inputs: list[bool] = []
        self._last: Gradients = ()

    def given(self, inputs: Any) -> Any:
        self._inputs = [watched(tensor) for _, tensor in named_tensors(inputs)]
        is_one = sum(self._inputs) == 1
        return follow(inputs, None, first_to(self._one) if is_one else Gathered(self._several).report_for)

    def _one(self, grad: Tensor) -> Tensor | None:
        grads = tuple(grad if has else None for has in self._inputs)
        found = self._hook(self._module, grads, self.outputs.now())
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
