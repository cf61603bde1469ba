"""The nets that the pictures of the reference show."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SampleNet(nn.Module):
    """Two linear layers side by side, concatenated, and a third one after them, with its activation."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Linear(3, 3)
        self.right = nn.Linear(3, 3)
        self.head = nn.Sequential(nn.Linear(6, 1), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(torch.cat([self.left(x), self.right(x)], dim=1))
        return out


class Block(nn.Module):
    """A linear layer and an activation, and what came in added to what they give."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.relu(self.linear(x))
        return out


class Blocks(nn.Module):
    """One block, called three times."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.block(x)
        return x


def classifier() -> nn.Sequential:
    """Three linear layers and two activations: positions 0 to 4 among the children."""
    return nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2))


def toynet() -> nn.Sequential:
    """Two linear layers and two activations, labelled 1-1 to 1-4 in the table of a `Recorder`."""
    return nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3), nn.ReLU())
