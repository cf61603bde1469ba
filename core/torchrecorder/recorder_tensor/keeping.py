"""The user's model is run, and left as it was: its modes, its buffers, its device, and the random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn
from torch.jit import ScriptModule

MODES = {"train": True, "eval": False}


@contextmanager
def model_kept(model: nn.Module, device: torch.device | str, mode: str) -> Iterator[None]:
    """Run a model in a mode and on a device, and put everything back, also after an exception.

    Args:
        model: The user's.
        device: Where its parameters and buffers are for the time being. Those that are there already are not copied.
        mode: `train` or `eval`.

    Raises:
        RuntimeError: There is no such mode.
    """
    if mode not in MODES:
        raise RuntimeError(f"Specified model mode not recognized: {mode}")
    with ExitStack() as stack:
        for part in (_numbers(), _buffers(model), _modes(model), _on_device(model, torch.device(device))):
            stack.enter_context(part)
        model.train(MODES[mode])
        yield


@contextmanager
def _numbers() -> Iterator[None]:
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=devices):
        yield


@contextmanager
def _modes(model: nn.Module) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def _buffers(model: nn.Module) -> Iterator[None]:
    """Running statistics move when a model in training mode is run; caches may, in any mode."""
    found = [(buffer, buffer.detach().clone()) for buffer in model.buffers() if not _is_unset(buffer)]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in found:
                # Its version does not tell: batch norm moves running statistics without counting.
                if not torch.equal(buffer, value):
                    buffer.copy_(value)


def _is_unset(tensor: torch.Tensor) -> bool:
    return tensor.is_meta or torch.nn.parameter.is_lazy(tensor)


@contextmanager
def _on_device(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Other tensors in the places of the model's own, which are not touched: `model.to("meta")` would empty them."""
    open_modules = [module for module in model.modules() if not isinstance(module, ScriptModule)]
    places: list[Any] = [place for module in open_modules for place in (module._parameters, module._buffers)]
    found = [(place, dict(place)) for place in places]
    moved: dict[int, Any] = {}
    try:
        for place, tensors in found:
            place.update({name: _moved(tensor, device, moved) for name, tensor in tensors.items()})
        yield
    finally:
        for place, tensors in found:
            place.update(tensors)


def _moved(tensor: Any, device: torch.device, moved: dict[int, Any]) -> Any:
    """The tensor on the device, once for all places that share it."""
    if tensor is None or torch.nn.parameter.is_lazy(tensor) or tensor.device == device:
        return tensor
    if id(tensor) not in moved:
        there = tensor.detach().to(device)
        is_parameter = isinstance(tensor, nn.Parameter)
        moved[id(tensor)] = nn.Parameter(there, tensor.requires_grad) if is_parameter else there
    return moved[id(tensor)]
