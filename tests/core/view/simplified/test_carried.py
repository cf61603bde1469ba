"""What goes from turn to turn of a stack is drawn as such where something else seems to go through."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from tests.core.view.seeing import name
from torchrecorder.proof import faults
from torchrecorder.recording.run import capture
from torchrecorder.view import View, make_view


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, hidden: Tensor, extra: Tensor) -> Tensor:
        return hidden + self.down(self.up(self.norm(hidden)).relu()) * extra  # type: ignore[no-any-return]


class PerLayer(nn.Module):
    """Layers in a row that each get, beside what the one before gave, a part of one embedding that is their own."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.extra, self.head = nn.Linear(8, 8), nn.Linear(8, 8 * 5), nn.Linear(8, 4)
        self.layers = nn.ModuleList(Layer() for _ in range(5))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.embed(x)
        extras = self.extra(hidden).view(*x.shape[:-1], 5, 8)
        for i, layer in enumerate(self.layers):
            hidden = layer(hidden, extras[..., i, :].tanh())
        return self.head(hidden)  # type: ignore[no-any-return]


class Residuals(nn.Module):
    """Layers in a row whose stream enters them twice, at their first layer and at their sum."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(8) for _ in range(5))
        self.linears = nn.ModuleList(nn.Linear(8, 8) for _ in range(5))

    def forward(self, x: Tensor) -> Tensor:
        for norm, linear in zip(self.norms, self.linears, strict=True):
            x = x + linear(norm(x)).tanh()
        return x


def viewed(model: nn.Module) -> View:
    with torch.no_grad():
        return make_view(capture(model, (torch.randn(2, 3, 8),), {}))


def backs(view: View) -> list[str]:
    return [f"{name(view, view.nodes[e.tail])} > {name(view, view.nodes[e.head])}" for e in view.edges if e.back]


def test_a_stream_that_enters_after_something_else_goes_back() -> None:
    view = viewed(PerLayer())
    assert [box.repeat for box in view.boxes if box.repeat > 1] == [5]
    assert backs(view) == ["layers.0 > layers.0"]
    assert faults(view) == ()


def test_the_proof_asks_for_it() -> None:
    view = viewed(PerLayer())
    without = replace(view, edges=tuple(edge for edge in view.edges if not edge.back))
    assert any("back" in fault.words and "missing" in fault.words for fault in faults(without))


def test_a_stream_that_enters_first_does_not() -> None:
    view = viewed(Residuals())
    assert [box.repeat for box in view.boxes if box.repeat > 1] == [5]
    assert backs(view) == []
    assert faults(view) == ()
