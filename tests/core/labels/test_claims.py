"""Settings in words are those of every call that they are written for."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

from tests.core.labels.test_one_layer import CausalConv1d
from tests.core.labels.test_runs import Stages
from tests.core.recording.nets import record
from torchrecorder.labels import summaries
from torchrecorder.labels.labels import Labels, words
from torchrecorder.proof import ProvedViews, Prover
from torchrecorder.request import DrawingOptions
from torchrecorder.view import Node, Span, View, Views, make_view, settings
from torchrecorder.view.settings import SIZES


def untrue(view: View) -> list[str]:
    """Sentences of the proof on settings that some call has not, and on those that are not said."""
    return [fault.words for fault in Prover(view.graph, words).faults(view) if fault.kind == "settings"]


class Block(nn.Module):
    def __init__(self, conv: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.conv, self.shortcut = conv, shortcut or nn.Identity()

    def forward(self, x: torch.Tensor) -> Any:
        return torch.tanh(self.conv(x)) + self.shortcut(x)


def resnet() -> nn.Module:
    def block(before: int, after: int, stride: int = 1) -> Block:
        kernel, shortcut = (5 if after == 8 else 3), nn.Conv1d(before, after, 1, stride)
        conv = nn.Conv1d(before, after, kernel, stride, kernel // 2, groups=after // 8)
        return Block(conv, shortcut if before != after else None)

    return Stages([block(8, 8), block(8, 8)], [block(8, 16, 2), block(16, 16)], [block(16, 32, 2), block(32, 32)])


def dilated() -> nn.Module:
    return Stages(*([Block(CausalConv1d(8, 2**i)) for i in range(5)] for _ in range(2)))


def without(view: View) -> View:
    """The View of before there were spans: it says the settings of the call that it shows."""

    def plain(node: Node) -> Node:
        return replace(node, spans=(), parts=tuple(replace(part, spans=()) for part in node.parts))

    insets = tuple(replace(inset, view=without(inset.view)) for inset in view.insets)
    return replace(view, nodes=tuple(map(plain, view.nodes)), insets=insets)


@pytest.mark.parametrize(("net", "names"), [(resnet, ("kernel", "stride", "groups")), (dilated, ("dilation",))])
def test_settings_are_so_and_without_spans_they_would_not_be(net: type[nn.Module], names: tuple[str, ...]) -> None:
    view = make_view(record(net(), torch.zeros(1, 8, 64)))
    assert untrue(view) == []
    found = " ".join(untrue(without(view)))
    assert [name for name in names if f"{name} " not in found] == []


def chain(*sizes: tuple[int, int], kernels: tuple[int, ...] = (3,)) -> nn.Module:
    """Blocks alike but for the sizes of their convolutions, each on as many channels as it reads."""

    class Fitted(nn.Module):
        def __init__(self, before: int, after: int, kernel: int) -> None:
            super().__init__()
            self.before, self.conv = before, nn.Conv1d(before, after, kernel, padding=kernel // 2)

        def forward(self, x: torch.Tensor) -> Any:
            mean = x.mean(1, keepdim=True).expand(-1, self.before, -1)
            return torch.tanh(self.conv(mean)).cumsum(-1).cumprod(-1)

    every = (kernels * len(sizes))[: len(sizes)]
    return Stages([Fitted(*size, kernel) for size, kernel in zip(sizes, every, strict=True)])


def lines(net: nn.Module) -> str:
    view = make_view(record(net, torch.zeros(1, 8, 64)))
    assert untrue(view) == []
    return " | ".join(word for node in view.nodes for word in Labels(view).node(node)[:2])


@pytest.mark.parametrize(
    ("net", "said"),
    [
        (chain((8, 8), (32, 16), (16, 8)), "8→8, 32→16, 16→8"),
        (chain((8, 8), (8, 16), (16, 16), (16, 32)), "8→8, 8→16, 16→16, 16→32"),
        (chain((8, 4), (16, 8), (32, 16)), "8→4 … 32→16"),
        (chain((8, 8), (8, 16), (8, 16), (16, 32)), "8→8, 8→16, 16→32"),
        (chain(*[(8, 8)] * 4, kernels=(3, 1, 5, 5)), "3, 1, 5, 5 · 8→8"),
        (chain(*[(8, 8)] * 6, kernels=(3, 1, 5)), "1, 3 or 5 · 8→8"),
    ],
    ids=["no range", "of one in each turn", "a factor", "none", "kernels", "of many"],
)
def test_ends_stand_for_what_is_between_only_if_it_follows_from_them(net: nn.Module, said: str) -> None:
    assert said in lines(net)


def test_a_list_of_widths_has_those_of_layers_in_their_order() -> None:
    """A reader of `→32, 8, 16` for six layers took 16 for the width of the last, which was 32."""
    widths = (132, 108, 108, 108, 116, 132, 100, 132)
    few, many = (chain(*pairwise((100, *widths[:n]))) for n in (6, 8))
    said = "100–132→132, 108, 108, 108, 116, 132"
    assert said in lines(few)
    assert "3 · 100–132→100–132 · " in lines(many)
    for net, true in ((few, said), (many, "100–132→100–132")):
        graph = record(net, torch.zeros(1, 8, 64))

        def lie(view: View, true: str = true) -> Any:
            return lambda node: words(view)(node).replace(true, "100–132→132, 108, 116, 100")

        assert [fault.kind for fault in Prover(graph, lie).faults(make_view(graph))] == ["settings"]


def test_widths_of_layers_in_a_row_are_a_way() -> None:
    """Readers asked for the widths of a CSRNet's backend, and took those of one layer in several blocks for a way."""
    sizes = tuple(f"{a}, {b}" for a, b in pairwise((64, 64, 64, 64, 32, 16, 8)))
    view = make_view(record(chain((8, 8), (32, 16), (16, 8)), torch.zeros(1, 8, 64)))
    node = next(node for node in view.nodes if node.spans)
    for repeat, said in ((6, "Conv1d 3 · 64→64→64→64→32→16→8"), (1, "Conv1d 3 · 16→8, 32→16, 64→32, 64→64")):
        calls, spans = node.calls * repeat, (Span("", sizes),)
        (part, *others) = node.parts
        row = replace(
            node, calls=calls, spans=spans, parts=(replace(part, calls=calls), *others), differs=("64→8",)[: repeat - 1]
        )
        words = " ".join(Labels(view).node(row)[:2])
        assert f"{said} · tanh" in words
        assert not words.endswith(" · 64→8")


