"""What stands in for the tensors of a model and of its arguments in a recording: the user's own stay as they are."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torchrecorder.recording.values import storage_address


class Substitutes(Protocol):
    """One way to stand in for tensors."""

    def of(self, tensor: Tensor) -> Tensor:
        """What stands in for a tensor of the model."""
        ...

    def of_argument(self, tensor: Tensor) -> Tensor:
        """What stands in for a tensor among the arguments."""
        ...

    def before_write(self, tensor: Tensor) -> None:
        """A kernel is about to overwrite the tensor."""
        ...

    def running(self) -> AbstractContextManager[None]:
        """In this the forward runs."""
        ...


class SharedTensors:
    """Numbers. Parameters become others on the same memory, so that a recording needs no second copy of the model.

    What the forward does to the tensor (`requires_grad_`, `.grad`, `.data = …`) is lost with it. What it writes into
    the memory is undone: just before a kernel writes, the memory is copied, and afterwards copied back. Buffers and
    other tensors are copied from the start, keeping who shares memory with whom, since some kernels (batch norm in
    training) write to them without saying so.
    """

    def __init__(self, model: nn.Module) -> None:
        self._shared: dict[int, torch.UntypedStorage] = {}
        for parameter in model.parameters():
            if not is_lazy(parameter) and (address := storage_address(parameter)) is not None:
                self._shared[address] = parameter.untyped_storage()
        self._memories = dict(self._shared)
        self._saved: dict[int, torch.UntypedStorage] = {}

    def of(self, tensor: Tensor) -> Tensor:
        """A tensor on the same memory, if that is a parameter's; else on a copy of it."""
        if is_lazy(tensor):
            return copy.deepcopy(tensor)
        address = storage_address(tensor)
        if type(tensor) not in (Tensor, nn.Parameter, nn.Buffer) or address is None:
            return tensor if isinstance(tensor, nn.Parameter) else _copied(tensor)
        if address not in self._memories:
            self._memories[address] = tensor.untyped_storage().clone()  # type: ignore[no-untyped-call]
        place = (tensor.storage_offset(), tensor.size(), tensor.stride())
        new = tensor.detach().new_empty(0).set_(self._memories[address], *place)
        if isinstance(tensor, nn.Parameter):
            return nn.Parameter(new, tensor.requires_grad)
        return new.requires_grad_(tensor.requires_grad)

    def of_argument(self, tensor: Tensor) -> Tensor:
        """A copy: a forward may write to its arguments."""
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)

    def before_write(self, tensor: Tensor) -> None:
        """Keep what a parameter held."""
        address = storage_address(tensor)
        if address in self._shared and address not in self._saved:
            self._saved[address] = self._shared[address].clone()  # type: ignore[no-untyped-call]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Give the parameters their numbers back at the end."""
        try:
            yield
        finally:
            for address, saved in self._saved.items():
                self._shared[address].copy_(saved)


class FakeTensors:
    """Tensors that know their shape, type and device, and have no numbers.

    What lies on meta is taken to be on the CPU, where the tensors lie that a forward makes.
    """

    def __init__(self, model: nn.Module) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode  # importing it takes as long as a small recording

        self._mode = FakeTensorMode(allow_non_fake_inputs=True)

    def of(self, tensor: Tensor) -> Tensor:
        """A fake one."""
        if is_lazy(tensor):
            return copy.deepcopy(tensor)
        if not tensor.is_meta:
            return self._mode.from_tensor(tensor)
        with self._mode:
            return _empty_like(tensor, "cpu")

    of_argument = of

    def before_write(self, tensor: Tensor) -> None:
        """Nothing can be lost."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make every tensor a fake one. What fails is reported as an exception; torch logs it as well."""
        logger = logging.getLogger(type(self._mode).__module__)
        was_disabled, logger.disabled = logger.disabled, True
        try:
            with self._mode:
                yield
        finally:
            logger.disabled = was_disabled


class MetaTensors:
    """Tensors on torch's device without memory."""

    def __init__(self, model: nn.Module) -> None:
        pass

    def of(self, tensor: Tensor) -> Tensor:
        """One of the same shape on meta."""
        return copy.deepcopy(tensor) if is_lazy(tensor) else _empty_like(tensor, "meta")

    of_argument = of

    def before_write(self, tensor: Tensor) -> None:
        """Nothing can be lost."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the forward make its own tensors there, too."""
        with torch.device("meta"):
            yield


def _empty_like(tensor: Tensor, device: str) -> Tensor:
    if tensor.layout is not torch.strided or tensor.is_nested:
        return tensor.detach().to(device)
    new = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=device)
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(new, tensor.requires_grad)
    return new.requires_grad_(tensor.requires_grad)


def _copied(tensor: Tensor) -> Any:
    try:
        return tensor.detach().clone()
    except (RuntimeError, NotImplementedError):
        return tensor
