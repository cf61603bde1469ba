"""The gradient of a value that a forward pass has shown, also if the value is overwritten afterwards.

Module-level backward hooks of torch are no use here: the old ones give the gradients of a module's last operation (a
linear layer's bias), and the full ones make views that an in-place activation then refuses to write to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.graph import Node

Report = Callable[[Tensor], Tensor | None]
"""Gets a gradient; a tensor that it returns takes the gradient's place further up."""

Gradients = tuple[Tensor | None, ...]


def alias(tensor: Tensor) -> Tensor:
    """The same values as a new point of the graph: its gradient is that of the uses of the alias alone."""
    return tensor.view_as(tensor)


def watched(tensor: Tensor) -> bool:
    """Whether a gradient of this tensor can be seen."""
    return tensor.requires_grad and torch.is_grad_enabled()


def watch(tensor: Tensor, report: Report) -> None:
    """Call `report` in each backward pass that computes the gradient w.r.t. the tensor's present values.

    Args:
        tensor: No leaf: hooks on a leaf would outlive the forward pass that it took part in.
        report: What to call; it keeps the shape of the tensor.
    """
    base = tensor._base
    if base is None or base.grad_fn is None or base.dtype != tensor.dtype:
        tensor.register_hook(report)  # type: ignore[no-untyped-call]
    else:
        _watch_view(tensor, base, report)


def _watch_view(tensor: Tensor, base: Tensor, report: Report) -> None:
    """Writing into a view gives it a new history through its base, without the node that the view's own hook is on.

    Then the gradient is read off where it enters the base. Whether that has happened is seen by a version counter
    that the probe shares with the tensor, without holding its memory.
    """
    node = base.grad_fn
    assert node is not None
    probe = tensor.detach()
    before = probe._version
    probe.data = _nothing(tensor.dtype, tensor.device)
    layout = (base.size(), base.stride(), tensor.size(), tensor.stride())
    offset, place, seen = tensor.storage_offset() - base.storage_offset(), base.output_nr, list[bool]()

    def own(grad: Tensor) -> Tensor | None:
        seen.append(True)
        return report(grad)

    def fallback(grads: Gradients) -> None:
        grad = grads[place]
        if seen:
            seen.clear()
        elif probe._version != before and grad is not None and report(_part(grad, *layout, offset)) is not None:
            raise RuntimeError("the gradient of a view that was written to in place cannot be replaced")

    tensor.register_hook(own)  # type: ignore[no-untyped-call]
    _on_entry(node, fallback)


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


def _part(grad: Tensor, size: Any, stride: Any, part_size: Any, part_stride: Any, offset: Any) -> Tensor:
    """What the gradient of a base says about a view of it."""
    whole = grad.new_empty_strided(size, stride).copy_(grad)
    return whole.as_strided(part_size, part_stride, offset)


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
            # Nobody can tell before the end of the pass which of the others will come.
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self._end(current))
        self._grads[place] = grad

    def _end(self, finished: int) -> None:
        if self._pass == finished:
            grads = tuple(self._grads.get(place) for place in range(self._count))
            self._pass, self._grads = -1, {}
            self._deliver(grads)


def _current_pass() -> int:
    return torch._C._current_graph_task_id()
