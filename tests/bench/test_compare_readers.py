"""The readers of other tools' graphs, each on one known net, so that a wrong reader is not blamed on its tool."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

networkx = pytest.importorskip("networkx")

from bench.compare_layers import Seen, layers, same_calls, same_flow  # noqa: E402
from bench.compare_tools import TOOLS  # noqa: E402


class Known(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Sequential(nn.Tanh(), nn.Linear(3, 3))
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Any:
        y = self.act(self.a(x))
        return self.b(y) + y * 2


def expected(*more: tuple[str, str]) -> Any:
    graph = networkx.DiGraph([("a", "act"), ("act", "tanh"), ("tanh", "out"), *more])
    kinds = {"a": "Linear", "act": "ReLU", "tanh": "Tanh", "out": "Linear"}
    networkx.set_node_attributes(graph, kinds, "kind")
    return graph


def test_operations_between_layers_are_left_out() -> None:
    classes = {"m": "Net", "a": "Linear", "b": "ReLU"}
    inside = {1: ("m", "a"), 2: ("m",), 3: ("m", "b")}
    found = layers(Seen(inside, classes, {(1, 2), (2, 3)}))  # type: ignore[arg-type]
    assert [*found.edges] == [("a", "b")]


def test_a_wrong_edge_is_seen() -> None:
    assert same_calls(expected(), expected(("a", "out")))
    assert not same_flow(expected(), expected(("a", "out")))


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["torchview", "torchvista", "torchlens", "torchrecorder 1.0.3"])
def test_a_reader_reads_a_known_net(name: str) -> None:
    folders = {"peers": os.environ.get("COMPARE_PEERS", ""), "old": os.environ.get("COMPARE_OLD", "")}
    if not all(folders.values()):
        pytest.skip("the tools are not installed; nox -s bench -- compare does it and runs this")
    if folders["peers"] not in sys.path:
        sys.path.append(folders["peers"])
    tool = TOOLS[name](folders)
    assert tool.seen is not None
    with torch.set_grad_enabled(tool.needs_grad):
        found = layers(tool.seen(tool.record(Known().eval(), (torch.randn(2, 3),), {})))
    assert same_flow(expected(), found)
