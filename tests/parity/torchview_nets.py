"""Small nets, each with a habit that is easy to record wrongly; what torchview 0.2.7 draws of them is kept as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Mixed(nn.Module):
    """Modules in modules, an identity, an operation in place, a created tensor, a nested output."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.block = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        self.same = nn.Identity()

    def forward(self, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        y = self.first(x)
        z = self.same(self.block(y) + y)
        z.add_(1)
        return torch.cat([z, torch.zeros(1, 4)], 1), {"row": y[0]}


class Loop(nn.Module):
    """One module and one activation, many times: what rolling is for."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = functional.relu(self.act(self.linear(x)))
        result: Tensor = torch.tanh(x) + self.act(x)
        return result


class Cells(nn.Module):
    """A recurrent net by hand: slices of the input, a state from nowhere, two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(6, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        state = torch.zeros(1, 4)
        for step in x:
            state = torch.tanh(self.cell(torch.cat([step, state], 1)))
        return self.out(state), state


class Residual(nn.Module):
    """Convolutions with operations in place, and a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.act = nn.ReLU(inplace=True)
        self.down = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(3, 2))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.conv(x))
        y += self.down(x)
        result: Tensor = self.head(self.act(y))
        return result


class Swap(nn.Module):
    """Gives its arguments back."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return y, x


class Untouched(nn.Module):
    """Outputs that are inputs, outputs that are there twice, outputs that are used on."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.swap = Swap()

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.linear(x)
        a, b = self.swap(y, x)
        return x, y, a, b, y + 1


class Named(nn.Module):
    """Dicts and lists as arguments and outputs, and keyword arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, a: Tensor, b: dict[str, Any], *, k: Tensor) -> dict[str, Any]:
        return {"o": self.linear(a) + k, "l": [b["c"] * b["d"][0], (a,)]}


class Calls(nn.Module):
    """Functions that return several tensors, none, or their argument."""

    def forward(self, x: Tensor) -> tuple[Any, ...]:
        a, b = x.chunk(2, 1)
        best = torch.stack([a, b]).max(0).values
        x = x.clone()
        x[:, 0] = 0
        x += 1
        kept = torch.where(x > 0, x, -x).T
        square = torch.einsum("ij,jk->ik", x, kept)
        square.unsqueeze_(0)
        return torch.topk(functional.pad(square, (1, 1)), 2).values, best.sum().item(), x.split(1)  # type: ignore[no-untyped-call]


class Creations(nn.Module):
    """Tensors that are created on every level."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.noise = Noise()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.linear(torch.ones(2, 4)) + self.noise(x) @ torch.eye(4) + torch.zeros_like(x), torch.arange(2)


class Noise(nn.Module):
    """Adds what it creates."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear(x + torch.rand(2, 4)) * torch.empty(2, 4).fill_(1.0)
        return result


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.Sequential(nn.Embedding(5, 8), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))


Case = tuple[Callable[[], nn.Module], dict[str, Any]]
NETS: dict[str, Case] = {
    "linear": (lambda: nn.Linear(2, 3), {"input_size": (1, 2)}),
    "mixed": (Mixed, {"input_size": (1, 3)}),
    "loop": (Loop, {"input_size": (1, 2)}),
    "cells": (Cells, {"input_size": (3, 1, 2)}),
    "residual": (Residual, {"input_size": (1, 3, 8, 8)}),
    "untouched": (Untouched, {"input_size": (2, 3)}),
    "named": (
        Named,
        {
            "input_data": {"a": torch.ones(2, 2), "b": {"c": torch.ones(2, 2), "d": [torch.ones(2, 2), 3]}},
            "k": torch.ones(2, 2),
        },
    ),
    "calls": (Calls, {"input_size": (2, 4)}),
    "creations": (Creations, {"input_size": (2, 4)}),
    "lstm": (lambda: nn.LSTM(4, 3, 2), {"input_size": (5, 2, 4)}),
    "attention": (lambda: nn.MultiheadAttention(8, 2), {"input_size": [(4, 2, 8), (5, 2, 8), (5, 2, 8)]}),
    "encoder": (_encoder, {"input_data": torch.tensor([[1, 2, 3]])}),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "roll": {"roll": True, "strict": False},
    "everything": {
        "depth": math.inf,
        "expand_nested": True,
        "hide_inner_tensors": False,
        "hide_module_functions": False,
    },
    "rolled-open": {"roll": True, "expand_nested": True, "hide_module_functions": False, "depth": 4},
    "rolled-tensors": {"roll": True, "hide_inner_tensors": False, "mode": "train"},
    "shallow": {"depth": 0},
    "one-level": {"depth": 1, "graph_dir": "LR", "show_shapes": False, "strict": False, "graph_name": "one level"},
}


def sources(draw_graph: Callable[..., Any]) -> dict[str, str]:
    """The text of DOT for each net and option, by file name."""
    found = {}
    for name, (make, inputs) in NETS.items():
        net = make()
        for option, chosen in OPTIONS.items():
            found[f"{name}-{option}.gv"] = draw_graph(net, device="cpu", **inputs, **chosen).visual_graph.source
    return found
