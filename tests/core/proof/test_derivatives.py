"""Derivatives in a forward say of what and by what they are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.proof.test_layout import paper
from tests.core.proof.test_words import written
from torchrecorder.labels.labels import Labels
from torchrecorder.proof.layout import faults
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view


def slope(of: Tensor, by: Tensor) -> Tensor:
    return torch.autograd.grad(of, by, torch.ones_like(of), create_graph=True)[0]


class Flow(nn.Module):
    """A speed as the derivative of a stream, what is left of its equation, and a derivative with weights."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(2, 8), nn.Linear(8, 1)

    @torch.enable_grad()
    def forward(self, x: Tensor, y: Tensor, weights: Tensor) -> Any:
        x, y = (it.detach().requires_grad_() for it in (x, y))
        stream = self.last(torch.tanh(self.first(torch.cat([x, y], 1))))
        u, v = slope(stream, y), -slope(stream, x)
        pull = torch.autograd.grad(stream, x, weights, create_graph=True)[0]
        return {"u": u, "pull": pull, "rest": (slope(u, x) - slope(v, y)).square() * 1.0 + u}


def flow() -> View:
    return make_view(capture(Flow().eval(), (torch.ones(4, 1),) * 3), DrawingOptions(fold=False))


def test_a_derivative_says_of_what_and_by_what_it_is() -> None:
    view = flow()
    said = [Labels(view).node(node).name for node in view.nodes]
    assert {"∂last/∂y", "∂last/∂x", "∂u/∂x", "∂v/∂y", "grad"} <= {*said}
    assert faults(view, paper(view)) == ()


@pytest.mark.parametrize(("true", "lie"), [("∂u/∂x", "∂u/∂y"), ("∂v/∂y", "∂u/∂y"), ("grad", "∂last/∂x")])
def test_another_derivative_is_noticed(true: str, lie: str) -> None:
    view = flow()
    assert any("says another derivative" in fault for fault in faults(view, written(paper(view), true, lie)))
