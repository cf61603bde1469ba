"""Which variable of the code gets what an op makes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torchrecorder.graph import Graph, from_json, to_json
from torchrecorder.recording.run import capture


def thirds(x: Tensor) -> Tensor:
    return x / 3


class Assigning(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        plain = x.exp()
        shaped = torch.stack([plain, plain * 3]).transpose(0, 1).reshape(-1, 4)
        half, _ = shaped.sin().chunk(2)
        through: Tensor = self.layer(half.cos())
        third = thirds(through).view(-1, 4)
        through = thirds(third) + 1
        return through.tanh()


def recorded() -> Graph:
    graph = capture(Assigning().eval(), (torch.ones(1, 4),))
    assert from_json(to_json(graph)) == graph
    return graph


def variables() -> dict[str, str]:
    graph = recorded()
    return {op.name: graph.variable(op) for op in graph.ops}


def test_the_variable_that_gets_a_result_perhaps_in_another_shape() -> None:
    found = variables()
    assert (found["exp"], found["stack"], found["reshape"]) == ("plain", "shaped", "shaped")


def test_no_variable_where_more_is_done_before() -> None:
    found = variables()
    assert {name: found[name] for name in ("mul", "sin", "cos", "tanh")} == dict.fromkeys(
        ("mul", "sin", "cos", "tanh"), ""
    )


def test_the_variable_that_gets_what_a_function_returns() -> None:
    graph = recorded()
    assert [graph.variable(frame) for frame in graph.frames] == ["third", ""]


def test_a_graph_of_before_has_none() -> None:
    text = to_json(capture(nn.Linear(4, 4).eval(), (torch.ones(1, 4),)))
    assert "assigned" not in text
    assert from_json(text).assigned == {}
