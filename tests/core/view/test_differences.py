"""What is drawn once for several calls says each setting in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from tests.core.graph.building import Net
from tests.core.proof.test_layout import paper
from torchrecorder import capture
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.labels.labels import words as node_words
from torchrecorder.proof import ProvedViews, faults
from torchrecorder.proof.layout import faults as layout_faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Span, View, Views, make_view

CLOSED = DrawingOptions(collapse=("bs.*",))


def conv(dilation: int, channels: tuple[int, int] = (8, 8)) -> str:
    said = f"{channels[0]}, {channels[1]}, kernel_size=(3,), stride=(1,), padding=({dilation},)"
    return said + (f", dilation=({dilation},)" if dilation > 1 else "")


def dilated(dilations: Sequence[int] = (1, 2, 4, 8, 16), *, again: int = 1) -> Graph:
    """Blocks around a convolution, each with another dilation."""
    net = Net("Dilated", params=len(dilations) * again * 200)
    x = net.input("x", 1, 8, 64)
    for run in range(again):
        for i, dilation in enumerate(dilations):
            path = f"bs{run if again > 1 else ''}.{i}"
            with net.call(path, "Block", params=200):
                y = net.layer(f"{path}.c1", "Conv2d", x, said=conv(dilation), params=200)
                x = net.op("add", x, net.op("tanh", y))
        x = net.op("cumsum", x)
    return net.graph(x)


def spans(view: View, path: str) -> dict[str, tuple[str, ...]]:
    """Those at the node of a layer, by name."""
    views = [view, *(inset.view for inset in view.insets)]
    nodes = [part for one in views for node in one.nodes for part in (node.parts or (node,)) if part.kind == "call"]
    node = next(node for node in nodes if view.graph.calls[node.calls[0]].module == path)
    return {span.name: span.values for span in node.spans}


def words(view: View) -> list[str]:
    """The words of all layers and ops, also in insets."""
    found = []
    for one in (view, *(inset.view for inset in view.insets)):
        labels = Labels(one)
        found += [" | ".join(filter(None, labels.node(n)[:2])) for n in one.nodes if n.kind in ("call", "op")]
    return found


def test_the_dilations_of_a_stack_are_a_list() -> None:
    view = make_view(dilated())
    assert spans(view, "bs.0.c1")["dilation"] == ("1", "(2,)", "(4,)", "(8,)", "(16,)")
    assert "c1 | Conv2d 3 · 8→8 · dilation 1, 2, 4, 8, 16 · tanh" in words(view)


def test_of_many_the_first_and_the_last_are_written() -> None:
    view = make_view(dilated([2**i for i in range(8)]))
    assert "c1 | Conv2d 3 · 8→8 · dilation 1, 2, 4 … 128 · tanh" in words(view)


def test_a_closed_stack_says_what_differs_in_it() -> None:
    view = make_view(dilated(), CLOSED)
    assert "bs | Block ×5 · Conv 8→8, … · dilation 1, 2, 4, 8, 16 · 200 params each" in words(view)


def test_a_stack_of_equal_layers_says_nothing() -> None:
    assert not any(node.spans for node in make_view(dilated((2, 2, 2))).nodes)


def test_an_inset_speaks_of_all_that_have_its_letter_and_names_the_one_it_shows() -> None:
    view = make_view(dilated((1, 2, 4), again=3))
    (inset,) = view.insets
    assert spans(view, "bs0.0.c1")["dilation"] == ("1", "(2,)", "(4,)") * 3
    assert Labels(inset.view).inset(inset.view.boxes[0], "A") == "A\N{EN SPACE}Block · bs0.0 · 200 params"


def widths(*sizes: tuple[int, int]) -> Graph:
    net = Net("Widths", params=10_000)
    x = net.input("x", 1, 8, 64)
    for i, (before, after) in enumerate(sizes):
        path = f"bs.{i}"
        with net.call(path, "Block", params=200 * after):
            with net.call(f"{path}.mlp", "MLP", params=100 * after):
                y = net.op("tanh", net.layer(f"{path}.mlp.fc", "Linear", x, (1, after, 64), params=100 * after))
                y = net.layer(f"{path}.mlp.out", "Linear", y, params=50 * after)
            y = net.op("relu", net.layer(f"{path}.c1", "Conv2d", y, said=conv(1, (before, after)), params=100 * after))
            x = net.op("cat", y, net.op("max_pool2d", y), shape=(1, after, 64 // 2 ** (i + 1)))
        x = net.op("cumsum", x)
    return net.graph(x)


def test_sizes_that_differ_are_a_span_and_params_that_differ_are_not_written() -> None:
    view = make_view(widths((8, 8), (8, 16), (16, 32)), DrawingOptions(collapse=("bs.*.mlp",)))
    assert [(box.repeat, box.period) for box in view.boxes] == [(1, 1), (3, 1)]
    assert [node.inset for node in view.nodes if node.kind == "call"] == ["A"]
    assert spans(view, "bs.0.c1")[""] == ("8, 8", "8, 16", "16, 32")
    assert "c1 | Conv2d 3 · 8→8, 8→16, 16→32 · relu" in words(view)
    assert spans(view, "bs.0.mlp")["params"] == ("800", "1600", "3200")
    assert "mlp | MLP · 2 Linear, …" in words(view)


def functional(*ops: tuple[str, dict[str, str]]) -> Graph:
    net = Net("Functional", params=len(ops) * 100)
    x = net.input("x", 1, 8)
    for i, (name, attrs) in enumerate(ops):
        with net.call(f"bs.{i}", "Block", params=100):
            y = net.op("cumsum", net.op(name, net.layer(f"bs.{i}.fc", "Linear", x, params=100), attrs=attrs))
            x = net.op("add", x, y)
    return net.graph(net.op("cumprod", x))


def test_an_argument_that_differs_is_written_at_the_op() -> None:
    shifts = [("roll", {"shifts": "0" if i % 2 else "3"}) for i in range(4)]
    assert "roll | shifts 3, 0" in words(make_view(functional(*shifts)))
    assert "bs | Block ×4 · shifts 3, 0 · 100 params each" in words(make_view(functional(*shifts), CLOSED))


def test_a_number_is_written_only_if_it_is_that_of_all() -> None:
    scaled = [("mul", {"1": factor}) for factor in ("0.5", "0.25", "0.125")]
    assert "× | 0.5, 0.25, 0.125" in words(make_view(functional(*scaled)))
    assert "× 0.5" in words(make_view(functional(*[("mul", {"1": "0.5"})] * 3)))


def test_ops_of_other_names_stand_beside_one_another() -> None:
    view = make_view(functional(("clamp", {}), ("sort", {}), ("clamp", {})))
    assert [node.spans for node in view.nodes if node.op == 1] == [(Span("", ("clamp", "sort")),)]
    assert "clamp or sort" in words(view)


def test_layers_of_other_classes_stand_beside_one_another() -> None:
    net = Net("Acts", params=300)
    x = net.input("x", 1, 8)
    for i, cls in enumerate(("ReLU", "GELU", "ReLU")):
        with net.call(f"bs.{i}", "Block", params=100):
            y = net.layer(f"bs.{i}.act", cls, net.layer(f"bs.{i}.fc", "Linear", x, params=100))
            x = net.op("add", x, y)
    view = make_view(net.graph(net.op("cumsum", x)))
    assert any(line.endswith("Linear · ReLU or GELU") for line in words(view))


@pytest.mark.parametrize("depth", [0, 1, "all"])
def test_any_depth_has_them(depth: int) -> None:
    view = make_view(dilated((4, 4, 4)), DrawingOptions(depth=depth))
    assert not any(node.spans for node in view.nodes)


def staged(*stages: tuple[int | Sequence[int], Sequence[int]], turned: bool = False) -> Graph:
    """Stages of blocks, each with a kernel, or one for each block, and the strides of its blocks, every other one as a
    list; a second kernel may be 8 less than the first.
    """
    net = Net("Staged", params=10_000)
    x = net.input("x", 1, 8, 64)
    for s, (kernels, strides) in enumerate(stages):
        each = [kernels] * len(strides) if isinstance(kernels, int) else kernels
        for i, (kernel, stride) in enumerate(zip(each, strides, strict=True)):
            path = f"stages.{s}.{i}"
            with net.call(path, "Block", params=200):
                step = f"[{stride}, {stride}]" if i % 2 else f"({stride}, {stride})"
                said = f"8, 8, kernel_size=({{}}, {{}}), stride={step}"
                y = net.op("tanh", net.layer(f"{path}.c1", "Conv2d", x, said=said.format(kernel, kernel), params=200))
                if turned:
                    y = net.layer(f"{path}.c2", "Conv2d", y, said=said.format(8 - kernel, 8 - kernel), params=200)
                x = net.op("mul", x, net.op("sigmoid", y))
        x = net.op("cumsum", x)
    return net.graph(x)


def named(view: View) -> list[str]:
    """The words of what stands for an inset."""
    labels = Labels(view)
    return [labels.node(node).line for node in view.nodes if node.inset]


def test_what_an_inset_lists_is_said_at_each_node_that_names_it() -> None:
    view = make_view(staged((3, (2, 1, 1)), (5, (1, 1)), (3, (2, 2))))
    assert named(view) == [
        "A ×3 · 3×3 · first /2 · 200 params each",
        "A ×2 · 5×5 · 200 params each",
        "A ×2 · 3×3 /2 · 200 params each",
    ]
    assert not faults(view)
    assert not {*layout_faults(view, paper(view))}


def test_a_run_says_which_block_has_which() -> None:
    view = make_view(staged(((3, 3, 5), (2, 1, 1)), ((3, 5, 5, 5, 5, 5, 5), (1,) * 7), (3, (1, 1))))
    assert [words.split(" · ")[1] for words in named(view)] == ["kernel 3, 3, 5", "kernel 3, then 5", "3×3"]
    assert " · first /2 · " in named(view)[0]
    assert not faults(view)


def test_of_a_single_run_the_inset_says_it() -> None:
    view = make_view(staged(((3, 3, 5), (1, 1, 1))))
    assert not any(node.own for node in view.nodes)


def test_what_differs_within_a_block_is_said_of_none() -> None:
    view = make_view(staged((3, (1, 1)), (5, (1, 1)), turned=True))
    assert view.insets
    assert not any(node.own for node in view.nodes)


@pytest.mark.parametrize("lie", [("(5, 5)",), ("(3, 3)", "(5, 5)", "(3, 3)")])
def test_what_is_false_of_a_nodes_own_is_found(lie: tuple[str, ...]) -> None:
    view = make_view(staged((3, (2, 1, 1)), (5, (1, 1))))
    nodes = [replace(node, own=(Span("kernel_size", lie),)) if node.inset else node for node in view.nodes]
    assert {fault.kind for fault in faults(replace(view, nodes=tuple(nodes)))} == {"settings"}


class Inverted(nn.Module):
    """As in a MobileNetV3: without the first layer the others have its number and that of the next."""

    def __init__(self, kernel: int, *, expands: bool = True, n: int = 2) -> None:
        super().__init__()
        wide = 8 * n if expands else 8
        convs = [nn.Conv1d(8, wide, 1)] if expands else []
        convs += [nn.Conv1d(wide, wide, kernel, padding=kernel // 2, groups=wide), nn.Conv1d(wide, 8, 1)]
        self.block = nn.Sequential(*(nn.Sequential(conv, nn.BatchNorm1d(conv.out_channels)) for conv in convs))

    def forward(self, x: torch.Tensor) -> Any:
        return x + self.block(x)


def test_the_kernel_of_a_block_without_its_first_layer_is_proved() -> None:
    blocks = [Inverted(3, expands=False), Inverted(3), Inverted(5), Inverted(5)]
    model = nn.Sequential(*(layer for block in blocks for layer in (block, nn.MaxPool1d(2)))).eval()
    view = ProvedViews(Views(capture(model, (torch.rand(2, 8, 64),))), node_words).view()
    assert not view.weakened
    assert ["kernel 3" in line for line in named(view)] == [True, True, False, False]


class Same(nn.Conv1d):
    """A convolution of another class that does the same."""

    def forward(self, x: torch.Tensor) -> Any:
        return super().forward(x)


class Strided(nn.Module):
    """A block around a convolution of either class."""

    def __init__(self, cls: type[nn.Conv1d], kernel: int) -> None:
        super().__init__()
        self.c1, self.c2 = nn.Conv1d(8, 16, 1), cls(16, 8, kernel, stride=2, padding=kernel // 2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.c2(self.c1(x).tanh()).cumsum(-1)


def test_layers_of_other_classes_that_do_the_same_have_settings() -> None:
    """An EfficientNet pads in some of its convolutions, which are of a class of their own, and said no kernel."""
    rows = ((nn.Conv1d, 3), (Same, 3), (Same, 5))
    model = nn.Sequential(*(Strided(cls, kernel) for cls, kernel in rows)).eval()
    view = ProvedViews(Views(capture(model, (torch.rand(2, 8, 64),))), node_words).view()
    assert not view.weakened
    said = next(line for line in words(view) if line.startswith("c2"))
    assert said == "c2 | Conv1d or Same 3, 3, 5 · stride 2 · 16→8"
    own = [tuple(span for span in node.spans if span.name != "kernel_size") for node in view.nodes]
    nodes = tuple(replace(node, spans=spans) for node, spans in zip(view.nodes, own, strict=True))
    assert "sameness" in {fault.kind for fault in faults(replace(view, nodes=nodes))}


def test_by_how_much_the_first_layer_of_a_block_widens_is_said_at_each_node() -> None:
    """A reader of a MnasNet did not find which stages are of MBConv3, and which of MBConv6."""
    blocks = [Inverted(3, n=3), Inverted(3, n=6), Inverted(5, n=6)]
    model = nn.Sequential(*(layer for block in blocks for layer in (block, nn.MaxPool1d(2)))).eval()
    view = ProvedViews(Views(capture(model, (torch.rand(2, 8, 64),))), node_words).view()
    assert not view.weakened
    assert [[text for text in line.split(" · ") if "expansion" in text] for line in named(view)] == [
        ["expansion 3"],
        ["expansion 6"],
        ["expansion 6"],
    ]
    lie = Span("expansion", ("3",))
    kept = [(node, [it for it in node.own if it.name != lie.name]) for node in view.nodes]
    nodes = [replace(node, own=(lie, *own)) if node.inset else node for node, own in kept]
    assert [fault.kind for fault in faults(replace(view, nodes=tuple(nodes)))] == ["settings"] * 2


class Widening(nn.Module):
    """A block with groups and positions of as many as another one's channels."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.norm, self.first = nn.GroupNorm(4, before), nn.Conv1d(before, after, 3, padding=1)
        self.last = nn.Conv1d(after, after, 3, padding=1)

    def forward(self, x: torch.Tensor) -> Any:
        return self.last(self.first(self.norm(x).sin()).cumsum(-1)).cos()


