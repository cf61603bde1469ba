"""The models that pictures are compared on."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


class Basic(nn.Module):
    """The block of ResNet-18."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        self.downsample = nn.Identity() if inputs == outputs else shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Two convolutions beside a shortcut."""
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out: torch.Tensor = self.relu(y + self.downsample(x))
        return out


def resnet18() -> nn.Module:
    """ResNet-18 for ten classes."""
    sizes = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
    sizes += [(128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *(Basic(*s) for s in sizes), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Block(nn.Module):
    """A block of a transformer, written with matrix products."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.q, self.k, self.v, self.proj = (nn.Linear(d, d) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attention and two linear layers, each beside a residual."""
        y = self.ln1(x)
        scores = (self.q(y) @ self.k(y).transpose(1, 2) / 8).softmax(-1)
        x = x + self.proj(scores @ self.v(y))
        out: torch.Tensor = x + self.mlp(self.ln2(x))
        return out


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "ResNet-18": (resnet18, (1, 3, 64, 64)),
    "transformer, 12 blocks": (lambda: nn.Sequential(*(Block(64) for _ in range(12))), (1, 16, 64)),
}