def test_dilations_in_parallel_are_said_though_the_first_kernel_is_of_one_place() -> None:
    class Atrous(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            rates = [nn.Conv1d(8, 8, 3, padding=rate, dilation=rate) for rate in (6, 12, 18)]
            self.convs = nn.ModuleList([nn.Conv1d(8, 8, 1), *rates])

        def forward(self, x: torch.Tensor) -> Any:
            return torch.cat([conv(x) for conv in self.convs], 1)

    assert "Conv1d 1, 3, 3, 3 · 8→8 · dilation 1, 6, 12, 18 · 4 in parallel" in lines(Atrous())


class LeakyReLUWithAVeryLongNameThatNobodyReads(nn.LeakyReLU):
    """An activation whose name is too long for the line."""


@pytest.mark.parametrize(("n", "behind"), [(256, "ReLU"), (1024, "…")])
def test_how_many_are_side_by_side_is_said_however_long_the_rest_is(n: int, behind: str) -> None:
    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            convs = [nn.Conv2d(n, n, 1), *(nn.Conv2d(n, n, 3, padding=rate, dilation=rate) for rate in (12, 24, 36))]
            last = nn.ReLU if behind == "ReLU" else LeakyReLUWithAVeryLongNameThatNobodyReads
            self.convs = nn.ModuleList([nn.Sequential(conv, nn.BatchNorm2d(n), last()) for conv in convs])

        def forward(self, x: torch.Tensor) -> Any:
            return torch.cat([conv(x) for conv in self.convs], 1)

    view = make_view(record(Pyramid().eval(), torch.zeros(1, n, 4, 4)))
    (node,) = [node for node in view.nodes if node.repeat > 1]
    assert Labels(view).node(node).line.endswith(f"{behind} · 4 in parallel")


def test_of_many_channels_in_no_order_those_given_are_said() -> None:
    net = chain(*[(8, 8), (32, 16), (16, 8), (64, 8), (8, 32), (24, 8), (16, 16)])
    assert "· 8–64→8, 16, 8, 8, 32, 8, 16 ·" in lines(net)


def test_a_range_that_is_not_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "is_range", lambda values: True)
    view = make_view(record(chain((8, 8), (32, 16), (16, 8)), torch.zeros(1, 8, 64)))
    (fault,) = untrue(view)
    assert "8→8 … 16→8 is not a range: it is 8→8, 32→16, 16→8" in fault


