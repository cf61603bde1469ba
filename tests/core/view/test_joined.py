"""Whole numbers of the user's that are put beside features are drawn, since the sum of sizes tells of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from tests.core.view.seeing import edges, shown
from torchrecorder.graph import Graph
from torchrecorder.proof import faults
from torchrecorder.recording.run import capture
from torchrecorder.view import make_view


class Dynamics(nn.Module):
    """The state beside the action that is taken."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(12, 16), nn.Linear(16, 8)

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        both = torch.cat([state, one_hot(action, 4).float()], -1)
        return self.last(self.first(both).relu())  # type: ignore[no-any-return]


class Masked(nn.Module):
    """A mask of whole numbers that is joined with none but itself."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, state: Tensor, mask: Tensor) -> Tensor:
        whole = torch.cat([mask, mask], -1)
        return self.linear(state).masked_fill(whole == 0, 0.0)  # type: ignore[no-any-return]


def recorded(model: nn.Module, *args: Tensor) -> Graph:
    with torch.no_grad():
        return capture(model, args, {})


def test_an_action_beside_the_state_is_drawn() -> None:
    view = make_view(recorded(Dynamics(), torch.randn(2, 8), torch.tensor([1, 3])))
    assert "input:action" in shown(view)
    assert {"input:action > one_hot", "one_hot > cat", "input:state > cat"} <= {*edges(view)}
    assert faults(view) == ()


def test_the_proof_misses_it() -> None:
    graph = recorded(Dynamics(), torch.randn(2, 8), torch.tensor([1, 3]))
    view = make_view(graph)
    without = [edge for edge in view.edges if view.nodes[edge.tail].name != "action"]
    assert faults(view) == ()
    assert faults(type(view)(graph, view.boxes, view.nodes, tuple(without), (), view.depth)) != ()


def test_a_mask_that_is_joined_with_itself_is_still_aside() -> None:
    view = make_view(recorded(Masked(), torch.randn(2, 8), torch.ones(2, 4, dtype=torch.long)))
    assert not any("cat" in edge for edge in edges(view))
    assert faults(view) == ()
