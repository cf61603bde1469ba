"""What the five recorders have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.torchfunc.hooks.layers import OnLayers
from torchrecorder.torchfunc.hooks.subrecorder import DataMethod, Subrecorder, checked


class ValueRecorder(OnLayers):
    """Records something of each call of the modules that it is put on.

    Args:
        condition: Called without arguments each time; nothing is recorded where it gives something false.
        reduction: Called with what the slot holds and what comes next; its result is what the slot holds then.
            Without it each slot is a list with one entry a call, which takes memory.
        data_method: How much is recorded. `sample` takes the first item: of inputs the first argument, of an output
            tensor the first sample (`output[0]`), of other outputs the first value, of gradients that of the first
            tensor. `batch` takes everything: the tuple of arguments, the output as it is, the tuple of gradients.

    Attributes:
        data: One slot for each subrecorder, in the order of registration. Before anything is recorded a slot holds
            an empty list, or `None` where there is a reduction. Values are kept as they are, with their graph.
        subrecorders: What sits on the modules, one each.
        handles: What takes each of them off; `remove` is the better way.

    Raises:
        TypeError: `condition` or `reduction` cannot be called.
        ValueError: There is no such `data_method`.
    """

    _subrecorder: ClassVar[type[Subrecorder]]

    def __init__(
        self,
        condition: Callable[[], Any] | None = None,
        reduction: Callable[[Any, Any], Any] | None = None,
        data_method: str = "sample",
    ) -> None:
        self.condition = _callable("condition", condition)
        self.reduction = _callable("reduction", reduction)
        self.data_method: DataMethod = checked(data_method)
        self.data: list[Any] = []
        self.subrecorders: list[Subrecorder] = []
        self.handles: list[RemovableHandle] = []

    def remove(self, index: int) -> Any:
        """Take a subrecorder off its module; those after it move up by one.

        Returns:
            What was in its slot.

        Raises:
            IndexError: There is no such subrecorder.
        """
        subrecorder = self._at(index)
        place = self.subrecorders.index(subrecorder)
        subrecorder.stop()
        self.handles.pop(place).remove()
        self.subrecorders.pop(place)
        for later, one in enumerate(self.subrecorders):
            one.index = later
        return self.data.pop(place) if place < len(self.data) else subrecorder.empty()

    def samples(self, index: int) -> int:
        """How many times the subrecorder has recorded: one a call, or one a backward pass, whatever the batch size.

        Raises:
            IndexError: There is no such subrecorder.
        """
        return self._at(index).samples

    def iter_samples(self) -> Iterator[int]:
        """The same for each subrecorder."""
        return (one.samples for one in self.subrecorders)

    def apply(self, function: Callable[[Any], Any]) -> None:
        """Replace what is in each slot by `function` of it; slots in which nothing is recorded yet stay as they are."""
        self.apply_sample(lambda data, _: function(data))

    def apply_sample(self, function: Callable[[Any, int], Any]) -> None:
        """Replace what is in each slot by `function` of it and of the number of samples that it was made from."""
        for one in self.subrecorders:
            if one.has_data():
                self.data[one.index] = function(self.data[one.index], one.samples)

    def save(self, path: Path, mkdir: bool = False, *args: Any, **kwargs: Any) -> None:
        """Write each slot to a file of its own in the folder `path`: `0.pt`, `1.pt`, … in the order of `data`.

        Args:
            path: The folder.
            mkdir: Make it first, if it is not there.
            *args: For `pathlib.Path.mkdir`.
            **kwargs: For `pathlib.Path.mkdir`, such as `parents` and `exist_ok`.

        Raises:
            FileExistsError: There is a file in its place, or the folder is there and `exist_ok=False` is given.
            RuntimeError: There is no such folder (from `torch.save`).
        """
        folder = Path(path)
        if mkdir and (not folder.is_dir() or args or "exist_ok" in kwargs):
            folder.mkdir(*args, **kwargs)
        for index, slot in enumerate(self.data):
            torch.save(slot, folder / f"{index}.pt")

    def set_data_method(self, data_method: str) -> None:
        """Record as much as `data_method` says from now on, with all subrecorders.

        Raises:
            ValueError: There is no such method.
        """
        self.data_method = checked(data_method)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for one in self.subrecorders:
            one.belong_to(self)

    def __len__(self) -> int:
        return len(self.subrecorders)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    def __getitem__(self, index: int) -> Any:
        return self.data[index]

    def __setitem__(self, index: int, item: Any) -> None:
        self.data[index] = item

    def _register(self, modules: Sequence[nn.Module]) -> Self:
        for module in modules:
            one = self._subrecorder(len(self), self)
            self.handles.append(one.put_on(module))
            self.subrecorders.append(one)
            self.data.insert(one.index, one.empty())
        return self

    def _at(self, index: int) -> Subrecorder:
        try:
            return self.subrecorders[index]
        except IndexError:
            raise IndexError(f"there is no subrecorder {index}: this recorder has {len(self)}") from None


def _callable(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, not {value!r}")
    return value
