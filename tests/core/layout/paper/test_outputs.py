"""What a layer gives twice are two things, which two lines carry from the layer on."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.core.drawing.looking import Seen, crossings, faults, merging
from tests.core.layout.paper.test_paper import paper
from torchrecorder.graph import Graph
from torchrecorder.layout.paper import panels
from torchrecorder.recording import capture


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 8), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, state = self.lstm(x)
        return self.head(y), state


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attn, self.norm = nn.MultiheadAttention(8, 2, batch_first=True), nn.LayerNorm(8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, weights = self.attn(x, x, x)
        return self.norm(x + y), weights


def graph(model: nn.Module) -> Graph:
    with torch.no_grad():
        return capture(model, (torch.randn(2, 5, 8),), {})


def apart(picture: Seen) -> Seen:
    """The picture as if each line had a tail of its own, if what they carry has."""
    return replace(picture, ends=[(f"{tail} to {head}", head) for tail, head in picture.ends])


@pytest.mark.parametrize("model", [Recurrent(), Attending()], ids=["lstm", "attention"])
def test_outputs_of_one_layer_are_on_lines_of_their_own(model: nn.Module) -> None:
    picture = paper(graph(model), depth=1)
    of_layer = [tail for tail, _ in picture.ends if sum(other == tail for other, _ in picture.ends) > 1]
    assert of_layer
    shared = [words for words in merging(apart(picture)) if not words.startswith("0 ")]  # the input is one thing
    assert shared == []
    assert not faults(picture)
    assert not crossings(picture)


def test_without_outputs_of_their_own_they_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "outputs", lambda view, flows: {})
    assert merging(apart(paper(graph(Recurrent()), depth=1)))


def test_one_output_that_several_read_is_one_line() -> None:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.a, self.b = (nn.Linear(8, 8) for _ in range(3))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            x = self.stem(x)
            return self.a(x), self.b(x.view(-1, 8))

    picture = paper(graph(Branches()), depth=1)
    starts = {points[0] for points, (tail, _) in zip(picture.lines, picture.ends, strict=True) if tail == "1"}
    assert len(starts) == 1
