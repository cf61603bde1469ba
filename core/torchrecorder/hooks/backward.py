"""Subrecorders of gradients, from hooks that a forward pass leaves on the tensors it sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.hooks.arguments import in_order
from torchrecorder.hooks.following import Choose, anything, follow_all, follow_first, with_a_life_of_its_own
from torchrecorder.hooks.gradients import Gathered
from torchrecorder.hooks.subrecorder import Subrecorder


class _OfGradients(Subrecorder):
    def _followed(self, value: Any, to_alias: Choose) -> Any:
        """`value`, or a copy with aliases in it; `None`, which leaves things as they are, where no alias was needed."""
        if not self._active:
            return None
        if self.data_method == "batch":
            seen = follow_all(value, to_alias, Gathered(self._keep))
        else:
            seen = follow_first(value, to_alias, self._keep)
        return None if seen is value else seen

    def _keep(self, grads: Tensor | tuple[Tensor | None, ...]) -> None:
        if self._wanted():
            self._record(grads)


class OfInputGradients(_OfGradients):
    """Records the gradients w.r.t. what a module was called with, as far as they come through that module."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        """Hook the module; each call gets aliases of its inputs, with the hooks on them."""
        return module.register_forward_pre_hook(self._before, with_kwargs=True)

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], Tensor):  # most calls, and no walk is needed
            seen = self._followed(args[0], anything)
            return None if seen is None else ((seen,), kwargs)
        return self._followed((args, in_order(module, kwargs)), anything)


class OfOutputGradients(_OfGradients):
    """Records the gradients w.r.t. what a module gave."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        """Hook the module; each of its outputs gets a hook."""
        return module.register_forward_hook(self._after, with_kwargs=True)

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        return self._followed(output, with_a_life_of_its_own((args, kwargs)))
