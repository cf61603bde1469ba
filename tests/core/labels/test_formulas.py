"""Formulas of what is drawn as one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from torchrecorder.labels.formulas import formula
from torchrecorder.recording import capture


class Computing(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(4, 4) for _ in range(3))
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.q(x), self.k(x), self.v(x))


FORMULAS: dict[str, Callable[..., Tensor]] = {
    "softmax(q @ kᵀ / 2) @ v": lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v,
    "(q + k) × v": lambda q, k, v: (q + k) * v,
    "q − (k − v)": lambda q, k, v: q - (k - v),
    "q − k − v": lambda q, k, v: q - k - v,
    "q / (k × v)": lambda q, k, v: q / (k * v),
    "2 − q": lambda q, k, v: 2 - q,
    "q × q + k": lambda q, k, v: q * q + k,
    "(q + k)² × 0.5": lambda q, k, v: (q + k).pow(2) * 0.5,
    "attention(q, k, v)": nn.functional.scaled_dot_product_attention,
    "sub(q, k)": lambda q, k, v: torch.sub(q, k, alpha=2),
    "cat(q, k[:, 0:1])": lambda q, k, v: torch.cat([q, k[:, 0:1]], 1),
}


@pytest.mark.parametrize("written", FORMULAS)
def test_a_formula_is_written_as_a_reader_would(written: str) -> None:
    graph = capture(Computing(FORMULAS[written]).eval(), (torch.ones(1, 3, 4),))
    ops = [op.id for op in graph.ops if op.call == 0]
    assert formula(graph, ops, ops[-1], 160) == written


def test_a_formula_that_is_too_long_is_not_written() -> None:
    graph = capture(Computing(lambda q, k, v: q + k).eval(), (torch.ones(1, 3, 4),))
    ops = [op.id for op in graph.ops if op.call == 0]
    assert formula(graph, ops, ops[-1], 4) == ""
