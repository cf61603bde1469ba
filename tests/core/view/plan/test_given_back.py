"""What a closed layer only gives back is drawn from where it comes, not as something that the layer made."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.core.view.seeing import edges
from torchrecorder.graph import Graph
from torchrecorder.proof import faults
from torchrecorder.recording.run import capture
from torchrecorder.request.options import Depth
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view


class Remembering(nn.Module):
    """Gives back its input, to be remembered, and what it makes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.detach().view(-1, 4, 8), self.second(self.first(x).relu())


class Memories(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(8, 8)
        self.layers = nn.ModuleList(Remembering() for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        x, kept = self.embed(x), []
        for layer in self.layers:
            memory, x = layer(x)
            kept.append(memory)
        return x, kept


def recorded(model: nn.Module, *args: Tensor) -> Graph:
    with torch.no_grad():
        return capture(model, args, {})


def from_layers(view: View) -> list[str]:
    return [edge for edge in edges(view) if "output" in edge]


@pytest.mark.parametrize("depth", [1, 2, "auto"])
def test_a_memory_comes_from_where_the_layer_has_it_from(depth: Depth) -> None:
    view = make_view(recorded(Memories(), torch.randn(2, 4, 8)), DrawingOptions(depth=depth, fold=False))
    assert "embed > output:kept.0" in from_layers(view)
    assert not any("embed" in edge for edge in from_layers(view) if not edge.endswith("kept.0"))
    assert faults(view) == ()


def test_an_inset_does_not_give_what_it_gets() -> None:
    view = make_view(recorded(Memories(), torch.randn(2, 4, 8)))
    for inset in view.insets:
        inputs = {node.id for node in inset.view.nodes if node.kind == "input"}
        outputs = {node.id for node in inset.view.nodes if node.kind == "output"}
        assert not any(edge.tail in inputs and edge.head in outputs for edge in inset.view.edges)
    assert faults(view) == ()


def test_a_memory_that_is_drawn_as_made_by_the_layer_is_a_fault() -> None:
    view = make_view(recorded(Memories(), torch.randn(2, 4, 8)), DrawingOptions(depth=1, fold=False))
    (edge,) = [edge for edge in view.edges if view.nodes[edge.head].name == "kept.0"]
    layer = next(node.id for node in view.nodes if node.kind == "call" and node.id > edge.tail)
    moved = replace(view, edges=tuple(replace(e, tail=layer) if e is edge else e for e in view.edges))
    assert any(fault.kind == "flow" for fault in faults(moved))


class Patches(nn.Module):
    """Only gives its input another shape, in two outputs."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.view(-1, 2, 2, 8), x.mT


class Shaped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches, self.a, self.b = Patches(), nn.Linear(8, 8), nn.Linear(4, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        windows, turned = self.patches(x)
        return self.a(windows), self.b(turned)


def test_a_layer_that_does_nothing_else_stays_where_it_is() -> None:
    view = make_view(recorded(Shaped(), torch.randn(2, 4, 8)), DrawingOptions(depth=1))
    assert not any(edge.startswith("input:x > a") for edge in edges(view))
    assert faults(view) == ()


def test_a_product_in_place_with_one_changes_nothing() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor, scale: float = 1.0) -> tuple[Tensor, Tensor]:
            low, high = self.a(x), self.b(x)
            low = low * scale
            high *= scale
            return low, high

    view = make_view(recorded(Scaled(), torch.randn(2, 8)))
    assert not any("mul" in edge for edge in edges(view))
    assert faults(view) == ()


class Reducing(nn.Module):
    """Puts steps together, and says how many are left, which is no feature."""

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        return x.reshape(x.shape[0], -1, 2 * x.shape[2]), lengths // 2


class Reduced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.reduction, self.last = nn.Linear(8, 8), Reducing(), nn.Linear(16, 8)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        x, lengths = self.reduction(self.first(x), lengths)
        return self.last(x), lengths


def test_a_layer_that_counts_beside_moving_stays_in_the_stream() -> None:
    graph = recorded(Reduced(), torch.randn(2, 4, 8), torch.tensor([4, 3]))
    view = make_view(graph, DrawingOptions(depth=1))
    assert {"first > reduction", "reduction > last"} <= {*edges(view)}
    assert faults(view) == ()


class Packed(nn.Module):
    """Runs an RNN over sequences of several lengths, which come out of it as they went in."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.rnn, self.score = nn.Linear(8, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 1)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(x), lengths, batch_first=True, enforce_sorted=False)
        packed, _ = self.rnn(packed)
        scores = packed._replace(data=self.score(packed.data).exp())
        found: Tensor = nn.utils.rnn.pad_packed_sequence(scores, batch_first=True)[0]
        return found


@pytest.mark.parametrize("depth", ["auto", 1])
def test_a_packed_sequence_keeps_its_order_in_an_rnn(depth: Depth) -> None:
    """The edge from the RNN to what unpacks was refused, and then all was drawn in a plainer way."""
    view = make_view(recorded(Packed(), torch.randn(3, 4, 8), torch.tensor([4, 2, 3])), DrawingOptions(depth=depth))
    assert [edge for edge in edges(view) if edge.startswith("rnn >")] == ["rnn > score"]
    assert faults(view) == ()


class Grams(nn.Module):
    """Gives features of each two words, and a mask for these, which has lost a word."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.mix = nn.Conv1d(8, 8, 2), nn.Linear(8, 8)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return self.mix(self.conv(x.mT).relu().mT), mask[:, 1:]


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.grams, self.last = Grams(), nn.Linear(8, 8)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        features, kept = self.grams(x, mask)
        return self.last((features.sin() * kept[:, :, None]).sum(1))  # type: ignore[no-any-return]


def test_a_part_that_a_layer_takes_of_a_mask_comes_out_of_the_layer() -> None:
    graph = recorded(Pooled(), torch.randn(2, 4, 8), torch.ones(2, 4))
    view = make_view(graph, DrawingOptions(collapse=("grams",)))
    heads = [edge for edge in edges(view) if edge.startswith("input:mask")]
    assert heads == ["input:mask > grams"]
    assert [edge for edge in edges(view) if edge.startswith("grams >")] == ["grams > sin", "grams > mul"]
    assert faults(view) == ()
    (edge,) = (edge for edge in view.edges if edges(replace(view, edges=(edge,))) == ["grams > mul"])
    past = replace(view, edges=tuple(replace(e, tail=1) if e is edge else e for e in view.edges))
    assert any(fault.kind == "flow" for fault in faults(past))
