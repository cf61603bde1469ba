"""A call that does the work of one layer of torch is said as that layer, whatever its class is called."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

from tests.core.recording.nets import record
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels, words
from torchrecorder.proof import Prover, faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view

IMAGE, WORDS = torch.zeros(1, 3, 16, 16), torch.zeros(1, 8, 32)


class MaskedConv2d(nn.Conv2d):
    def __init__(self, before: int, after: int, kernel: int, padding: int) -> None:
        super().__init__(before, after, kernel, padding=padding)
        self.register_buffer("mask", torch.ones_like(self.weight))

    def forward(self, x: torch.Tensor) -> Any:
        return self._conv_forward(x, self.weight * self.get_buffer("mask"), self.bias)


class Conv1D(nn.Module):
    """GPT-2's, whose weight lies the other way."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(before, after)), nn.Parameter(torch.zeros(after))

    def extra_repr(self) -> str:
        return "nf={1}, nx={0}".format(*self.weight.shape)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class Router(nn.Linear):
    def __init__(self, width: int) -> None:
        super().__init__(32, width)

    def forward(self, x: torch.Tensor) -> Any:
        best, at = super().forward(x).topk(2, dim=-1)
        return torch.zeros(*x.shape[:-1], self.out_features).scatter(-1, at, best).sigmoid()


class LoRALinear(nn.Linear):
    def __init__(self, width: int) -> None:
        super().__init__(32, width)
        self.down, self.up = nn.Parameter(torch.zeros(2, 32)), nn.Parameter(torch.zeros(width, 2))

    def forward(self, x: torch.Tensor) -> Any:
        return nn.functional.linear(x, self.weight, self.bias) + x @ self.down.T @ self.up.T


class CausalConv1d(nn.Module):
    def __init__(self, width: int, dilation: int = 1) -> None:
        super().__init__()
        self.room, self.conv = 2 * dilation, nn.Conv1d(width, width, 3, dilation=dilation)

    def forward(self, x: torch.Tensor) -> Any:
        return self.conv(nn.functional.pad(x, (self.room, 0)))


class BatchNormAct2d(nn.BatchNorm2d):
    def __init__(self, width: int, act: nn.Module) -> None:
        super().__init__(width)
        self.drop, self.act = nn.Identity(), act

    def forward(self, x: torch.Tensor) -> Any:
        return self.act(self.drop(super().forward(x)))


class SamePad(nn.Conv2d):
    def __init__(self, before: int, after: int) -> None:
        super().__init__(before, after, 1)
        self.static_padding = nn.Identity()

    def forward(self, x: torch.Tensor) -> Any:
        return nn.functional.conv2d(self.static_padding(x), self.weight, self.bias)


class Residual(CausalConv1d):
    def forward(self, x: torch.Tensor) -> Any:
        return x + super().forward(x)


class Positions(CausalConv1d):
    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.table = nn.Parameter(torch.zeros(width, 1))

    def forward(self, x: torch.Tensor) -> Any:
        return super().forward(x) + self.table


class Places(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 32)
        self.register_buffer("places", torch.zeros(8, 32))

    def forward(self, x: torch.Tensor) -> Any:
        return self.table(x) * 32**0.5 + self.get_buffer("places")


class Hyper(CausalConv1d):
    def forward(self, x: torch.Tensor) -> Any:
        return nn.functional.conv1d(nn.functional.pad(x, (self.room, 0)), self.conv.weight * x.mean())


class ScaledNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.gamma = nn.LayerNorm(32, elementwise_affine=False), nn.Parameter(torch.zeros(32))

    def forward(self, x: torch.Tensor) -> Any:
        return self.norm(x) * (1 + self.gamma)


