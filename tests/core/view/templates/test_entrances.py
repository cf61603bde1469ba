"""An inset has an entrance for each thing that any of its calls gets, under the name of the argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.drawing import looking
from tests.core.layout.paper.test_paper import paper
from tests.core.proof.unseen_nets import Attending, InducedSet, SelfAndCross
from torchrecorder.proof import faults
from torchrecorder.recording.run import capture
from torchrecorder.view import Inset, View, make_view


def viewed(model: nn.Module, *args: Tensor) -> View:
    with torch.no_grad():
        return make_view(capture(model, args, {}))


def readers(inset: Inset) -> dict[str, list[str]]:
    """By entrance the layers and ops that read it."""
    view, graph = inset.view, inset.view.graph
    entered = {node.id: node.name for node in view.nodes if node.kind == "input"}
    read: dict[str, list[str]] = {name: [] for name in entered.values()}
    for edge in view.edges:
        if edge.tail in entered:
            node = view.nodes[edge.head]
            layers = [
                graph.calls[call].module.rpartition(".")[2] for part in (node, *node.parts) for call in part.calls
            ]
            ops = [graph.ops[op].name for op in node.own_ops]
            read[entered[edge.tail]].append((layers or ops)[0])
    return read


def test_self_attention_that_stands_for_cross_attention_has_two_entrances() -> None:
    view = viewed(SelfAndCross(), torch.randn(2, 5, 8), torch.randn(2, 3, 8))
    (inset,) = view.insets
    assert len(inset.calls) == 3
    assert readers(inset) == {"hidden": ["q", "add"], "text": ["k", "v"]}
    assert faults(view) == ()


def test_self_attention_alone_has_one() -> None:
    class SelfOnly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own, self.norm, self.again = Attending(), nn.LayerNorm(8), Attending()

        def forward(self, x: Tensor) -> Tensor:
            return self.again(self.norm(self.own(x)))  # type: ignore[no-any-return]

    view = viewed(SelfOnly(), torch.randn(2, 5, 8))
    assert [sorted(readers(inset)) for inset in view.insets] == [["hidden"]]
    assert faults(view) == ()


class PoolBlock(nn.Module):
    """A block whose attention is one op, which gets one tensor three times or two."""

    def __init__(self) -> None:
        super().__init__()
        self.attn, self.lin = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 8)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h: Tensor = x + self.attn(x, y, y)[0]
        return h + torch.relu(self.lin(h))


class Pooling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seed = nn.Parameter(torch.randn(1, 2, 8))
        self.encoder, self.pma, self.decoder = PoolBlock(), PoolBlock(), PoolBlock()
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.encoder(x, x))
        x = self.pma(self.seed.expand(x.shape[0], 2, 8), x)
        return self.decoder(x, x)  # type: ignore[no-any-return]


def test_an_op_that_gets_two_things_elsewhere_is_led_to_by_both() -> None:
    view = viewed(Pooling(), torch.randn(2, 5, 8))
    (inset,) = view.insets
    assert readers(inset) == {"x": ["attn", "add"], "y": ["attn"]}
    assert faults(view) == ()


def test_entrances_that_are_two_in_all_calls_stay_as_they_are() -> None:
    view = viewed(InducedSet(), torch.randn(2, 5, 8))
    entrances: Sequence[list[str]] = [sorted(readers(inset)) for inset in view.insets]
    assert all(names == ["x", "y"] for names in entrances)
    assert faults(view) == ()


class Decoding(nn.Module):
    """Blocks that get a skip by the side, under a name that is longer than the way to the node."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm, self.again = Joining(), nn.LayerNorm(8), Joining()

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        return self.again(self.norm(self.up(x, skip)), skip)  # type: ignore[no-any-return]


class Joining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(16, 8)

    def forward(self, feature_map: Tensor, skip_connection_of_encoder: Tensor) -> Tensor:
        x = torch.cat([self.first(feature_map), skip_connection_of_encoder], -1)
        out: Tensor = self.second(x).relu()
        return out


class Gating(nn.Module):
    """The same blocks with a gate, whose line to two readers leads past that of the skip."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up, self.norm, self.again = nn.Linear(8, 8), Gated(), nn.LayerNorm(8), Gated()

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        gate = self.gate(skip)
        return self.again(self.norm(self.up(x, skip, gate)), skip, gate)  # type: ignore[no-any-return]


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(16, 8)

    def forward(self, feature_map: Tensor, skip_connection_of_encoder: Tensor, gate: Tensor) -> Any:
        x = torch.cat([self.first(feature_map) * gate, skip_connection_of_encoder], -1)
        return self.second(x).relu() * gate + feature_map


@pytest.mark.parametrize(
    ("model", "texts", "names"),
    [
        (SelfAndCross(), 3, {"hidden", "text"}),
        (Decoding(), 5, {"feature_map", "skip_connection_of_encoder"}),
        (Gating(), 5, {"feature_map", "skip_connection_of_encoder", "gate"}),
    ],
    ids=["from above", "by the side", "across another line"],
)
def test_each_entrance_of_several_has_its_name_in_the_picture(model: nn.Module, texts: int, names: set[str]) -> None:
    with torch.no_grad():
        graph = capture(model, (torch.randn(2, 5, 8), torch.randn(2, texts, 8)), {})
    picture = paper(graph, depth="auto")
    assert names <= {word for word, _ in picture.words}
    assert looking.faults(picture) == looking.words_on_edges(picture) == looking.merging(picture) == []
