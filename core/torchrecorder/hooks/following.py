"""Following the tensors of one call: what it was given and what it gave, into the backward passes that come later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from torch import Tensor
from torch.autograd.graph import Node

from torchrecorder.hooks.gradients import Gathered, Report, View, Watch, alias, has_strides, watch, watched
from torchrecorder.running import map_tensors, named_tensors
from torchrecorder.running.torch_private import base_of, version_of

Choose = Callable[[Tensor], bool]


def anything(tensor: Tensor) -> bool:
    """Every input is followed on an alias: the tensor itself may have other uses, which have gradients too."""
    return True


def with_a_life_of_its_own(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Choose:
    """Chooses the outputs to be followed on an alias: those that are inputs too, and parameters."""

    def choose(tensor: Tensor) -> bool:
        if tensor.is_leaf:
            return True
        if not kwargs and all(isinstance(one, Tensor) for one in args):  # most calls, and no walk is needed
            return any(one is tensor for one in args)
        return any(one is tensor for _, one in named_tensors((args, kwargs)))

    return choose


def follow_first(value: Any, to_alias: Choose, report: Report) -> Any:
    """Report the gradient of the first tensor in `value` that can have one; gives `value`, perhaps with an alias."""
    done: list[Tensor] = []

    def change(tensor: Tensor) -> Tensor:
        if done or not watched(tensor):
            return tensor
        done.append(tensor)
        return followed(tensor, to_alias, report)

    return map_tensors(value, change)


def follow_all(value: Any, to_alias: Choose, gathered: Gathered) -> Any:
    """Gather the gradients of all tensors in `value`; gives `value`, perhaps with aliases."""

    def change(tensor: Tensor) -> Tensor:
        report = gathered.place()
        return followed(tensor, to_alias, report) if watched(tensor) else tensor

    return map_tensors(value, change)


def followed(tensor: Tensor, to_alias: Choose, report: Report) -> Tensor:
    """Report the gradient of a tensor; gives it, or the alias that was followed in its stead."""
    shown = alias(tensor) if to_alias(tensor) else tensor
    watch(shown, report)
    return shown


class OneInput:
    """The only tensor that a call was given, followed on an alias.

    What to do if the alias is written to is prepared only where that can be, since it takes as long as the rest: the
    call has done so, or has given something that may share its memory.
    """

    __slots__ = ("_base_edge", "_given", "_node", "_version", "_watch", "shown")

    def __init__(self, given: Tensor, report: Report) -> None:
        self.shown = alias(given)
        self._given, self._version, base = given, version_of(given), base_of(given)
        self._base_edge = None if base is None else (base.grad_fn, base.output_nr)
        self._node = cast("Node", self.shown.grad_fn)
        self._watch = Watch(self._node, 0, report)

    def after(self, output: Any) -> None:
        """Look at what the call gave, and at what it did."""
        shown, base = self.shown, base_of(self.shown)
        is_apart = type(output) is Tensor and output is not shown and base_of(output) is not base
        if base is None or (is_apart and version_of(shown) == self._version):
            return
        node, place = self._base_edge or self._node.next_functions[0]
        if node is not None and not base.is_leaf and base.dtype == shown.dtype and has_strides(base):
            self._watch.fall_back(View(self._given, base, (node, place), self._version))
