"""Other inputs of the same shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchrecorder.running.nested import map_tensors


def other_inputs(args: Any, kwargs: Any, seed: int = 7) -> tuple[Any, Any]:
    """New normal numbers; integers and flags are those that were there, in another order."""
    generator = torch.Generator().manual_seed(seed)

    def other(tensor: Tensor) -> Tensor:
        if tensor.is_floating_point() and tensor.layout is torch.strided:
            return torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
        if tensor.layout is not torch.strided or tensor.is_complex():
            return tensor
        return tensor.flatten()[torch.randperm(tensor.numel(), generator=generator)].view(tensor.shape)

    found: tuple[Any, Any] = map_tensors((args, kwargs), other)
    return found
