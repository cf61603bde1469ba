"""Networks that torchrecorder 1.0.3 records; the first two are those of its document. Read by the original too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class SampleNet(torch.nn.Module):
    def __init__(self) -> None:
        torch.nn.Module.__init__(self)

        self.linear_1 = torch.nn.Linear(in_features=3, out_features=3, bias=True)
        self.linear_2 = torch.nn.Linear(in_features=3, out_features=3, bias=True)
        self.linear_3 = torch.nn.Linear(in_features=6, out_features=1, bias=True)
        self.my_special_relu = torch.nn.ReLU()

    def forward(self, inputs: Tensor) -> Any:
        x = self.linear_1(inputs)
        y = self.linear_2(inputs)
        z = torch.cat([x, y], dim=1)
        z = self.my_special_relu(self.linear_3(z))
        return z  # noqa: RET504 (as it stands in the document)


class ConvSample(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(in_channels=1, out_channels=5, kernel_size=5, stride=2, padding=2)
        self.conv2 = torch.nn.Conv2d(in_channels=5, out_channels=5, kernel_size=3, stride=1, padding=1)
        self.relu = torch.nn.ReLU(inplace=False)

    def forward(self, x: Tensor) -> Any:
        x1 = self.conv1(x)
        x2 = self.conv2(x1)
        x3 = x1 + x2
        return self.relu(x3)


class Twice(nn.Module):
    """Calls its layers twice."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.relu = nn.Linear(3, 3), nn.ReLU()

    def forward(self, x: Tensor) -> Any:
        return self.relu(self.linear(self.relu(self.linear(x))))


class SumAndProduct(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a + b, a * b


class Inside(nn.Module):
    """Gives a layer two tensors and takes two."""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.linear = SumAndProduct(), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        a, b = self.both(self.linear(x), x)
        return a - b


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
        self.b.weight = self.a.weight

    def forward(self, x: Tensor) -> Any:
        return self.b(self.a(x))


class Free(nn.Module):
    """Has a parameter beside its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.shift, self.linear = nn.Parameter(torch.ones(3)), nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Any:
        a, b = self.linear(x + self.shift).chunk(2, -1)
        return a * b


def nested() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 2)))


NETS: dict[str, tuple[Callable[[], nn.Module], Any]] = {
    "sample": (SampleNet, (1, 3)),
    "conv": (ConvSample, (1, 1, 10, 10)),
    "twice": (Twice, (2, 3)),
    "several": (SumAndProduct, [(1, 3), (1, 3)]),
    "inside": (Inside, (2, 3)),
    "tied": (Tied, (2, 3)),
    "free": (Free, (2, 3)),
    "nested": (nested, (2, 3)),
    "linear": (lambda: nn.Linear(3, 3), (2, 3)),
    "norm": (lambda: nn.BatchNorm1d(3), (4, 3)),
    "gru cell": (lambda: nn.GRUCell(3, 3), (2, 3)),
}
