"""States of zeros before the first step are left out, and what stands for later steps, too, has a line of its state."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from tests.core.graph.building import Net
from tests.core.view.seeing import edges, shown
from torchrecorder.graph import Graph
from torchrecorder.proof import faults
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view


class Cell(nn.Module):
    """Attends with its state, and updates it: a later step reads it in two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.keys, self.rnn = nn.Linear(8, 8), nn.Linear(8, 8), nn.GRUCell(16, 8)

    def forward(self, words: Tensor, hidden: Tensor, last: Tensor) -> Tensor:
        scores = torch.tanh(self.keys(words) + self.query(hidden)[:, None]).softmax(1)
        return self.rnn(torch.cat([(scores * words).sum(1), last], 1), hidden)  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """Two cells, so that an inset shows one, whose first step gets zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.leave = nn.Linear(8, 8), nn.Linear(16, 8)
        self.cells = nn.ModuleList(Cell() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        words = self.embed(x)
        hidden = [next(cell.parameters()).new_zeros(len(x), 8) for cell in self.cells]
        last = [torch.zeros(len(x), 8) for _ in self.cells]
        for _ in range(3):
            hidden = [cell(words, h, y) for cell, h, y in zip(self.cells, hidden, last, strict=True)]
            last = [h.sigmoid() for h in hidden]
        return self.leave(torch.cat(hidden, 1))  # type: ignore[no-any-return]


def recorded() -> Graph:
    with torch.no_grad():
        return capture(Decoder(), (torch.randn(2, 5, 8),))


def inset(view: View) -> View:
    return view.insets[0].view


def test_a_state_is_read_in_the_inset_by_all_that_read_it_later() -> None:
    view = make_view(recorded())
    read = [edge for edge in edges(inset(view)) if edge.startswith("input:hidden")]
    assert [edge.rpartition(".")[2] for edge in read] == ["query", "rnn"]
    assert any(edge.startswith("input:last") for edge in edges(inset(view)))
    assert faults(view) == ()


def test_the_proof_finds_a_line_of_a_state_that_is_missing() -> None:
    view = make_view(recorded())
    names = shown(inset(view))
    lost = next(e for e in inset(view).edges if names[e.tail] == "input:hidden" and names[e.head].endswith("rnn"))
    less = replace(inset(view), edges=tuple(edge for edge in inset(view).edges if edge is not lost))
    found = faults(replace(view, insets=(replace(view.insets[0], view=less),)))
    assert [fault.kind for fault in found] == ["flow"]
    assert "hidden" in found[0].words
    assert "missing" in found[0].words


def test_zeros_in_the_type_of_a_weight_are_no_layer_that_leads_nowhere() -> None:
    view = make_view(recorded())
    assert {node.kind for node in view.nodes} == {"input", "call", "op", "output"}
    assert "new_zeros" not in shown(view)


class Even(nn.Module):
    """Looks up every second row of its table."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.leave = nn.Embedding(16, 8), nn.Linear(8, 8)

    def forward(self, ids: Tensor) -> Tensor:
        return self.leave(self.embed(ids * 2).sin())  # type: ignore[no-any-return]


def test_the_proof_finds_a_node_that_leads_nowhere_though_a_shown_one_reads_it() -> None:
    with torch.no_grad():
        view = make_view(capture(Even(), (torch.tensor([[1, 2, 3]]),)))
    assert edges(view) == ["input:ids > mul", "mul > embed", "embed > sin", "sin > leave", "leave > output:"]
    (fault,) = faults(replace(view, edges=tuple(edge for edge in view.edges if shown(view)[edge.head] != "embed")))
    assert "no line leads" in fault.words


class Pool(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.value = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        scores = self.query(x).tanh().masked_fill(~mask[..., None], -9.0).softmax(1)
        return (scores * self.value(x)).sum(1)  # type: ignore[no-any-return]


class Valid(nn.Module):
    """Pools what a mask leaves, and goes on with the same words, which the mask says as an index."""

    def __init__(self) -> None:
        super().__init__()
        self.pool, self.leave = Pool(), nn.Linear(8, 8)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        pooled = self.pool(x, mask)
        return self.leave(x[:, mask[0].nonzero().flatten()] * pooled[:, None])  # type: ignore[no-any-return]


def test_a_mask_that_is_drawn_leads_to_all_that_read_it() -> None:
    """There was no line into the pooling, as if that read all words."""
    with torch.no_grad():
        graph = capture(Valid(), (torch.randn(2, 5, 8), torch.ones(2, 5, dtype=torch.bool)))
    view = make_view(graph, DrawingOptions(collapse=("pool",)))
    assert [edge for edge in edges(view) if edge.startswith("input:mask")] == [
        "input:mask > pool",
        "input:mask > nonzero",
    ]
    assert faults(view) == ()
    lost = next(edge for edge in view.edges if edges(replace(view, edges=(edge,))) == ["input:mask > pool"])
    (fault,) = faults(replace(view, edges=tuple(edge for edge in view.edges if edge is not lost)))
    assert "no line leads" in fault.words


def test_a_computed_target_leads_to_its_loss() -> None:
    """The loss had a line of the logits alone, though its target is made of what the model is given."""
    net = Net()
    x = net.input("x", 4, 8)
    classes = net.input("classes", 4)
    meta = net.values[classes].meta
    assert meta is not None
    net.values[classes] = replace(net.values[classes], meta=replace(meta, dtype="int64"))
    logits = net.layer("head", "Linear", x, params=64)
    target = net.op("scatter", net.op("zeros_like", logits), classes)
    graph = net.graph(logits, net.op("binary_cross_entropy", logits, target, shape=()))
    view = make_view(graph)
    lines = edges(view)
    assert {"input:classes > scatter", "scatter > binary_cross_entropy"} <= {*lines}
    assert faults(view) == ()
    fewer = tuple(edge for edge in view.edges if edge.value != target)
    assert any("is missing: binary_cross_entropy" in fault.words for fault in faults(replace(view, edges=fewer)))
