"""The gradient of a value that a forward pass has shown, also if the value is overwritten afterwards.

Module-level backward hooks of torch do not serve here: the old ones give the gradients of a module's last operation (a
linear layer's bias), and the full ones make views that an in-place activation then refuses to write to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.graph import Node

from torchrecorder.running.nested import map_tensors, named_tensors
from torchrecorder.running.torch_private import AT_END_OF_PASS, BACKWARD_PASS, base_of, version_of

Report = Callable[[Tensor], Tensor | None]
"""Gets a gradient; a tensor that it returns takes the gradient's place further up."""

Gradients = tuple[Tensor | None, ...]

Choose = Callable[[Tensor], bool]
"""Whether a tensor is followed on an alias of it."""


def watched(tensor: Tensor) -> bool:
    return tensor.requires_grad and torch.is_grad_enabled()


def alias(tensor: Tensor) -> Tensor:
    """The same values as a new point of the graph: its gradient is that of the uses of the alias alone.

    It hands on the gradient as the same tensor: one that was a view of it could become the `grad` of a leaf as it is,
    and what is added to that would be added to what has been recorded.
    """
    if tensor.layout is torch.jagged:
        return tensor.view_as(tensor)
    return tensor[...] if _has_strides(tensor) else tensor.clone()  # no operation makes an alias of a sparse tensor


class FollowedView:
    """The point where the gradient of a view enters its base, as it is before anything writes into it."""

    __slots__ = ("base", "node", "place", "shown", "tensor", "version")

    def __init__(self, tensor: Tensor, shown: Tensor, base: Tensor, node: Node) -> None:
        self.tensor, self.shown, self.base, self.node, self.place = tensor, shown, base, node, base.output_nr
        self.version = version_of(shown)

    def may_be_written_to(self, output: object) -> bool:
        """Whether a module has written into its input, or gives away what shares the input's memory."""
        if version_of(self.shown) != self.version:
            return True
        if isinstance(output, Tensor):
            return base_of(output) is self.base
        return any(base_of(tensor) is self.base for _, tensor in named_tensors(output))


class Watch:
    """Calls `report` in each backward pass that computes the gradient w.r.t. a tensor's present values.

    It is reported where it enters the node that made the tensor, with what the tensor's own hooks did to it.
    """

    __slots__ = ("_layout", "_place", "_place_in_base", "_probe", "_report", "_seen", "_version")

    def __init__(self, tensor: Tensor, report: Report) -> None:
        self._place, self._report, self._seen = tensor.output_nr, report, -1
        self._probe: Tensor | None = None
        node: Any = tensor.grad_fn
        node.register_prehook(self._enter)

    def fall_back(self, view: FollowedView) -> None:
        """Report it also if the tensor, a view, has been written to when the backward pass comes.

        Writing into a view gives it a new history through its base, without the node that the view was made by. Then
        the gradient is read off where it enters the base. Whether that has happened is seen by a version counter that
        a probe shares with the view, without holding its memory.
        """
        base, tensor = view.base, view.tensor
        if base.dtype != tensor.dtype or not _has_strides(base):
            return
        offset = int(tensor.storage_offset()) - int(base.storage_offset())
        self._layout = base.size(), base.stride(), tensor.size(), tensor.stride(), offset
        self._version, self._place_in_base = view.version, view.place
        self._probe = view.shown.detach()
        self._probe.data = _nothing(tensor.dtype, tensor.device)
        metadata = cast("dict[str, list[Watch]]", view.node.metadata)  # the stub has it as a method
        waiting = metadata.setdefault(__name__, [])
        waiting.append(self)
        if len(waiting) == 1:
            view.node.register_prehook(partial(_enter_base, waiting))

    def _enter(self, grads: Gradients) -> Gradients | None:
        place = self._place
        if self._probe is not None:
            self._seen = _current_pass()
        grad = grads[place]
        new = None if grad is None else self._report(grad)
        return None if new is None else (*grads[:place], new, *grads[place + 1 :])

    def enter_base(self, grads: Gradients) -> None:
        grad = grads[self._place_in_base]
        if grad is None or self._seen == _current_pass() or version_of(cast("Tensor", self._probe)) == self._version:
            return
        size, stride, part_size, part_stride, offset = self._layout
        whole = grad.new_empty_strided(size, stride).copy_(grad)
        if self._report(whole.as_strided(part_size, part_stride, offset)) is not None:
            raise RuntimeError("the gradient of a view that was written to in place cannot be replaced")


def _enter_base(waiting: list[Watch], grads: Gradients) -> None:
    for one in reversed(waiting):  # as backward passes run
        one.enter_base(grads)


def _has_strides(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_nested


@cache
def _nothing(dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.empty(0, dtype=dtype, device=device)


def _current_pass() -> int:
    current = BACKWARD_PASS.get()
    return 0 if current is None else current()


class Gathered:
    """The gradients of several tensors, delivered together once in each backward pass.

    A tensor that a pass does not reach has the gradient `None` in that delivery.
    """

    def __init__(self, deliver: Callable[[Gradients], object]) -> None:
        self._deliver = deliver
        self._count = 0
        self._grads: dict[int, Tensor] = {}
        self._pass = -1

    def report_for(self, tensor: Tensor) -> Report | None:
        """A function to call with the gradient of one more tensor, in a backward pass only."""
        self._count += 1
        return partial(self._add, self._count - 1) if watched(tensor) else None

    def now(self) -> Gradients:
        """The gradients that this backward pass has brought so far."""
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


ReportFor = Callable[[Tensor], Report | None]
"""Gives what to call with the gradient of a tensor; `None` where it is not followed."""


def first_to(report: Report) -> ReportFor:
    waiting = [report]
    return lambda tensor: waiting.pop() if waiting and watched(tensor) else None


Later = list[tuple[Watch, FollowedView]]
"""Views of which it is known at the end of a call only whether anything may write into them."""


def follow(value: Any, to_alias: Choose | None, report_for: ReportFor, later: Later | None = None) -> Any:
    """Watch tensors in `value`; gives `value`, or a copy with aliases."""

    def change(tensor: Tensor) -> Tensor:
        report = report_for(tensor)
        return tensor if report is None else followed(tensor, to_alias, report, later)

    return map_tensors(value, change)


def followed(tensor: Tensor, to_alias: Choose | None, report: Report, later: Later | None = None) -> Tensor:
    """Watch a tensor, or an alias of it where that is chosen; `None` chooses all."""
    shown = alias(tensor) if to_alias is None or to_alias(tensor) else tensor
    watch, base = Watch(shown, report), base_of(shown)
    if base is not None and (node := base.grad_fn) is not None:
        view = FollowedView(tensor, shown, base, node)
        if later is None:
            watch.fall_back(view)
        else:
            later.append((watch, view))
    return shown


def given_or_leaf(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Choose:
    """Chooses the outputs to be followed on an alias: those that are inputs too, and parameters."""

    def choose(tensor: Tensor) -> bool:
        if tensor.is_leaf:
            return True
        if not kwargs and all(isinstance(one, Tensor) for one in args):  # most calls, and no walk is needed
            return any(one is tensor for one in args)
        return any(one is tensor for _, one in named_tensors((args, kwargs)))

    return choose
