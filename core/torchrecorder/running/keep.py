"""What a forward may change in a model, and how it is put back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torchrecorder.running.facts import named_modules


@contextmanager
def kept(net: nn.Module) -> Iterator[None]:
    """Run a model and leave it as it was, also after an exception.

    Kept are each module's training flag, its buffers (the forward gets copies) and whether parameters require grad;
    parameters that move to another device get their old memory back. Not kept: what a forward writes into the numbers
    of a parameter, and attributes of the user's own.
    """
    modules = [module for _, module in named_modules(net)]
    training = [(module, module.training) for module in modules]
    parameters = [(p, p.data, p.requires_grad) for p in _parameters(net, modules)]
    buffers = _with_copies(modules)
    try:
        yield
    finally:
        for module, flag in training:
            if module.training is not flag:
                module.training = flag
        for parameter, data, needed in parameters:
            if parameter.data_ptr() != data.data_ptr() or parameter.device != data.device:
                parameter.data = data
            if parameter.requires_grad != needed:
                parameter.requires_grad_(needed)
        for module, name, buffer in buffers:
            module._buffers[name] = buffer


def _parameters(net: nn.Module, modules: Sequence[nn.Module]) -> list[Tensor]:
    """Each parameter of a model once; compiled modules only know their own by `parameters`."""
    if any(isinstance(module, torch.jit.ScriptModule) for module in modules):
        found: Iterable[Tensor | None] = net.parameters()
    else:
        held = [module._parameters for module in modules]
        found = {id(p): p for own in held if own for p in own.values()}.values()
    return [p for p in found if p is not None and (type(p) is nn.Parameter or not is_lazy(p))]


def _with_copies(modules: Sequence[nn.Module]) -> list[tuple[nn.Module, str, Tensor]]:
    """Replace each buffer by a copy, equal ones by the same, and give the old ones."""
    old: list[tuple[nn.Module, str, Tensor]] = []
    copies: dict[int, Tensor] = {}
    for module in modules:
        if isinstance(module, torch.jit.ScriptModule) or not module._buffers:
            continue
        for name, buffer in module._buffers.items():
            if buffer is not None and not is_lazy(buffer):
                old.append((module, name, buffer))
                copies.setdefault(id(buffer), buffer.detach().clone())
    for module, name, buffer in old:
        module._buffers[name] = copies[id(buffer)]
    return old