def test_settings_whose_proof_fails_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "is_range", lambda values: True)
    graph = record(chain((8, 8), (32, 16), (16, 8)), torch.zeros(1, 8, 64))
    view = ProvedViews(Views(graph, DrawingOptions()), words).view()
    assert not untrue(view)
    assert "is not a range" in " ".join(view.weakened)
    (said,) = (word for node in view.nodes for word in Labels(view).node(node)[:2] if "Conv1d" in word)
    assert said == "Conv1d · tanh"


def test_a_list_of_a_few_calls_is_that_of_each_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "_of_calls", lambda texts, *_, **__: summaries.among([*dict.fromkeys(texts)]))
    view = make_view(record(chain(*[(8, 8)] * 4, kernels=(3, 1, 5, 5)), torch.zeros(1, 8, 64)))
    assert "kernel 3, 1, 5, and it is 3, 1, 5, 5" in " ".join(untrue(view))


def test_a_recording_without_sizes_has_nothing_to_prove() -> None:
    assert untrue(make_view(record(resnet(), torch.zeros(1, 8, 64)).without_sizes())) == []


class Heads(nn.Module):
    """Self-attention whose heads are beside one another in what it gives, if it is told to lay them so."""

    def __init__(self, n: int, *, beside: bool = True, written: bool = False) -> None:
        super().__init__()
        self.project, self.n, self.beside, self.written = nn.Linear(24, 24), n, beside, written

    def forward(self, x: torch.Tensor) -> Any:
        heads = self.project(x).unflatten(-1, (self.n, -1)).transpose(1, 2)
        made = (
            nn.functional.scaled_dot_product_attention(heads, heads, heads) if not self.written else self.by_hand(heads)
        )
        return x + (made.transpose(1, 2).flatten(2) if self.beside else made.mean(1).repeat(1, 1, self.n))

    def by_hand(self, x: torch.Tensor) -> torch.Tensor:
        shares = torch.softmax(x @ x.transpose(-1, -2) * 0.25, dim=-1)
        return torch.dropout(shares, 0.1, self.training) @ x


def attention(*heads: int, beside: bool = True, written: bool = False) -> View:
    layers = [Heads(n, beside=beside, written=written) for n in heads]
    return ProvedViews(Views(record(nn.Sequential(*layers), torch.rand(2, 5, 24))), words).view()


def of_attention(view: View, name: str = "attention") -> set[str]:
    every = (view, *(inset.view for inset in view.insets))
    return {words(one)(node) for one in every for node in one.nodes if name in words(one)(node)}


@pytest.mark.parametrize(
    ("heads", "said"),
    [((4,), "scaled dot-product · 4 heads"), ((2, 2, 2), "scaled dot-product · 2 heads"), ((2, 4, 8), "heads 2, 4, 8")],
)
def test_heads_are_said_of_every_attention_that_is_drawn_as_one(heads: tuple[int, ...], said: str) -> None:
    view = attention(*heads)
    assert of_attention(view) == {f"attention · {said}"}
    assert not view.weakened


def test_an_axis_that_is_not_laid_beside_another_is_no_head() -> None:
    assert of_attention(attention(4, beside=False)) == {"attention · scaled dot-product"}


@pytest.mark.parametrize(("heads", "said"), [((4,), "4 heads"), ((1, 2, 4), "heads 1, 2, 4")])
def test_heads_of_an_attention_that_is_written_out_are_said(heads: tuple[int, ...], said: str) -> None:
    view = attention(*heads, written=True)
    assert of_attention(view, "softmax") == {f"by_hand() · softmax(heads @ headsᵀ × 0.25) @ heads · {said}"}
    assert not view.weakened

    def lies(shown: View) -> Any:
        return lambda node: words(shown)(node).replace(said, "6 heads")

    assert [*Prover(view.graph, lies).faults(view)]


