"""Devices that code asks for and this machine does not have: the one that its tensors are on stands for them.

Documentation is often built without a GPU, and what a model does seldom depends on where it does it. torch itself is
not changed: calls are changed as they pass the modes of a recording, and the few functions that no mode sees have
another one in their place as long as it lasts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from torchrecorder.recording.code_info import import_path, is_user_file
from torchrecorder.running import torch_private
from torchrecorder.running.handles import replaced

MOVES: frozenset[object] = frozenset((Tensor.to, Tensor.cuda))
"""Functions whose second argument, without a name, may be a device."""

_IS_THERE: dict[str, Callable[[], bool]] = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
_REPLACED = (
    *((torch.cuda, name) for name in ("current_device", "set_device", "synchronize")),
    (torch.mps, "synchronize"),
)
"""Where the functions are that no mode sees, or that fake tensors do not survive."""

NOT_THERE = (
    *("Torch not compiled with", "NVIDIA driver", "No CUDA", "without CUDA", "requires CUDA"),
    *("attribute '_cuda", "accelerator device", "with support for mps", "MPS backend"),
)
"""Texts of exceptions of those who ask for a device that is not there."""

Changed = tuple[Callable[..., object], Sequence[object], Mapping[str, object]]
"""A function, and what it is called with."""


def is_there(kind: str) -> bool:
    """Whether this machine has a device of a kind, as far as that is asked here."""
    return kind not in _IS_THERE or _IS_THERE[kind]()


def stands_for(there: str, kind: str) -> str:
    """The note."""
    return f"{there} stands for {kind}, which this machine does not have"


class Devices(TorchFunctionMode):
    """The devices that there are for tensors of a recording, and those asked for besides."""

    def __init__(self, tensors: Callable[[], Iterable[Tensor]], notes: dict[str, None]) -> None:
        """Ask nothing yet; `notes` gets a sentence for each place that asks for a device that is not there."""
        super().__init__()
        self._tensors = tensors
        self._notes = notes
        self._default = torch.get_default_device()
        self._known: dict[str, torch.device | None] = {}

    def __torch_function__(
        self, func: Callable[..., object], types: object, args: Sequence[object] = (), kwargs: Any = None
    ) -> object:
        func, args, kwargs = self.changed(func, args, kwargs or {})
        return func(*args, **kwargs)

    def changed(self, func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> Changed:
        """A call that may name a device, with the one that stands for it."""
        if func is Tensor.cuda and (there := self._in_place_of("cuda")) is not None:
            named = {name: value for name, value in kwargs.items() if name != "device"}
            # `cuda(device, non_blocking)` has an argument fewer than `to(device, dtype, non_blocking)`.
            return Tensor.to, (args[0], there), named
        if func in MOVES and len(args) > 1 and (there := self._in_place_of(args[1])) is not None:
            args = (args[0], there, *args[2:])
        if "device" in kwargs and (there := self._in_place_of(kwargs["device"])) is not None:
            kwargs = {**kwargs, "device": there}
        return func, args, kwargs

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While it is active, `torch.cuda.synchronize()` and its like do nothing if that device is missing."""
        changes: list[tuple[Any, str, Any]] = [(owner, name, self._of_device) for owner, name in _REPLACED]
        if (parser := torch_private.PARSER_OF_MOVES.get()) is not None:
            changes.append((parser, "_parse_to", self._of_move))
        with replaced(*changes):
            yield

    def _of_device(self, original: Callable[..., object]) -> Callable[..., object]:
        kind = original.__module__.rpartition(".")[2]

        def answered(*args: object) -> object:
            return original(*args) if self._in_place_of(kind) is None else 0

        return answered

    def _of_move(self, original: Callable[..., object]) -> Callable[..., object]:
        def parsed(*args: object, **kwargs: object) -> object:
            _, (_, *there), named = self.changed(Tensor.to, (None, *args), kwargs)
            return original(*there, **named)

        return parsed

    def _in_place_of(self, device: object) -> torch.device | None:
        """The stand-in of a device; None if it is there, or if this is not a device."""
        if isinstance(device, torch.device):
            kind = device.type
        elif isinstance(device, str):
            kind = device.partition(":")[0]
        elif type(device) is int and not any(map(is_there, _IS_THERE)):
            kind = "cuda"  # a number is one of the accelerator's devices
        else:
            return None
        if kind not in self._known:
            self._known[kind] = None if is_there(kind) else next((it.device for it in self._tensors()), self._default)
        there = self._known[kind]
        if there is not None:
            self._notes[f"{stands_for(there.type, kind)}{_place()}"] = None
        return there


@contextmanager
def on_devices_there() -> Iterator[dict[str, None]]:
    """For code that runs outside of a recording, such as the constructor of a model. Gives the notes it takes."""
    notes: dict[str, None] = {}
    devices = Devices(lambda: (), notes)
    with devices.answering(), devices:
        yield notes


def _place() -> str:
    """The place of the user's code."""
    frame = sys._getframe(2)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return f": {import_path(frame.f_code.co_filename, frame.f_globals)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""
