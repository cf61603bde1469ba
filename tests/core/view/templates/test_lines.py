"""Layers that are drawn as the few things in a row that are in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from torchrecorder.proof import faults
from torchrecorder.recording.run import capture
from torchrecorder.request import DrawingOptions
from torchrecorder.view import make_view


class MaskedConv1d(nn.Module):
    """A convolution that gives the lengths of what it gives, too, where it is asked to."""

    def __init__(self, kernel: int, *, gives_lengths: bool) -> None:
        super().__init__()
        self.conv, self.gives_lengths = nn.Conv1d(8, 8, kernel, padding=kernel // 2), gives_lengths

    def forward(self, x: Tensor, lens: Tensor) -> tuple[Tensor, Tensor]:
        mask = torch.arange(x.size(2)) >= lens.unsqueeze(1)
        made = self.conv(x.masked_fill(mask.unsqueeze(1), 0))
        return made, torch.div(lens - 1, 1, rounding_mode="trunc") + 1 if self.gives_lengths else lens


class Listening(nn.Module):
    def __init__(self, *, gives_lengths: bool) -> None:
        super().__init__()
        self.first = MaskedConv1d(5, gives_lengths=gives_lengths)
        self.norm = nn.BatchNorm1d(8)
        self.last = MaskedConv1d(3, gives_lengths=gives_lengths)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor, lens: Tensor) -> Any:
        x, lens = self.first(x, lens)
        x, lens = self.last(torch.relu(self.norm(x)), lens)
        return self.head(x.mT), lens


@pytest.mark.parametrize("gives_lengths", [True, False])
def test_a_layer_that_gives_lengths_besides_stays_whole(gives_lengths: bool) -> None:
    with torch.no_grad():
        graph = capture(Listening(gives_lengths=gives_lengths).eval(), (torch.rand(2, 8, 12), torch.tensor([12, 9])))
    view = make_view(graph, DrawingOptions())
    assert faults(view) == ()
    shown = [graph.calls[call].module for node in view.nodes if node.kind == "call" for call in node.calls]
    assert shown[:1] == (["first"] if gives_lengths else ["first.conv"])
    tails = {edge.tail for edge in view.edges if view.nodes[edge.head].name == "lens"}
    assert {view.nodes[tail].kind for tail in tails} == ({"call"} if gives_lengths else {"input"})


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = (MaskedConv1d(kernel, gives_lengths=True) for kernel in (5, 3))
        self.beside = MaskedConv1d(1, gives_lengths=True)

    def forward(self, given: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        x, lens = self.last(*self.first(*given))
        return torch.relu(x + self.beside(*given)[0]), lens


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks, self.head = nn.Sequential(*(Block() for _ in range(3))), nn.Linear(8, 4)

    def forward(self, x: Tensor, lens: Tensor) -> Any:
        x, lens = self.blocks((x, lens))
        return self.head(x.mT), lens


@pytest.mark.parametrize("options", [DrawingOptions(), DrawingOptions(depth=9)])
def test_blocks_of_a_stack_hand_lengths_on_without_a_line(options: DrawingOptions) -> None:
    with torch.no_grad():
        graph = capture(Stack().eval(), (torch.rand(2, 8, 12), torch.tensor([12, 9])))
    view = make_view(graph, options)
    assert faults(view) == ()
    assert 3 in [box.repeat for box in view.boxes]
    lens = next(node.id for node in view.nodes if node.name == "lens")
    (first, *_) = (edge for edge in view.edges if edge.tail == lens)
    without = replace(view, edges=tuple(edge for edge in view.edges if edge is not first))
    assert any("no line leads from input lens" in fault.words for fault in faults(without))
