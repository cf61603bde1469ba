"""A small image classifier with residual blocks."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions beside which the input goes on."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(torch.relu(self.norm(self.first(x)))) + x)


class Residual(nn.Module):
    """A stem, three equal blocks, a head."""

    def __init__(self, channels: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.Sequential(*(Block(channels) for _ in range(3)))
        self.head = nn.Linear(channels, classes)

    def forward(self, image: Tensor) -> Tensor:
        features = self.blocks(self.stem(image))
        return self.head(functional.adaptive_avg_pool2d(features, 1).flatten(1))
