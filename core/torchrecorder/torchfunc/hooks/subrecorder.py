"""What sits on one module and fills one slot of its recorder's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, get_args

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.running.facts import forward_parameters
from torchrecorder.running.nested import items_of

DataMethod = Literal["sample", "batch"]
"""How much of each call is recorded."""


def checked(data_method: str) -> DataMethod:
    """The method, if it is one."""
    if data_method not in get_args(DataMethod):
        raise ValueError(
            f"Invalid value for parameter `data_method`. Expected either 'sample' or 'batch'. You put {data_method}"
        )
    return data_method  # type: ignore[return-value]


class Records(Protocol):
    """What a subrecorder asks of its recorder, each time anew: all of it may be assigned at any time."""

    condition: Callable[[], Any] | None
    reduction: Callable[[Any, Any], Any] | None
    data_method: DataMethod
    data: list[Any]


class Subrecorder:
    """Records one module."""

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
        """How much of each call it records, `sample` or `batch`."""
        return self._recorder.data_method

    def put_on(self, module: nn.Module) -> RemovableHandle:
        """Hook the module."""
        raise NotImplementedError

    def stop(self) -> None:
        """Record nothing more, neither from backward passes through what was computed before."""
        self._active = False

    def has_data(self) -> bool:
        """Whether there is anything in the slot."""
        slot = self.data[self.index] if self.index < len(self.data) else None
        return self.samples > 0 or not (slot is None or (isinstance(slot, list) and not slot))

    def empty(self) -> list[Any] | None:
        """What a slot holds at first: a list to append to, or `None` where a reduction makes one value."""
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
    """Records the arguments before forward runs."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        return module.register_forward_pre_hook(self._before, with_kwargs=True)

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if self._wanted():
            # By the order of forward's parameters, so that `net(x)` and `net(x=x)` give the same.
            passed = (*args, *in_order(module, kwargs).values()) if kwargs else args
            self._record(passed if self.data_method == "batch" else passed[0] if passed else None)


class OfInputsAfter(OfInputs):
    """Records the arguments after forward has run."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        return module.register_forward_hook(self._after, with_kwargs=True)

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        self._before(module, args, kwargs)


class OfOutputs(Subrecorder):
    """Records what forward gave."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        return module.register_forward_hook(self._after)

    def _after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if self._wanted():
            self._record(output if self.data_method == "batch" else first(output))


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
