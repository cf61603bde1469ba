"""What sits on one module and fills one slot of its recorder's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from torch import nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.hooks.arguments import arguments, first

DataMethod = Literal["sample", "batch"]
"""How much of each call is recorded."""


def checked(data_method: str) -> DataMethod:
    """The method, if it is one.

    Raises:
        ValueError: It is neither `sample` nor `batch`.
    """
    if data_method not in get_args(DataMethod):
        raise ValueError(
            f"Invalid value for parameter `data_method`. Expected either 'sample' or 'batch'. You put {data_method}"
        )
    return data_method  # type: ignore[return-value]


class Subrecorder:
    """Records one module.

    Attributes:
        index: The slot of `data` that it fills: its place among the recorder's subrecorders.
        data: The recorder's list of slots.
        samples: How many times it has recorded.
        data_method: How much of each call it records, `sample` or `batch`.
    """

    def __init__(
        self,
        index: int,
        data: list[Any],
        condition: Callable[[], Any] | None,
        reduction: Callable[[Any, Any], Any] | None,
        data_method: DataMethod,
    ) -> None:
        self.index = index
        self.data = data
        self.samples = 0
        self.data_method = data_method
        self._condition = condition
        self._reduction = reduction
        self._active = True

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
        return [] if self._reduction is None else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Subrecorder:
        """A copied network is not recorded: its data would go to a list that nobody has."""
        memo[id(self)] = copy = type(self)(self.index, [self.empty()], self._condition, self._reduction, "sample")
        copy.data_method, copy.samples = self.data_method, self.samples
        copy.stop()
        return copy

    def _wanted(self) -> bool:
        return self._active and (self._condition is None or bool(self._condition()))

    def _record(self, value: Any) -> None:
        while len(self.data) <= self.index:  # somebody has emptied the list to free memory
            self.data.append(self.empty())
        old = self.data[self.index]
        if self._reduction is not None:
            self.data[self.index] = value if old is None else self._reduction(old, value)
        elif isinstance(old, list):
            old.append(value)
        else:
            raise RuntimeError(
                f"subrecorder {self.index} appends to a list, but its data is of type {type(old).__name__} now; "
                f"assign a list to recorder[{self.index}], or record with a reduction"
            )
        self.samples += 1


class OfInputs(Subrecorder):
    """Records the arguments before forward runs."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        """Hook the module; torch will call it before forward."""
        return module.register_forward_pre_hook(self._before, with_kwargs=True)

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if self._wanted():
            passed = arguments(module, args, kwargs) if kwargs else args
            self._record(passed if self.data_method == "batch" else passed[0] if passed else None)


class OfInputsAfter(OfInputs):
    """Records the arguments after forward has run."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        """Hook the module; torch will call it after forward."""
        return module.register_forward_hook(self._after, with_kwargs=True)

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        self._before(module, args, kwargs)


class OfOutputs(Subrecorder):
    """Records what forward gave."""

    def put_on(self, module: nn.Module) -> RemovableHandle:
        """Hook the module; torch will call it after forward."""
        return module.register_forward_hook(self._after)

    def _after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if self._wanted():
            self._record(output if self.data_method == "batch" else first(output))