def test_heads_of_an_attention_that_is_written_out_are_said_at_each_node_with_its_letter() -> None:
    """Of a MixVisionTransformer `1 head` stood at the first stage, and nothing at those with 2, 5 and 8."""
    layers = (Heads(1, written=True), nn.Tanh(), Heads(2, written=True), nn.Sigmoid(), Heads(4, written=True))
    view = ProvedViews(Views(record(nn.Sequential(*layers), torch.rand(2, 5, 24))), words).view()
    said = [words(view)(node).split(" · ") for node in view.nodes if node.inset]
    assert [{*row} & {"1 head", "2 heads", "4 heads"} for row in said] == [{"1 head"}, {"2 heads"}, {"4 heads"}]
    assert not view.weakened

    def lies(shown: View) -> Any:
        return lambda node: words(shown)(node).replace("2 heads", "3 heads")

    assert [*Prover(view.graph, lies).faults(view)]


@pytest.mark.parametrize(("heads", "false"), [((4,), "3 heads"), ((2, 2, 2), "4 heads"), ((2, 4, 8), "heads 2, 4")])
def test_heads_that_are_not_so_are_refused(heads: tuple[int, ...], false: str) -> None:
    view = attention(*heads)

    def lies(shown: View) -> Any:
        return lambda node: re.sub(r"\d heads|heads [\d, ]+", false, words(shown)(node))

    assert [*Prover(view.graph, lies).faults(view)]


def test_heads_of_an_attention_over_one_chunk_are_said() -> None:
    class Chunked(nn.Module):
        """As attention over the patches of images of several sizes, of which it gets one."""

        def forward(self, x: torch.Tensor) -> Any:
            chunks = torch.split(x.view(*x.shape[:-1], 4, 6).transpose(1, 2), [5], dim=2)
            made = [nn.functional.scaled_dot_product_attention(it, it, it).transpose(1, 2) for it in chunks]
            return x + torch.cat(made, dim=1).flatten(2)

    view = ProvedViews(Views(record(Chunked(), torch.rand(2, 5, 24))), words).view()
    assert of_attention(view) == {"attention · scaled dot-product · 4 heads"}
    assert not view.weakened


