"""An edge by which a layer gets several things says which: one shape would be taken for all of it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.recording import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view


class Biased(nn.Module):
    """A layer that gives its features and a bias for the layers after it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.bias = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.second(self.first(x).relu()), self.bias(x)


class Reading(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 5)

    def forward(self, x: Tensor, position_bias: Tensor) -> Tensor:
        return self.second(self.first(x).relu()) + position_bias  # type: ignore[no-any-return]


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.giving, self.reading, self.last = Biased(), Reading(), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.reading(*self.giving(x)))  # type: ignore[no-any-return]


class Listing(nn.Module):
    """A layer that gives a list, which is one thing."""

    def __init__(self) -> None:
        super().__init__()
        self.giving, self.joining = Biased(), Joining()

    def forward(self, x: Tensor) -> Tensor:
        return self.joining([*self.giving(x)])  # type: ignore[no-any-return]


class Joining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 4), nn.Linear(5, 4)

    def forward(self, levels: list[Tensor]) -> Tensor:
        return self.a(levels[0]).relu() + self.b(levels[1])  # type: ignore[no-any-return]


def words(model: nn.Module) -> dict[tuple[str, str], str]:
    with torch.no_grad():
        view: View = make_view(capture(model, (torch.randn(2, 8),), {}), DrawingOptions(depth=1))
    names = [view.graph.calls[node.calls[0]].module if node.calls else node.name for node in view.nodes]
    return {(names[tail], names[head]): text for (tail, head), text in edge_shapes(view, ("shapes",)).items()}


def test_two_arguments_by_one_edge_are_named() -> None:
    said = words(Twice())
    assert said["giving", "reading"] == "x, position_bias"
    assert said["reading", "last"] == "N×5"


def test_the_entries_of_a_list_are_one_thing() -> None:
    assert "," not in words(Listing()).get(("giving", "joining"), "")
