"""What a layer gives twice are two things, which two lines carry from the layer on."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.core.drawing.engines import laid_out
from tests.core.drawing.looking import Seen, crossings, faults, merging
from tests.core.layout.paper.test_paper import middle, paper
from torchrecorder.graph import Graph
from torchrecorder.layout.paper import PaperLayout, panels
from torchrecorder.layout.paper.placement import n_crossings
from torchrecorder.proof import layout as proof
from torchrecorder.recording.run import capture
from torchrecorder.view import make_view


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


class Gated(nn.Module):
    """Gives the parts of what one layer makes, as adaptive normalisation does."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.linear = nn.Linear(8, 8), nn.Linear(8, 24)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        shift, scale, gate = self.linear(self.first(x).relu()).chunk(3, -1)
        return x * scale + shift, gate, scale


class Recalling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.linear = nn.LSTM(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y, (h, c) = self.lstm(self.linear(x).relu())
        return y, h.mean(0), c.mean(0)


class Twice(nn.Module):
    """Two layers of a class whose three outputs are all read."""

    def __init__(self, layer: type[nn.Module]) -> None:
        super().__init__()
        self.one, self.norm, self.other = layer(), nn.LayerNorm(8), layer()

    def forward(self, x: Tensor) -> Tensor:
        a, b, c = self.one(x)
        d, e, f = self.other(self.norm(a + b * c))
        return d + e * f  # type: ignore[no-any-return]


@pytest.mark.parametrize("layer", [Gated, Recalling])
def test_an_inset_has_an_end_for_each_output(layer: type[nn.Module]) -> None:
    view = make_view(graph(Twice(layer)))
    assert view.insets
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    assert proof.faults(view, placed) == ()
    (inset,) = view.insets
    outputs = {f"{inset.letter}{node.id}" for node in inset.view.nodes if node.kind == "output"}
    assert outputs == {head for _, head in (line.ends for line in placed.lines)} & outputs


class Modulated(nn.Module):
    """A norm with a scale and a shift, and four more of the six parts of what one layer gives."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 48), nn.LayerNorm(8)

    def forward(self, x: Tensor, emb: Tensor) -> tuple[Tensor, ...]:
        shift, scale, *others = self.linear(torch.nn.functional.silu(emb)).chunk(6, -1)
        return self.norm(x) * (1 + scale) + shift, *others


class Gating(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.middle, self.other = Modulated(), nn.Linear(8, 8), Modulated()

    def forward(self, x: Tensor, emb: Tensor) -> Tensor:
        for layer in (self.one, self.other):
            y, gate, shift, scale, last = layer(x, emb)
            x = last * self.middle(gate * y * scale + shift)
        return x


def test_parts_of_what_a_layer_gives_leave_it_in_the_order_of_where_they_go() -> None:
    """The lines of an inset crossed, and its ends stood from the last to the first."""
    view = make_view(capture(Gating(), (torch.ones(2, 5, 8), torch.ones(2, 5, 8)), {}))
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    assert n_crossings(placed) == 0
    (inset,) = view.insets
    ends = [f"{inset.letter}{node.id}" for node in inset.view.nodes if node.kind == "output"]
    across = {line.ends[1]: line.curve[-1][0] for line in placed.lines if line.ends[1] in ends}
    _, *parts = [across[end] for end in ends]
    assert len(parts) == 4
    assert parts == sorted(parts)


def test_the_name_of_what_enters_an_inset_stands_above_the_node_that_reads_it() -> None:
    picture = paper(capture(Gating(), (torch.ones(2, 5, 8), torch.ones(2, 5, 8)), {}), depth="auto")
    (name,) = (box for word, box in picture.words if word == "emb")
    below = min(node[1] for node in picture.nodes if node[0] < name[2] and name[0] < node[2] and node[3] > name[3])
    assert name[3] < below


def test_an_end_of_an_inset_without_its_line_is_a_fault() -> None:
    view = make_view(graph(Twice(Gated)))
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None
    (inset,) = view.insets
    first = next(f"{inset.letter}{node.id}" for node in inset.view.nodes if node.kind == "output")
    without = replace(placed, lines=[line for line in placed.lines if line.ends[1] != first])
    assert any("is not drawn" in words for words in proof.faults(view, without))


class Heads(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.n, self.stem = n, nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        y = self.stem(x)
        return {f"a_long_name_of_output_{i}": y + i for i in range(self.n)}


@pytest.mark.parametrize("n", [3, 6])
def test_outputs_that_are_wider_than_the_page_stand_in_two_rows(n: int) -> None:
    picture = paper(graph(Heads(n)), depth=1)
    bottom = max(box[3] for box in picture.boxes)
    least = 25.0  # points; names of lines are lower
    outputs = [node for node in picture.nodes if node[1] > bottom and node[3] - node[1] > least]
    assert len({node[1] for node in outputs}) == n // 3
    assert picture.size[0] < 600  # points; in one row they take 810
    assert not faults(picture)


class Arrivals(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.quake = nn.Linear(8, 8), nn.Linear(8, 100)
        self.first_arrival, self.second_arrival = nn.Linear(8, 100), nn.Linear(8, 100)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        x = self.body(x)
        return {"a": self.quake(x), "b": self.first_arrival(x), "c": self.second_arrival(x)}


def test_each_head_has_its_output_below_it() -> None:
    """The line of the first led to the middle, where the stream comes from, and back."""
    across = dict.fromkeys(("quake", "first_arrival", "second_arrival", "a", "b", "c"), 0.0)
    picture = paper(capture(Arrivals(), (torch.ones(2, 8),)))
    across |= {name: middle(box) for name, box in picture.labels if name in across}
    heads, outputs = [*across.values()][:3], [*across.values()][3:]
    assert all(abs(head - output) < 8 for head, output in zip(heads, outputs, strict=True)), across
