"""Which recordings are worth a picture that no author asked for, and the reason against the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from torchrecorder.graph.worth import against
from torchrecorder.recording.run import capture


class Of(nn.Module):
    """Two layers, and a forward that a test gives."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.ones(()))
        self.given = forward

    def forward(self, *args: Tensor) -> Any:
        return self.given(self, *args)


class Norm(nn.Module):
    """What torch's layer norm is: two vectors, read by two operations."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean()) * self.weight + self.bias


class Cell(nn.Module):
    """A recurrent cell that is written with matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.of_input, self.of_state = nn.Parameter(torch.ones(4, 4)), nn.Parameter(torch.ones(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x @ self.of_input) @ self.of_state


X = torch.ones(2, 4)


def both(net: Any, x: Tensor) -> Any:
    return net.second(net.first(x))


def masked(net: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    mask = torch.rand(2, 4) > 0.5
    return both(net, x * mask), mask.int()


WORTH: dict[str, tuple[nn.Module, tuple[Tensor, ...]]] = {
    "two layers": (Of(both), (X,)),
    "a cell of matrices": (Cell(), (X,)),
    "a scale beside the features": (Of(lambda net, x: (both(net, x), net.scale.exp())), (X,)),
    "an empty loss beside the features": (Of(lambda net, x: (both(net, x), torch.zeros(()))), (X,)),
    "a number of one input": (Of(lambda net, x: both(net, x).mean()), (X,)),
    "a mask by chance": (Of(masked), (X,)),
    "labels that are decoded in Python": (
        Of(lambda net, x: torch.tensor(both(net, x).argmax(1).tolist())),
        (X,),
    ),
    "an input of which only the numbers decide": (
        Of(lambda net, x, n: both(net, x) if n.sum() > 3 else both(net, x.relu())),
        (X, X),
    ),
}

REASONS: dict[str, tuple[str, nn.Module, tuple[Tensor, ...]]] = {
    "an activation": ("no layer with weights", nn.GELU(), (X,)),
    "one layer": ("one layer with weights", nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (X,)),
    "a norm by hand": ("one layer with weights", Norm(), (X,)),
    "one layer called twice": ("one layer with weights", Of(lambda net, x: net.first(net.first(x))), (X,)),
    "a loss": ("it makes one number of several inputs, as losses and metrics do", nn.MSELoss(), (X, X)),
    "a loss with layers": (
        "it makes one number of several inputs, as losses and metrics do",
        Of(lambda net, x, y: (both(net, x) - y).abs().mean()),
        (X, X),
    ),
    "an input that is not used": (
        "what it is given as args.1 goes nowhere",
        Of(lambda net, x, y: both(net, x)),
        (X, X),
    ),
    "no neighbours": (
        "a part of it computes with empty tensors",
        Of(lambda net, x: both(net, x[:0]).sum(0) + x),
        (X,),
    ),
    "an output that hangs in the air": (
        "its output 1 follows from no input",
        Of(lambda net, x: (both(net, x), torch.zeros(3))),
        (X,),
    ),
    "all from parameters": (
        "its output follows from no input",
        Of(lambda net, x: net.second(net.first.weight) * (2 if x.sum() > 0 else 1)),
        (X,),
    ),
    "no tensor": ("it gives no tensor", Of(lambda net, x: str(both(net, x))), (X,)),
}


@pytest.mark.parametrize("case", WORTH)
def test_a_model_is_worth_a_picture(case: str) -> None:
    model, args = WORTH[case]
    assert against(capture(model, args)) == ""


@pytest.mark.parametrize("case", REASONS)
def test_what_tells_little_is_not(case: str) -> None:
    reason, model, args = REASONS[case]
    assert against(capture(model, args)) == reason


def test_sizes_that_nothing_vouches_for_are_a_reason() -> None:
    graph = capture(Of(both), (X,))
    named = replace(graph, info=replace(graph.info, grade="names"))
    assert against(named) == "its inputs can be guessed from the names of its parameters alone"


def test_what_an_author_gives_may_be_left_unused() -> None:
    graph = capture(Of(lambda net, x, y: both(net, x)), (X, X))
    assert against(graph)
    assert against(replace(graph, info=replace(graph.info, grade="declared"))) == ""


@pytest.mark.parametrize("run", ["fake", "meta"])
def test_it_makes_no_difference_how_it_ran(run: Any) -> None:
    assert against(capture(Of(both), (X,), run=run)) == ""
    assert against(capture(nn.GELU(), (X,), run=run)) == "no layer with weights"
