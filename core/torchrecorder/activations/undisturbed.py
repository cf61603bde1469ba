"""Running a network to see its layers, and leaving it as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.parameter import is_lazy


@contextmanager
def undisturbed(net: nn.Module) -> Iterator[None]:
    """Restore each module's training flag, the values of buffers, and the state of the random generators.

    torchinfo gives all modules the flag of the outermost one, and takes its example inputs from the global generator.
    """
    modes = {module: module.training for module in net.modules()}
    buffers = [(buffer, buffer.detach().clone()) for buffer in net.buffers() if not is_lazy(buffer)]
    cuda = {parameter.device.index for parameter in net.parameters() if parameter.is_cuda}
    with torch.random.fork_rng(devices=sorted(cuda)):
        try:
            yield
        finally:
            for module, training in modes.items():
                module.training = training
            with torch.no_grad():
                for buffer, value in buffers:
                    buffer.copy_(value)
