"""The gradient of a value that a forward pass has shown, also if the value is overwritten afterwards.

Module-level backward hooks of torch do not serve here: the old ones give the gradients of a module's last operation (a
linear layer's bias), and the full ones make views that an in-place activation then refuses to write to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.graph import Node

from torchrecorder.running.nested import map_tensors, named_tensors
from torchrecorder.running.torch_private import AT_END_OF_PASS, BACKWARD_PASS, base_of, version_of

Report = Callable[[Tensor], Tensor | None]
"""Gets a gradient; a tensor that it returns takes the gradient's place further up."""

Gradients = tuple[Tensor | None, ...]

Edge = tuple[Node, int]
"""Where a tensor comes from: the node that made it, and the place among what that gave."""


def alias(tensor: Tensor) -> Tensor:
    """The same values as a new point of the graph: its gradient is that of the uses of the alias alone.

    It hands on the gradient as the same tensor: one that was a view of it could become the `grad` of a leaf as it is,
    and what is added to that would be added to what has been recorded.
    """
    if tensor.layout is torch.jagged:
        return tensor.view_as(tensor)
    return tensor[...] if has_strides(tensor) else tensor.clone()  # no operation makes an alias of a sparse tensor


def watched(tensor: Tensor) -> bool:
    """Whether a gradient of this tensor can be seen."""
    return tensor.requires_grad and torch.is_grad_enabled()


def watch(tensor: Tensor, report: Report) -> None:
    """Call `report` in each backward pass that computes the gradient w.r.t. the tensor's present values."""
    found, view = Watch(cast("Node", tensor.grad_fn), tensor.output_nr, report), ViewOfBase.of(tensor)
    if view is not None:
        found.fall_back(view)


class Watch:
    """Reports the gradient where it enters the node that made a tensor, with what the tensor's own hooks did to it."""

    __slots__ = ("_place", "_report", "_seen")

    def __init__(self, node: Node, place: int, report: Report) -> None:
        self._place, self._report, self._seen = place, report, -1
        node.register_prehook(self._enter)

    def fall_back(self, view: ViewOfBase) -> None:
        """Report it also if the view has been written to when the backward pass comes."""

        def enter(grads: Gradients) -> None:
            grad = grads[view.place]
            if self._seen == _current_pass() or grad is None or not view.is_written_to():
                return
            if self._report(view.part_of(grad)) is not None:
                raise RuntimeError("the gradient of a view that was written to in place cannot be replaced")

        _on_entry(view.node, enter)

    def _enter(self, grads: Gradients) -> Gradients | None:
        place, self._seen = self._place, _current_pass()
        grad = grads[place]
        new = None if grad is None else self._report(grad)
        return None if new is None else (*grads[:place], new, *grads[place + 1 :])


class ViewOfBase:
    """Where the gradient of a view enters its base.

    Writing into a view gives it a new history through its base, without the node that the view was made by. Then the
    gradient is read off where it enters the base. Whether that has happened is seen by a version counter that the probe
    shares with the tensor, without holding its memory.
    """

    def __init__(self, tensor: Tensor, base: Tensor, edge: Edge, version: int) -> None:
        self.node, self.place = edge
        self._version = version
        self._layout = (base.size(), base.stride(), tensor.size(), tensor.stride())
        self._offset = tensor.storage_offset() - base.storage_offset()
        self._probe = tensor.detach()
        self._probe.data = _nothing(tensor.dtype, tensor.device)

    @classmethod
    def of(cls, tensor: Tensor) -> ViewOfBase | None:
        """That of a tensor as it is; `None` if it is not a view, or its base has no history."""
        base = base_of(tensor)
        if base is None or base.grad_fn is None or base.dtype != tensor.dtype or not has_strides(base):
            return None
        return cls(tensor, base, (base.grad_fn, base.output_nr), version_of(tensor))

    def is_written_to(self) -> bool:
        """Whether it has been, since it was looked at."""
        return version_of(self._probe) != self._version

    def part_of(self, grad: Tensor) -> Tensor:
        """What the gradient of the base says about the view."""
        size, stride, part_size, part_stride = self._layout
        whole = grad.new_empty_strided(size, stride).copy_(grad)
        return whole.as_strided(part_size, part_stride, self._offset)


def has_strides(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_nested


@cache
def _nothing(dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.empty(0, dtype=dtype, device=device)


def _on_entry(node: Node, callback: Callable[[Gradients], None]) -> None:
    """Call back with the gradients that reach a node; the last registered first, as backward passes run."""
    metadata = cast("dict[str, list[Callable[[Gradients], None]]]", node.metadata)  # the stub has it as a method
    waiting = metadata.setdefault(__name__, [])
    waiting.append(callback)
    if len(waiting) > 1:
        return

    def enter(grads: Gradients) -> None:
        for one in reversed(waiting):
            one(grads)

    node.register_prehook(enter)


class Gathered:
    """The gradients of several tensors, delivered together once in each backward pass.

    A tensor that a pass does not reach has the gradient `None` in that delivery.
    """

    def __init__(self, deliver: Callable[[Gradients], object]) -> None:
        self._deliver = deliver
        self._count = 0
        self._grads: dict[int, Tensor] = {}
        self._pass = -1

    def place(self) -> Report:
        """One more tensor's place; gives what to call with its gradient, in a backward pass only."""
        place = self._count
        self._count += 1
        return lambda grad: self._add(place, grad)

    def now(self) -> Gradients:
        """What this backward pass has brought so far."""
        here = self._pass == _current_pass()
        return tuple(self._grads.get(place) if here else None for place in range(self._count))

    def _add(self, place: int, grad: Tensor) -> None:
        if self._pass != (current := _current_pass()):
            self._pass, self._grads = current, {}
            # Which of the others will come is known at the end of the pass.
            if (at_end := AT_END_OF_PASS.get()) is not None:
                at_end(lambda: self._end(current))
        self._grads[place] = grad
        if len(self._grads) == self._count and AT_END_OF_PASS.get() is None:
            self._end(current)

    def _end(self, finished: int) -> None:
        if self._pass == finished:
            grads = tuple(self._grads.get(place) for place in range(self._count))
            self._pass, self._grads = -1, {}
            self._deliver(grads)


def _current_pass() -> int:
    current = BACKWARD_PASS.get()
    return 0 if current is None else current()


Choose = Callable[[Tensor], bool]


def every_tensor(tensor: Tensor) -> bool:
    """Chooses all inputs to be followed on an alias: the tensor itself may have other uses, with gradients too."""
    return True


def given_or_leaf(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Choose:
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
    shown = alias(tensor) if to_alias(tensor) else tensor
    watch(shown, report)
    return shown
