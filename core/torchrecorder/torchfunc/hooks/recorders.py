"""Recorders of what passes through the layers of a network.

A port of `torchfunc.hooks.recorders`, torchfunc 0.2.0 and its `data_method` of 2021; what differs is in `PORTS.toml`.

Examples:
    The inputs of two layers, added up over three calls, and their means written as `0.pt` and `1.pt`:

    >>> import pathlib, tempfile, torch, torchrecorder
    >>> from torch.nn import Linear, ReLU
    >>> model = torch.nn.Sequential(Linear(784, 100), ReLU(), Linear(100, 50), ReLU(), Linear(50, 10))
    >>> recorder = torchrecorder.torchfunc.hooks.recorders.ForwardPre(reduction=lambda x, y: x + y)
    >>> _ = recorder.children(model, indices=(2, 3))  # Linear(100, 50) and the ReLU after it
    >>> for _ in range(3):
    ...     _ = model(torch.randn(8, 784))  # run or train it as you do
    >>> [tuple(total.shape) for total in recorder]
    [(8, 100), (8, 50)]
    >>> recorder.apply_sample(lambda total, samples: total / samples)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     recorder.save(pathlib.Path(folder, "analysis"), mkdir=True)
    ...     sorted(path.name for path in pathlib.Path(folder, "analysis").iterdir())
    ['0.pt', '1.pt']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import nn

from torchrecorder.running.handles import Handle
from torchrecorder.torchfunc.hooks.layers import OnLayers
from torchrecorder.torchfunc.hooks.subrecorder import (
    DataMethod,
    OfInputGradients,
    OfInputs,
    OfInputsAfter,
    OfOutputGradients,
    OfOutputs,
    Subrecorder,
    checked,
)

__all__ = ["BackwardInput", "BackwardOutput", "ForwardInput", "ForwardOutput", "ForwardPre"]


class ValueRecorder(OnLayers):
    """Records something of each call of the modules that it is put on.

    Calls of one module in several threads at once are not kept apart.

    Attributes:
        data: One slot for each subrecorder, in the order of registration. Before anything is recorded a slot holds
            an empty list, or `None` where there is a reduction. Values are kept as they are, with their graph.
        subrecorders: What sits on the modules, one each.
        handles: What takes each of them off; `remove` is the better way.
        condition: As it was given; it may be assigned at any time, as may `reduction` and `data`.
        reduction: As it was given.
        data_method: How much of each call is recorded.
    """

    _subrecorder: ClassVar[type[Subrecorder]]

    def __init__(
        self,
        condition: Callable[[], Any] | None = None,
        reduction: Callable[[Any, Any], Any] | None = None,
        data_method: str = "sample",
    ) -> None:
        """Make a recorder that is on no module yet.

        Args:
            condition: Called without arguments each time; nothing is recorded where it gives something false.
            reduction: Called with what the slot holds and what comes next; its result is what the slot holds then.
                Without it each slot is a list with one entry a call, which takes memory.
            data_method: How much is recorded. `sample` takes the first item: of inputs the first argument, of an
                output tensor the first sample (`output[0]`), of other outputs the first value, of gradients that of
                the first tensor. `batch` takes everything: the tuple of arguments, the output as it is, the tuple of
                gradients.

        Raises:
            TypeError: `condition` or `reduction` cannot be called.
            ValueError: There is no such `data_method`.
        """
        for name, value in (("condition", condition), ("reduction", reduction)):
            if value is not None and not callable(value):
                raise TypeError(f"{name} must be a function or None, not {value!r}")
        self.condition = condition
        self.reduction = reduction
        self.data_method: DataMethod = checked(data_method)
        self.data: list[Any] = []
        self.subrecorders: list[Subrecorder] = []
        self.handles: list[Handle] = []

    def remove(self, index: int) -> Any:
        """Take a subrecorder off its module; those after it move up by one.

        Args:
            index: Which one, in the order of registration.

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
        """How many times a subrecorder has recorded: one a call, or one a backward pass, whatever the batch size.

        Args:
            index: Which one, in the order of registration.

        Returns:
            The count.

        Raises:
            IndexError: There is no such subrecorder.
        """
        return self._at(index).samples

    def iter_samples(self) -> Iterator[int]:
        """How many times each subrecorder has recorded.

        Returns:
            The counts, in the order of registration.
        """
        return (one.samples for one in self.subrecorders)

    def apply(self, function: Callable[[Any], Any]) -> None:
        """Replace what is in each slot; slots in which nothing is recorded yet stay as they are.

        Args:
            function: Called with what a slot holds; its result is what the slot holds then.
        """
        self.apply_sample(lambda data, _: function(data))

    def apply_sample(self, function: Callable[[Any, int], Any]) -> None:
        """Replace what is in each slot, as `apply` does.

        Args:
            function: Called with what a slot holds, and with the number of samples that it was made from.
        """
        for one in self.subrecorders:
            if one.has_data():
                self.data[one.index] = function(self.data[one.index], one.samples)

    def save(self, path: Path, mkdir: bool = False, *args: Any, **kwargs: Any) -> None:
        """Write each slot to a file of its own, by `torch.save`: `0.pt`, `1.pt`, … in the order of `data`.

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

        Args:
            data_method: `sample` or `batch`.

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


class ForwardPre(ValueRecorder):
    """Record input values before forward of specified layer(s).

    The first argument of each call, such as a tensor of `(batch, features)`; with `batch` the tuple of all arguments,
    those by keyword in the order of forward's parameters.

    Examples:
        >>> import torch, torchrecorder
        >>> net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
        >>> recorder = torchrecorder.torchfunc.hooks.recorders.ForwardPre()
        >>> _ = recorder.modules(net, types=(torch.nn.Linear,))
        >>> _ = net(torch.ones(5, 3))
        >>> [tuple(slot[0].shape) for slot in recorder]
        [(5, 3), (5, 4)]
    """

    _subrecorder = OfInputs


class ForwardInput(ValueRecorder):
    """Record input values after forward of specified layer(s): with what forward has written into them.

    Shapes are those of `ForwardPre`.

    Examples:
        >>> import torch, torchrecorder
        >>> net = torch.nn.Sequential(torch.nn.ReLU(inplace=True))
        >>> recorder = torchrecorder.torchfunc.hooks.recorders.ForwardInput().children(net)
        >>> _ = net(torch.tensor([-1.0, 2.0]))
        >>> recorder[0]
        [tensor([0., 2.])]
    """

    _subrecorder = OfInputsAfter


class ForwardOutput(ValueRecorder):
    """Record output values after forward of specified layer(s).

    The first sample of each output: of a tensor of `(batch, features)` one of `(features,)`, of a tuple, mapping or
    dataclass the first value. With `batch` the output as it is.

    Examples:
        >>> import torch, torchrecorder
        >>> net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
        >>> recorder = torchrecorder.torchfunc.hooks.recorders.ForwardOutput(data_method="batch").children(net)
        >>> _ = net(torch.ones(5, 3))
        >>> [tuple(slot[0].shape) for slot in recorder]
        [(5, 4), (5, 4), (5, 2)]
        >>> list(recorder.iter_samples())
        [1, 1, 1]
    """

    _subrecorder = OfOutputs


class BackwardInput(ValueRecorder):
    """Record input gradients after those are calculated w.r.t. specified module.

    They have the shapes of the inputs, and are what comes through that module: other uses of the same input do not
    count. A call whose inputs need no gradient, such as the first layer's, records nothing. With `batch` each is a
    tuple with a place for each tensor among the arguments, `None` where there is no gradient.

    Examples:
        >>> import torch, torchrecorder
        >>> net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
        >>> recorder = torchrecorder.torchfunc.hooks.recorders.BackwardInput().children(net)
        >>> net(torch.ones(5, 3)).sum().backward()
        >>> [[tuple(gradient.shape) for gradient in slot] for slot in recorder]
        [[], [(5, 4)], [(5, 4)]]
    """

    _subrecorder = OfInputGradients


class BackwardOutput(ValueRecorder):
    """Record output gradients after those are calculated w.r.t. specified module.

    They have the shapes of the outputs; with `batch` each is a tuple with a place for each tensor in the output.

    Examples:
        >>> import torch, torchrecorder
        >>> net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
        >>> recorder = torchrecorder.torchfunc.hooks.recorders.BackwardOutput(reduction=torch.add)
        >>> _ = recorder.children(net, indices=(2,))
        >>> for _ in range(3):
        ...     net(torch.ones(5, 3)).sum().backward()
        >>> recorder[0].sum(dim=0)  # a 1 from each of 5 samples in 3 passes
        tensor([15., 15.])
    """

    _subrecorder = OfOutputGradients
