"""What sits on one module and fills one slot of its recorder's data.

Hooks are put on by the functions of `nn.Module`: a script module refuses them by its own, and runs them all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, get_args

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.running.facts import forward_parameters
from torchrecorder.running.handles import Handle, Handles
from torchrecorder.running.nested import items_of
from torchrecorder.torchfunc.hooks.gradients import (
    Choose,
    Gathered,
    Gradients,
    Later,
    first_to,
    follow,
    followed,
    given_or_leaf,
    watched,
)

DataMethod = Literal["sample", "batch"]


def checked(data_method: str) -> DataMethod:
    if data_method not in get_args(DataMethod):
        raise ValueError(
            f"Invalid value for parameter `data_method`. Expected either 'sample' or 'batch'. You put {data_method}"
        )
    return data_method  # type: ignore[return-value]


class Records(Protocol):
    """Parts of its recorder that a subrecorder asks for, each time anew: all of it may be assigned at any time."""

    condition: Callable[[], Any] | None
    reduction: Callable[[Any, Any], Any] | None
    data_method: DataMethod
    data: list[Any]


class Subrecorder:
    def __init__(self, index: int, recorder: Records) -> None:
        self.index = index
        self.samples = 0
        self._recorder = recorder
        self._active = True

    @property
    def data(self) -> list[Any]:
        return self._recorder.data

    @property
    def data_method(self) -> DataMethod:
        return self._recorder.data_method

    def put_on(self, module: nn.Module) -> Handle:
        raise NotImplementedError

    def stop(self) -> None:
        """Stop recording, including pending backward passes."""
        self._active = False

    def has_data(self) -> bool:
        slot = self.data[self.index] if self.index < len(self.data) else None
        return self.samples > 0 or not (slot is None or (isinstance(slot, list) and not slot))

    def empty(self) -> list[Any] | None:
        """The first content of a slot: a list to append to, or `None` where a reduction makes one value."""
        return [] if self._recorder.reduction is None else None

    def belong_to(self, recorder: Records) -> None:
        """Show this recorder's data from now on, if it was copied or unpickled with it."""
        if self._recorder is None:
            self._recorder = recorder

    def __getstate__(self) -> dict[str, Any]:
        """A copied or pickled network is not recorded: its data would go to a list that has no owner."""
        return {**vars(self), "_active": False, "_recorder": None}

    def _wanted(self) -> bool:
        return self._active and ((condition := self._recorder.condition) is None or bool(condition()))

    def _record(self, value: Any) -> None:
        data, reduction = self._recorder.data, self._recorder.reduction
        while len(data) <= self.index:  # the list was emptied to free memory
            data.append(self.empty())
        old = data[self.index]
        if reduction is not None:
            is_first = old is None or (not self.samples and isinstance(old, list) and not old)
            data[self.index] = value if is_first else reduction(old, value)
        elif isinstance(old, list):
            old.append(value)
        elif old is None:
            data[self.index] = [value]
        else:
            raise RuntimeError(
                f"subrecorder {self.index} appends to a list, but its data is of type {type(old).__name__} now; "
                f"assign a list to recorder[{self.index}], or record with a reduction"
            )
        self.samples += 1


class OfInputs(Subrecorder):
    def put_on(self, module: nn.Module) -> RemovableHandle:
        return nn.Module.register_forward_pre_hook(module, self._before, with_kwargs=True)

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if self._wanted():
            # By the order of forward's parameters, so that `net(x)` and `net(x=x)` give the same.
            passed = (*args, *in_order(module, kwargs).values()) if kwargs else args
            self._record(passed if self.data_method == "batch" else passed[0] if passed else None)


class OfInputsAfter(OfInputs):
    def put_on(self, module: nn.Module) -> RemovableHandle:
        return nn.Module.register_forward_hook(module, self._after, with_kwargs=True)

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        self._before(module, args, kwargs)


class OfOutputs(Subrecorder):
    def put_on(self, module: nn.Module) -> RemovableHandle:
        return nn.Module.register_forward_hook(module, self._after)

    def _after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if self._wanted():
            self._record(output if self.data_method == "batch" else first(output))


class _OfGradients(Subrecorder):
    def _followed(self, value: Any, to_alias: Choose | None, later: Later | None = None) -> Any:
        """`value`, or a copy with aliases in it; `None`, which leaves things as they are, where no alias was needed."""
        if not self._active:
            return None
        is_sample = self._recorder.data_method == "sample"
        if isinstance(value, Tensor):
            if not watched(value):
                return None
            seen = followed(value, to_alias, self._keep if is_sample else lambda grad: self._keep_all((grad,)), later)
        else:
            report_for = first_to(self._keep) if is_sample else Gathered(self._keep_all).report_for
            seen = follow(value, to_alias, report_for, later)
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

    def __init__(self, index: int, recorder: Records) -> None:
        super().__init__(index, recorder)
        self._open: list[Later] = []

    def put_on(self, module: nn.Module) -> Handles:
        handles = Handles()
        handles.add(
            nn.Module.register_forward_pre_hook(module, self._before, with_kwargs=True),
            nn.Module.register_forward_hook(module, self._after, always_call=True),
        )
        return handles

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_open": []}

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        later: Later = []
        self._open.append(later)
        # On an alias of each input: the tensor itself may have other uses, with gradients too.
        if len(args) != 1 or kwargs or not isinstance(args[0], Tensor):
            return self._followed((args, in_order(module, kwargs)), None, later)
        seen = self._followed(args[0], None, later)
        return None if seen is None else ((seen,), kwargs)

    def _after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        # Being ready for a write costs as much as all the rest, and most modules leave their input alone.
        for watch, view in self._open.pop() if self._open else ():  # none, if another pre hook has raised before ours
            if view.may_be_written_to(output):
                watch.fall_back(view)


class OfOutputGradients(_OfGradients):
    def put_on(self, module: nn.Module) -> RemovableHandle:
        return nn.Module.register_forward_hook(module, self._after, with_kwargs=True)

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        return self._followed(output, given_or_leaf(args, kwargs))


def in_order(module: nn.Module, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments in the order of forward's parameters; what it takes as `**kwargs` comes last."""
    if len(kwargs) < 2:
        return dict(kwargs)
    known = (one.name for one in forward_parameters(module) if one.name in kwargs)
    return {name: kwargs[name] for name in dict.fromkeys((*known, *kwargs))}


def first(value: Any) -> Any:
    """The first item of an output: a tensor's first sample, a container's first value, a dataclass's first field.

    What has no items (a scalar, an empty batch, `None`, any other object) is its own first item.
    """
    if not isinstance(value, Tensor):
        return next((item for _, item in items_of(value)), value)
    try:
        return value[0]
    except IndexError:  # asking first would take longer, and nearly all tensors have one
        return value