class PixelNorm(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x / torch.sqrt(x.pow(2).mean(1, keepdim=True) + 1e-6)


class PowerNorm(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x * torch.pow(x.pow(2).mean(-1, keepdim=True) + 1e-6, -0.5)


class SiLUActivation(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return nn.functional.silu(x)


class FP32LayerNorm(nn.LayerNorm):
    def forward(self, x: torch.Tensor) -> Any:
        return nn.functional.layer_norm(x.float(), self.normalized_shape, self.weight, self.bias).to(x.dtype)


class MyRMSNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(32))

    def forward(self, x: torch.Tensor) -> Any:
        return self.weight * (x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


class CenteredRMSNorm(MyRMSNorm):
    def forward(self, x: torch.Tensor) -> Any:
        return (1 + self.weight) * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Conv2dSame(nn.Conv2d):
    def forward(self, x: torch.Tensor) -> Any:
        return super().forward(nn.functional.pad(x, (0, 1, 0, 1)))


class Conv2dStaticSamePadding(nn.Conv2d):
    def __init__(self, before: int, after: int) -> None:
        super().__init__(before, after, 3)
        self.static_padding = nn.ZeroPad2d(1)

    def forward(self, x: torch.Tensor) -> Any:
        return super().forward(self.static_padding(x))


class Conv1dCausal(nn.Conv1d):
    def forward(self, x: torch.Tensor) -> Any:
        return self._conv_forward(nn.functional.pad(x, (2, 0)), self.weight * 2, self.bias)


class Symmetric(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight.triu() + weight.triu(1).mT


class Alone(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x.cumsum(-1)


class Outer(nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.conv = CausalConv1d(8, dilation)

    def forward(self, x: torch.Tensor) -> Any:
        return x + torch.tanh(self.conv(x))


def said(graph: Graph, **options: object) -> list[tuple[str, str]]:
    """Words and kind of each node but inputs and outputs."""
    view = make_view(graph, DrawingOptions(**options))  # type: ignore[arg-type]
    assert faults(view) == ()
    labels = Labels(view)
    nodes = [node for node in view.nodes if node.kind not in ("input", "output") and labels.kind(node) != "op"]
    return [(" | ".join(filter(None, labels.node(node)[:2])), labels.kind(node)) for node in nodes]


def symmetric() -> nn.Module:
    layer = nn.Linear(32, 32)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    return layer


def pruned() -> Any:
    return prune.identity(nn.Linear(32, 8), "weight")  # type: ignore[no-untyped-call]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("layer", "x", "words", "kind"),
    [
        (lambda: MaskedConv2d(3, 8, 7, padding=3), IMAGE, "MaskedConv2d 7×7 · 3→8", "conv"),
        (lambda: CausalConv1d(8, 4), WORDS, "CausalConv1d 3 · 8→8 · dilation 4", "conv"),
        (
            lambda: parametrizations.weight_norm(nn.Conv1d(8, 8, 7, dilation=2)),
            WORDS,
            "Conv1d 7 · 8→8 · dilation 2 · weight_norm",
            "conv",
        ),
        (lambda: nn.utils.weight_norm(nn.Conv1d(8, 8, 3)), WORDS, "Conv1d 3 · 8→8 · weight_norm", "conv"),
        (lambda: parametrizations.spectral_norm(nn.Conv2d(3, 8, 3)), IMAGE, "Conv2d 3×3 · 3→8 · spectral_norm", "conv"),
        (lambda: nn.utils.spectral_norm(nn.Conv2d(3, 8, 3)), IMAGE, "Conv2d 3×3 · 3→8 · spectral_norm", "conv"),
        (symmetric, WORDS, "Linear 32→32 · Symmetric", "linear"),
        (pruned, WORDS, "Linear 32→8 · pruned", "linear"),
        (lambda: Conv1D(32, 8), WORDS, "Conv1D 32→8", "linear"),
        (ScaledNorm, WORDS, "ScaledNorm", "norm"),
        (PixelNorm, WORDS, "PixelNorm", "norm"),
        (PowerNorm, WORDS, "PowerNorm", "norm"),
        (SiLUActivation, WORDS, "SiLU", "act"),
        (lambda: FP32LayerNorm(32), WORDS, "LayerNorm", "norm"),
        (MyRMSNorm, WORDS, "RMSNorm", "norm"),
        (CenteredRMSNorm, WORDS, "CenteredRMSNorm · 32 params", "norm"),
        (lambda: Conv2dSame(3, 8, 3, stride=2), IMAGE, "Conv2d 3×3 /2 · 3→8", "conv"),
        (lambda: Conv2dStaticSamePadding(3, 8), IMAGE, "Conv2d 3×3 · 3→8", "conv"),
        (lambda: Conv1dCausal(8, 8, 3), WORDS, "Conv1dCausal 3 · 8→8", "conv"),
        (lambda: SamePad(3, 8), IMAGE, "SamePad 1×1 · 3→8", "conv"),
        (lambda: BatchNormAct2d(3, nn.Identity()), IMAGE, "BatchNorm", "norm"),
    ],
)
def test_it_has_the_settings_and_the_colour_of_that_layer(
    layer: type[nn.Module], x: torch.Tensor, words: str, kind: str
) -> None:
    assert said(record(Alone(layer()).eval(), x))[0] == (f"layers.0 | {words}", kind)


def test_a_norm_whose_activation_does_nothing_is_a_norm_behind_its_layer() -> None:
    graph = record(Alone(nn.Conv2d(3, 8, 1), BatchNormAct2d(8, nn.Identity())).eval(), IMAGE)
    assert said(graph) == [("layers | Conv2d 1×1 · 3→8 · BatchNorm", "conv")]
    graph = record(Alone(nn.Conv2d(3, 8, 1), BatchNormAct2d(8, nn.ReLU())).eval(), IMAGE)
    assert said(graph, collapse=("layers.1",))[1][0].startswith("layers.1 | BatchNormAct2d")


def test_widths_of_a_weight_that_lies_the_other_way_are_proved() -> None:
    view = make_view(record(Alone(Conv1D(32, 8), Conv1D(8, 24)), WORDS))
    assert Prover(view.graph, words).faults(view) == ()
    lies = Prover(view.graph, lambda view: lambda node: words(view)(node).replace("32→8", "8→32"))
    assert ["8→32" in fault.words for fault in lies.faults(view)] == [True]


class Covariance(nn.Module):
    """How words vary together, in units of their spread: it divides by a root of a mean, and does more."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = (x - x.mean(1, keepdim=True)) / x.var(1, keepdim=True).sqrt()
        return x.mT @ x


def test_a_layer_that_does_more_than_normalise_is_no_part_of_the_next() -> None:
    graph = record(Alone(Covariance(), nn.Conv1d(32, 8, 1)).eval(), WORDS)
    assert said(graph, collapse=("layers.0",)) == [("layers.1 | Conv1d 1 · 32→8", "conv")]


class Rearrange(nn.Module):
    """Windows of two words, whose channels are beside one another."""

    def forward(self, x: torch.Tensor) -> Any:
        return x.view(len(x), -1, 2, x.shape[-1]).transpose(2, 3).flatten(2)


def test_a_layer_that_only_gives_another_shape_has_no_node() -> None:
    graph = record(Alone(nn.Linear(32, 16), Rearrange(), nn.Linear(32, 8)).eval(), WORDS)
    usual, asked = (make_view(graph, DrawingOptions(collapse=paths)) for paths in ((), ("layers.1",)))
    assert faults(usual) == faults(asked) == ()
    named = [[Labels(view).node(node).name for node in view.nodes] for view in (usual, asked)]
    assert [[name for name in names if name.startswith("layers")] for names in named] == [
        ["layers.0", "layers.2"],
        ["layers.0", "layers.1", "layers.2"],
    ]


def test_embeddings_that_scale_and_add_places_say_so() -> None:
    graph = record(Alone(Places()).eval(), torch.zeros(1, 8, dtype=torch.long))
    view = make_view(graph)
    words = [" ".join(filter(None, Labels(view).node(node)[:2])) for node in view.nodes]
    assert words[1:4] == ["layers.0.table Embedding 20×32", "× √32", "+ layers.0.places"]


class Block(nn.Module):
    def __init__(self, act: nn.Module) -> None:
        super().__init__()
        self.conv1, self.conv2, self.act = nn.Conv2d(3, 8, 1), nn.Conv2d(8, 3, 1), act

    def forward(self, x: torch.Tensor) -> Any:
        return self.act(x + self.conv2(self.conv1(x))).cumsum(-1)


@pytest.mark.parametrize(("act", "words"), [(nn.ReLU(), "+ · ReLU"), (nn.Hardswish(), "+ · Hardswish")])
def test_a_sum_says_the_class_of_its_activation(act: nn.Module, words: str) -> None:
    view = make_view(record(Block(act), IMAGE), DrawingOptions())
    assert words in {Labels(view).node(node).name for node in view.nodes}


@pytest.mark.parametrize("layer", [Residual, Positions, Hyper, Router, LoRALinear])
def test_more_than_one_layer_is_not_said_as_one(layer: type[nn.Module]) -> None:
    (words, _) = said(record(Alone(layer(8)), WORDS), depth=1)[0]
    assert words.startswith(f"layers.0 | {layer.__name__} · ")
    assert "params" in words


def test_layers_drawn_as_one_say_all_settings() -> None:
    graph = record(Alone(*(Outer(2**i) for i in range(3))), WORDS)
    assert ("conv | CausalConv1d 3 · 8→8 · dilation 1, 2, 4 · tanh", "conv") in said(graph)


def test_a_reader_may_open_it_and_all_shows_what_ran() -> None:
    graph = record(Alone(CausalConv1d(8)), WORDS)
    assert ("conv | Conv1d 3 · 8→8", "conv") in said(graph, expand=("layers.0",))
    assert ("conv | Conv1d 3 · 8→8", "conv") in said(graph, depth="all")


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = nn.Linear(32, 32), nn.Linear(32, 32)
        self.head.weight = self.encoder.weight

    def forward(self, x: torch.Tensor) -> Any:
        x = self.encoder(x).cumsum(-1)
        return nn.functional.linear(self.head(x).cumsum(-1), self.encoder.weight.t())


class TiedEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers: Any = nn.ModuleList((nn.Linear(32, 16), nn.Linear(16, 8)))

    def forward(self, x: torch.Tensor) -> Any:
        for layer in self.layers:
            x = torch.relu(layer(x))
        for layer in reversed(self.layers):
            x = torch.relu(nn.functional.linear(x, layer.weight.t()))
        return x


def test_a_decoder_of_the_weights_of_its_encoder_says_so() -> None:
    words = [words for words, _ in said(record(TiedEncoder(), WORDS))]
    assert words[2:] == [
        f"linear · relu | {sizes}" for sizes in ("8→16 · weight of layers.1", "16→32 · weight of layers.0")
    ]


def test_a_weight_of_another_layer_is_said() -> None:
    words = [words for words, _ in said(record(Tied(), WORDS))]
    assert words == [
        "encoder | Linear 32→32",
        "head | Linear 32→32 · weight of encoder",
        "linear | 32→32 · weight of encoder",
    ]


class Stated(nn.Module):
    """A recurrent cell whose first state is made like a weight of another layer, with none of its numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.cell = nn.Linear(8, 8), nn.GRUCell(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        return self.cell(self.enter(x), self.enter.weight.new(len(x), 8).zero_())


def test_a_state_that_is_made_like_a_weight_is_none() -> None:
    assert said(record(Stated(), torch.randn(2, 8)))[-1][0] == "cell | GRUCell 8→8"