class Grouped(nn.Module):
    """Self-attention in which two heads of queries share one of keys and values."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.q, self.k, self.n = nn.Linear(24, 24), nn.Linear(24, 24 * n // 4), n

    def forward(self, x: torch.Tensor) -> Any:
        q, k = (layer(x).unflatten(-1, (-1, 6)).transpose(1, 2) for layer in (self.q, self.k))
        made = nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True)
        return x + made.transpose(1, 2).flatten(2)


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ((2,), "4 heads · 2 key/value heads"),
        ((1, 1), "4 heads · 1 key/value head"),
        ((4,), "4 heads"),  # as many as of queries
        ((1, 2), "4 heads"),  # they are others in the second layer
    ],
)
def test_heads_of_keys_are_said_if_they_are_fewer(heads: tuple[int, ...], said: str) -> None:
    view = ProvedViews(Views(record(nn.Sequential(*map(Grouped, heads)), torch.rand(2, 5, 24))), words).view()
    assert of_attention(view) == {f"attention · scaled dot-product · {said}"}
    assert not view.weakened

    def lies(shown: View) -> Any:
        return lambda node: re.sub(r"4 heads.*", "4 heads · 3 key/value heads", words(shown)(node))

    assert [*Prover(view.graph, lies).faults(view)]


def test_channels_of_several_sizes_are_said_by_a_factor_or_their_ends() -> None:
    more = ("8, 32", "8, 48", "24, 120", "24, 168", "40, 240", "80, 320")
    sizes = Span(SIZES, (*more, "88, 360", "96, 400"))
    said = "8, 32, kernel_size=(1, 1), stride=(1, 1)"
    assert summaries.summary("Conv2d", said, (sizes,)) == "Conv2d 1×1 · 8–96→32–400"
    listed = "8–80→32, 48, 120, 168, 240 or 320"
    assert summaries.summary("Conv2d", said, (Span(SIZES, more),)) == f"Conv2d 1×1 · {listed}"
    two = Span(SIZES, ("8, 32", "8, 48", "24, 96", "24, 144", "40, 240", "80, 320"))
    assert summaries.summary("Conv2d", said, (two,)) == "Conv2d 1×1 · expansion 4, 6"
    few = Span(SIZES, ("8, 32", "16, 64", "40, 160"))
    assert summaries.summary("Conv2d", said, (few,), limit=30) == "Conv2d 1×1 · expansion 4"
    assert summaries.summary("Conv2d", said, (few,)) == "Conv2d 1×1 · 8→32, 16→64, 40→160"
    sizes = Span(SIZES, ("32, 16", "48, 16", "96, 16", "144, 16", "240, 16", "320, 16"))
    assert summaries.summary("Conv2d", said, (sizes,)) == "Conv2d 1×1 · 32–320→16"


def test_of_channels_that_are_too_long_what_the_layers_give_is_listed() -> None:
    said = "8, 32, kernel_size=(1, 1), stride=(1, 1)"
    sizes = Span(SIZES, ("8, 32", "64, 64", "128, 64", "32, 16"))
    assert summaries.summary("Conv2d", said, (sizes,), limit=30) == "Conv2d 1×1 · 8–128→16, 32 or 64"
    sizes = Span(SIZES, ("64, 64", "256, 64", "256, 128", "512, 128", "512, 256", "1024, 256", "1024, 512"))
    assert summaries.summary("Conv2d", said, (sizes,)) == "Conv2d 1×1 · 64–1024→64, 128, 256 or 512"
    counted = "64–1024→64, 64, 128, 128, 256, 256, 512"
    assert summaries.summary("Conv2d", said, (sizes,), per_turn=7) == f"Conv2d 1×1 · {counted}"


class Widening(nn.Module):
    """Data that become some times as wide, and then of another width."""

    def __init__(self, width: int, times: int, after: int) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Conv1d(width, width * times, 1), nn.Conv1d(width * times, after, 1)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.tanh(self.narrow(torch.sin(self.widen(x)))).cumsum(-1)


_OF_WAYS = {
    "8–80→32–480": ("expansion 4", "8–80→32–240", "8–40→32–480", "16–80→32–480", "8–80→480", "8–80→32 or 480"),
    "32–480→8, 24, 40 or 80": (
        "32–480→8, 24 or 40",
        "32–480→8, 24, 40, 80 or 96",
        "40–480→8, 24, 40 or 80",
        "32–480→8, 24, 40, 80",
        "→8, 24, 40 or 80",
        "reduction 4",
    ),
    "expansion 4, 6": ("expansion 4", "expansion 4, 5", "expansion 4, 5, 6"),
}


@pytest.mark.parametrize(("true", "false"), [(true, false) for true, of in _OF_WAYS.items() for false in of])
def test_channels_of_many_are_proved(true: str, false: str) -> None:
    times = (4, 6, 4, 6, 6, 4, 6, 6) if "expansion" in true else (4, 6, 5, 7, 6, 4, 5, 6)
    widths = (8, 8, 24, 24, 40, 80, 80, 80)
    sizes = [*zip(widths, times, (*widths[1:], 80), strict=True)]
    view = ProvedViews(Views(record(nn.Sequential(*(Widening(*size) for size in sizes)), torch.rand(1, 8, 4))), words)
    shown = view.view()
    every = (shown, *(inset.view for inset in shown.insets))
    assert any(true in words(one)(node) for one in every for node in one.nodes)
    assert untrue(shown) == []

    def lies(one: View) -> Any:
        return lambda node: words(one)(node).replace(true, false)

    assert [fault for fault in Prover(shown.graph, lies).faults(shown) if fault.kind == "settings"]


@pytest.mark.parametrize(("n", "is_said"), [(1, True), (60, False)])
def test_a_long_line_has_no_sum_of_parameters_of_unlike_layers(n: int, is_said: bool) -> None:
    view = make_view(record(resnet(), torch.zeros(1, 8, 64)))
    nodes = [*view.nodes]
    node = next(node for node in nodes if node.inset and "2 groups" in words(view)(node))
    nodes[node.id] = replace(node, differs=("2nd with " + n * "x",))
    said = words(replace(view, nodes=tuple(nodes)))(nodes[node.id])
    assert said.endswith(" params in all" if is_said else n * "x")
