"""A picture, its text and its table say the batch as `N`."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from torchrecorder import capture
from torchrecorder.graph import from_json, to_json
from torchrecorder.layout.dot import to_dot
from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.view import make_view
from torchrecorder.write.text import caption_facts, describe, layer_table, tree

NET = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
GRAPH = capture(NET, (torch.ones(2, 3, 8, 8),))


def test_inputs_outputs_and_edges() -> None:
    view = make_view(GRAPH)
    text = to_dot(view).source
    assert "N×3×8×8" in text
    assert "N×2" in text
    assert "2×3×8×8" not in text


def test_edges_say_resolution_and_channels_only() -> None:
    assert list(edge_shapes(make_view(GRAPH)).values()) == ["N×4×6×6", "N×4×1×1"]


class Mean(nn.Module):
    """A sum by hand of what all examples lose."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.exp() * (2 * x.shape[0])).cos().sum(dim=(0, 1)) / x.size(0)


@pytest.mark.parametrize("examples", [1, 2])
def test_a_number_that_is_the_batch(examples: int) -> None:
    graph = capture(Mean(), (torch.ones(examples, 3),))
    text = to_dot(make_view(graph)).source
    assert "÷ N" in text
    assert "× 2N" in text
    assert from_json(to_json(graph)) == graph


class Last(nn.Module):
    """Places along the first axis are steps."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x / x.shape[0])[-1]


def test_a_number_stays_where_no_axis_is_the_batch() -> None:
    graph = capture(Last(), (torch.ones(4, 2),))
    assert graph.batch == {}
    assert "÷ 4" in to_dot(make_view(graph)).source


def test_words_say_which_batch_it_was() -> None:
    assert describe(GRAPH)[1].endswith("input N×3×8×8, output N×2; N = 2")
    facts = caption_facts(GRAPH)
    assert (facts["input"].split()[-1], facts["output"], facts["batch"]) == ("N×3×8×8", "N×2", "2")
    assert "N×4×6×6" in tree(GRAPH)
    assert [row.output for row in layer_table(GRAPH)][:2] == ["N×2", "N×4×6×6"]
