"""Classes of torch_geometric such as MeanAggregation, whose parameters do not say that they take a graph."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from torch import Tensor, nn

from tests.core.recording.test_grades import recorded


class Bare(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x.relu()


def test_a_class_of_a_library_for_graphs_gets_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("torch_geometric")
    monkeypatch.setitem(sys.modules, "torch_geometric", library)
    mean = type("MeanAggregation", (Bare,), {"__module__": "torch_geometric.nn.aggr"})
    own = type("Own", (mean,), {"__module__": "mine"})
    for cls in (mean, own):
        info = recorded(cls()).info
        assert info.guessed.startswith("x=4,16, a small graph")
        assert info.grade == "model"
