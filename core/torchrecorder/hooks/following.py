"""Following the tensors of one call: what it was given and what it gave, into the backward passes that come later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from torchrecorder.hooks.gradients import Gathered, Report, alias, watch, watched
from torchrecorder.running import map_tensors, named_tensors

Choose = Callable[[Tensor], bool]


def anything(tensor: Tensor) -> bool:
    """Every input is followed on an alias: the tensor itself may have other uses, which have gradients too."""
    return True


def with_a_life_of_its_own(given: Any) -> Choose:
    """Chooses the outputs to be followed on an alias: those that are inputs too, and parameters."""

    def choose(tensor: Tensor) -> bool:
        return tensor.is_leaf or any(one is tensor for _, one in named_tensors(given))

    return choose


def follow_first(value: Any, to_alias: Choose, report: Report) -> Any:
    """Report the gradient of the first tensor in `value` that can have one; gives `value`, perhaps with an alias."""
    done: list[Tensor] = []

    def change(tensor: Tensor) -> Tensor:
        if done or not watched(tensor):
            return tensor
        done.append(tensor)
        return _followed(tensor, to_alias, report)

    return map_tensors(value, change)


def follow_all(value: Any, to_alias: Choose, gathered: Gathered) -> Any:
    """Gather the gradients of all tensors in `value`; gives `value`, perhaps with aliases."""

    def change(tensor: Tensor) -> Tensor:
        report = gathered.place()
        return _followed(tensor, to_alias, report) if watched(tensor) else tensor

    return map_tensors(value, change)


def _followed(tensor: Tensor, to_alias: Choose, report: Report) -> Tensor:
    shown = alias(tensor) if to_alias(tensor) else tensor
    watch(shown, report)
    return shown