def widening() -> View:
    model = nn.Sequential(Widening(4, 8), nn.MaxPool1d(2), Widening(8, 16), nn.MaxPool1d(2), Widening(16, 16))
    view = make_view(capture(model, (torch.zeros(1, 4, 16),)))
    assert [inset.letter for inset in view.insets] == ["A"]
    return view


def test_a_block_that_does_not_narrow_again_has_no_expansion() -> None:
    model = nn.Sequential(Widening(4, 8), nn.MaxPool1d(2), Widening(8, 24))
    view = make_view(capture(model, (torch.zeros(1, 4, 16),)))
    assert len(named(view)) == 2
    assert not any("expansion" in words for words in named(view))


def test_a_node_says_its_own_channels_where_its_inset_lists_those_of_several() -> None:
    view = widening()
    assert [words.split(" · ")[1] for words in named(view)] == ["4→8", "8→16", "16→16"]
    assert not faults(view)
    assert not {*layout_faults(view, paper(view))}


class Reducing(nn.Module):
    """A block that keeps the size, and one layer of which reads places further apart, as the keys of an attention."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.sr, self.q = nn.Conv1d(8, 8, step, step), nn.Conv1d(8, 8, 1)

    def forward(self, x: torch.Tensor) -> Any:
        keys = self.sr(x).tanh()
        return x + ((self.q(x).mT @ keys).softmax(-1) @ keys.mT).mT


def test_a_block_does_not_say_the_step_of_a_layer_beside_its_way() -> None:
    model = nn.Sequential(*(layer for n in (8, 4, 2) for layer in (Reducing(n), nn.MaxPool1d(2))))
    view = make_view(capture(model, (torch.rand(2, 8, 8 * 8),)))
    assert len(named(view)) == 3
    assert not any("/" in words or "kernel" in words for words in named(view))
    assert any("Conv1d 2, 4 or 8 · stride 2, 4 or 8" in text for text in words(view.insets[0].view))


class Joining(nn.Module):
    """A block that reads a map and a skip, or a half of its map, and gives other channels than its layer."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, 4 * after, 3, padding=1)

    def forward(self, x: torch.Tensor, skip: torch.Tensor | None = None) -> Any:
        whole = x[:, : x.shape[1] // 2] if skip is None else torch.cat([x, skip], 1)
        return nn.functional.pixel_shuffle(self.conv(whole).sin().cumsum(-1), 2).cos()


class Joined(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.other, self.last = Joining(12, 6), Joining(10, 8), Joining(4, 6)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> Any:
        y = self.pool(self.up(x, skip))
        return self.last(self.pool(self.other(y, skip)).exp())


def test_channels_are_those_that_a_block_reads_and_gives_whatever_its_layer_has() -> None:
    view = make_view(capture(Joined(), (torch.zeros(1, 8, 4, 4), torch.zeros(1, 4, 4, 4))))
    said = [text for words in named(view) for text in words.split(" · ") if "→" in text]
    assert said == ["8+4→6", "6+4→8", "8→6"]
    assert not faults(view)


@pytest.mark.parametrize("lie", ["4→16", "16→8", "8→8"])
def test_channels_that_are_not_a_nodes_own_are_found(lie: str) -> None:
    view = widening()
    (node,) = [node for node in view.nodes if [*node.own] == [Span("", ("4→8",))]]
    nodes = [replace(it, own=(Span("", (lie,)),)) if it == node else it for it in view.nodes]
    assert {fault.kind for fault in faults(replace(view, nodes=tuple(nodes)))} == {"settings"}


class Modulated(nn.Module):
    """A block whose first layer reads another thing than what the block changes."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.scale, self.conv = nn.Conv2d(4, before, 1), nn.Conv2d(before, after, 3, padding=1)

    def forward(self, x: torch.Tensor, style: torch.Tensor) -> Any:
        return self.conv((x * self.scale(style)).sin().cumsum(-1)).cos()


class Styled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.middle, self.leave = Modulated(12, 6), Modulated(6, 10), Modulated(10, 8)
        self.act = nn.Tanh()

    def forward(self, x: torch.Tensor, style: torch.Tensor) -> Any:
        return self.leave(self.act(self.middle(self.act(self.enter(x, style)), style)).exp(), style)


def test_channels_are_those_of_what_a_block_changes_and_not_of_what_it_reads_besides() -> None:
    view = make_view(capture(Styled(), (torch.zeros(1, 12, 4, 4), torch.zeros(1, 4, 4, 4))))
    nodes = [node for node in view.nodes if node.inset]
    assert [node.own for node in nodes] == [(Span("", (way,)),) for way in ("12→6", "6→10", "10→8")]
    assert not faults(view)
    lying = [replace(node, own=(Span("", ("4→6",)),)) if node == nodes[0] else node for node in view.nodes]
    assert {fault.kind for fault in faults(replace(view, nodes=tuple(lying)))} == {"settings"}


class Ghost(nn.Module):
    """A block that only with a step has a layer that takes it."""

    def __init__(self, kernel: int, stride: int) -> None:
        super().__init__()
        self.first, self.last = nn.Conv1d(8, 16, 1), nn.Conv1d(16, 8, 1)
        if stride > 1:
            self.step = nn.Conv1d(16, 16, kernel, stride, kernel // 2)
            self.shortcut: nn.Module = nn.Conv1d(8, 8, kernel, stride, kernel // 2)
        else:
            self.shortcut = nn.Identity()

    def forward(self, x: torch.Tensor) -> Any:
        y = self.first(x).sin()
        y = self.step(y) if hasattr(self, "step") else y
        return self.shortcut(x) + self.last(y)


def ghosts() -> View:
    blocks = [[Ghost(kernel, stride), Ghost(kernel, 1), Ghost(kernel, 1)] for kernel, stride in ((5, 2), (3, 4))]
    model = nn.Sequential(*(nn.Sequential(*run, nn.MaxPool1d(2)) for run in blocks))
    return make_view(capture(model, (torch.zeros(1, 8, 128),)))


def test_what_the_first_of_a_run_alone_has_is_said_of_it() -> None:
    view = ghosts()
    runs = [[text for text in line.split(" · ") if "kernel" in text] for line in named(view)]
    assert runs == [["first kernel 5 /2"], ["first kernel 3 /4"]]
    assert not [fault for fault in faults(view) if fault.kind == "settings"]


@pytest.mark.parametrize("lie", [("(3,)", "none", "none"), ("(5,)", "none", "(5,)"), ("none", "none", "none")])
def test_what_is_false_of_the_first_of_a_run_is_found(lie: tuple[str, ...]) -> None:
    view = ghosts()
    nodes = [*view.nodes]
    node = next(node for node in nodes if node.inset)
    nodes[node.id] = replace(node, own=(Span("kernel_size", lie),))
    assert [fault.kind for fault in faults(replace(view, nodes=tuple(nodes)))] == ["settings"]
