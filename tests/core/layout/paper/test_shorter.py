"""A picture that is wider than its room has words in more lines in the rows that make it so, and in no others."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.core.drawing.looking import Seen, faults
from tests.core.layout.paper.test_paper import COLUMN, paper
from torchrecorder.graph import Graph
from torchrecorder.recording.run import capture

SCROLLED = 2 * COLUMN


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        sizes = (3, 5, 7)
        self.branches = nn.ModuleList([nn.Conv2d(512, 512, size, padding=size // 2, groups=256) for size in sizes])
        self.joined = nn.Conv2d(len(sizes) * 512, 512, 3, stride=2, groups=256)

    def forward(self, x: Tensor) -> Any:
        return self.joined(torch.cat([branch(x) for branch in self.branches], 1))


class MixerOfSeveralStreamsForOneBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.gate = (nn.Linear(1024, 1024) for _ in range(4))

    def forward(self, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Any:
        streams = self.query(a), self.key(b).relu(), self.value(c).tanh(), self.gate(d).sigmoid()
        return torch.cat(streams, 1)


class Gates(MixerOfSeveralStreamsForOneBlock):
    def __init__(self) -> None:
        super().__init__()
        self.other = nn.Linear(1024, 1024)

    def forward(self, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Any:
        return torch.cat([super().forward(a, b, c, d), self.other(d).exp()], 1)


def streams(model: nn.Module) -> Graph:
    with torch.no_grad():
        return capture(model, (torch.zeros(1, 1024),) * 4, {})


def graph() -> Graph:
    with torch.no_grad():
        return capture(Branches(), (torch.zeros(1, 512, 8, 8),), {})


def n_lines(picture: Seen, name: str) -> int:
    """The lines of the node with such a name."""
    (at,) = [at for words, at in picture.labels if words == name]
    (node,) = [
        box for box in picture.nodes if box[0] <= at[0] <= at[2] <= box[2] and box[1] <= at[1] <= at[3] <= box[3]
    ]
    return len(
        {round(at[1]) for _, at in picture.labels if node[1] <= at[1] <= node[3] and node[0] <= at[0] <= node[2]}
    )


def test_rows_that_are_too_wide_have_shorter_lines() -> None:
    fitted, wide = paper(graph()), paper(graph(), width=SCROLLED)
    assert fitted.size[0] <= COLUMN < wide.size[0] < SCROLLED
    assert n_lines(fitted, "branches.0") == n_lines(wide, "branches.0") + 1
    assert n_lines(fitted, "joined") == n_lines(wide, "joined") == 1
    assert faults(fitted) == faults(wide) == []


def test_a_class_and_its_sizes_stand_in_two_lines_where_short_words_make_a_row_too_wide() -> None:
    fitted, wide = paper(streams(Gates())), paper(streams(Gates()), width=SCROLLED)
    assert fitted.size[0] <= COLUMN < wide.size[0]
    assert n_lines(fitted, "query") == 3
    assert n_lines(wide, "query") == 2
    assert faults(fitted) == faults(wide) == []


def test_a_title_that_makes_a_picture_too_wide_has_more_lines() -> None:
    graph = streams(MixerOfSeveralStreamsForOneBlock())
    fitted, wide = paper(graph), paper(graph, width=SCROLLED)
    assert fitted.size[0] <= COLUMN < wide.size[0]
    name = MixerOfSeveralStreamsForOneBlock.__name__
    assert not any(name in words for words, _ in fitted.titles)
    assert name in "".join(words for words, _ in fitted.titles)
    assert any(name in words for words, _ in wide.titles)
    assert faults(fitted) == faults(wide) == []
