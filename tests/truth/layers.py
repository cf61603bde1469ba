"""Inputs and layers that many cases share."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn


def numbers(*shape: int) -> Any:
    return lambda: torch.randn(*shape)


def ids() -> Tensor:
    return torch.tensor([[1, 2, 3]])


class OneLayer(nn.Module):
    """A model with one layer, `fc`."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)


class ActiveLayer(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return F.relu(self.fc(x))
