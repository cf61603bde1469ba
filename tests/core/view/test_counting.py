"""Indices in a loop: `t` counts its turns, in pictures and in their proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from torchrecorder import capture
from torchrecorder.labels.labels import Labels
from torchrecorder.proof import ProvedViews, faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Box, View, Views
from torchrecorder.view.differences import INDEX
from torchrecorder.view.pieces import counting


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["(:, 0)", "(:, 1)", "(:, 2)"], "(:, t)"),
        (["(:, 1)", "(:, 2)", "(:, 3)"], "(:, t + 1)"),
        (["2", "1", "0"], "2 − t"),
        (["(:, 0:4)", "(:, 4:8)", "(:, 8:12)"], "(:, 4t:4t + 4)"),
        (["(:3, 0, :)", "(:3, 1, :)", "(:1, 2, :)"], "(:n, t, :)"),
        (["(:, 0)", "(:, 1)", "(:, 3)"], ""),  # no fixed step
        (["(:, 5, 0)", "(:, 1, 1)", "(:, 3, 2)"], ""),  # nor another number that is none of the batch
        (["(:, 0)", "(:, 1)"], ""),  # not in each turn
        (["(:, 0)", "(:, 0)", "(:, 0)"], ""),
        (["(:, -1)", "(:, -2)", "(:, -3)"], ""),
        (["0", "(:, 1)", "2"], ""),
    ],
)
def test_an_index_counts_the_turns(texts: list[str], expected: str) -> None:
    loop = Box(0, None, (1, 2, 3), 1, "loop", around=True)
    assert counting(texts, [loop], 0) == expected
    assert counting(texts, [loop], None) == ""


class Captions(nn.Module):
    """Words one after another, each written into its place; the shorter captions of the batch end before the longer."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.leave = nn.GRUCell(8, 8), nn.Linear(8, 4)

    def forward(self, words: Tensor) -> Any:
        state, given = torch.zeros(3, 8), torch.zeros(3, 5, 4)
        for t in range(5):
            n = 3 if t < 3 else 2
            state = self.cell(words[:n, t, :] * 2, state[:n])
            given[:n, t, :] = self.leave(state)
        return given


def proved() -> View:
    view = ProvedViews(Views(capture(Captions(), torch.randn(3, 5, 8)), DrawingOptions())).view()
    assert view.weakened == ()
    return view


def test_what_is_read_and_written_in_each_turn_is_said_once() -> None:
    view = proved()
    labels = Labels(view)
    said = [label.name for node in view.nodes if (label := labels.node(node)).name.startswith(("[", "write"))]
    assert said == ["[:n, t, :]", "write [:n, t, :]"]


@pytest.mark.parametrize("wrong", ["(:n, t + 1, :)", "(:n, 2t, :)", "(:n, 0, :)", "(:3, t, :)", "(:n, 4 − t, :)"])
def test_the_proof_reads_an_index_in_each_turn(wrong: str) -> None:
    view = proved()
    spans = {node.id: [span for span in node.spans if span.name == INDEX] for node in view.nodes}
    at, (right,) = next((node, of_node) for node, of_node in spans.items() if of_node)
    nodes = [*view.nodes]
    nodes[at] = replace(nodes[at], spans=(replace(right, values=(wrong, right.values[1])),))
    assert faults(view) == ()
    (fault,) = faults(replace(view, nodes=tuple(nodes)))
    assert fault.kind == "sameness"
    assert wrong in fault.words
