"""The numbers that a finished layout says are proved: how often a thing is drawn once, and its parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

from tests.core.graph.building import Net, transformer
from tests.core.proof.test_layout import layered, paper
from tests.core.recording.nets import record
from tests.core.view.templates.test_choice import formulas
from tests.core.view.test_differences import staged
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels, words
from torchrecorder.layout.model import Figure, Layout
from torchrecorder.proof import Prover
from torchrecorder.proof.layout import faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Span, View, make_view


def heads() -> Graph:
    """Four equal layers in a row, each of which is closed, and one beside them with other parameters."""
    net = Net("Heads", params=5678)
    x = net.input("x", 1, 8)
    for i in range(4):
        with net.call(f"blocks.{i}", "Block", params=1234):
            x = net.layer(f"blocks.{i}.b", "Linear", net.layer(f"blocks.{i}.a", "Linear", x, params=617), params=617)
    return net.graph(net.layer("last", "Head", x, params=742))


def upsampled() -> Graph:
    net = Net("Up", params=8)
    x = net.layer("conv", "Conv2d", net.input("x", 1, 8, 4, 4), params=8)
    x = net.layer("up", "Upsample", x)
    graph = net.graph(x)
    modules = dict(graph.modules)
    modules["up"] = replace(modules["up"], extra_repr="scale_factor=2.0, mode='nearest'")
    return replace(graph, modules=modules)


def written(layout: Layout, pattern: str, other: str) -> Layout:
    """The layout in which each word that has the pattern says something else."""

    def changed(figure: Figure) -> Figure:
        words = tuple(word._replace(text=re.sub(pattern, other, word.text)) for word in figure.words)
        return figure._replace(words=words)

    titles = layout.titles and [
        title._replace(word=title.word._replace(text=re.sub(pattern, other, title.word.text)))
        for title in layout.titles
    ]
    return replace(layout, nodes=[*map(changed, layout.nodes)], boxes=[*map(changed, layout.boxes)], titles=titles)


CLOSED, OPEN = DrawingOptions(depth=1), DrawingOptions(depth=2)


@pytest.mark.parametrize("options", [CLOSED, OPEN], ids=["closed", "open"])
@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize("make", [heads, lambda: transformer(3), upsampled], ids=["heads", "transformer", "upsampled"])
def test_our_numbers_are_right(
    make: Callable[[], Graph], kind: Callable[[View], Layout], options: DrawingOptions
) -> None:
    view = make_view(make(), options)
    assert faults(view, kind(view)) == ()


@pytest.mark.parametrize("options", [CLOSED, OPEN], ids=["closed", "open"])
@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize(
    ("pattern", "other", "words"),
    [
        ("×4", "×5", "does not say that blocks.0 stands for 4 calls"),
        (" ?×4", "", "does not say that blocks.0 stands for 4 calls"),
        (r"1\.23 k params each", "1.23 k params", "says other numbers of parameters than blocks.0 has, 1234"),
        (r"1\.23 k params", "1.24 k params", "says other numbers of parameters than blocks.0 has, 1234"),
        (r"1\.23 k params", "1.23 M params", "says other numbers of parameters than blocks.0 has, 1234"),
        (r"5\.68 k params", "6 k params", "says other numbers of parameters than the model has, 5678"),
        ("742 params", "743 params", "says other numbers of parameters than last has, 742"),
        ("742 params", "742 params ×2", "says 2 calls of last, which is one"),
        ("742 params", "2 in parallel", "says 2 calls of last, which is one"),
    ],
)
def test_a_number_that_is_changed_is_noticed(
    pattern: str, other: str, words: str, kind: Callable[[View], Layout], options: DrawingOptions
) -> None:
    view = make_view(heads(), options)
    layout = kind(view)
    changed = written(layout, pattern, other)
    assert changed != layout, "the pattern is not in the picture"
    assert any(words in fault for fault in faults(view, changed))


def test_places_of_layers_are_no_names() -> None:
    """A picture with `3rd` was drawn in a plainer way, since nothing is called rd."""
    view = make_view(formulas("", "shift", ""))
    nodes = (replace(node, differs=("1st, 3rd without roll",)) if node.differs else node for node in view.nodes)
    view = replace(view, nodes=tuple(nodes))
    assert not faults(view, paper(view))


class Grouped(nn.Module):
    """Groups of its points at two scales."""

    def __init__(self) -> None:
        super().__init__()
        self.near, self.far, self.idle = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 16)

    def forward(self, x: torch.Tensor) -> Any:
        return self.near(x.topk(4, 1)[0]).sum(1) + self.far(x.topk(6, 1)[0]).sum(1)


class Points(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.group, self.head = Grouped(), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.group(x))


@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize(
    ("pattern", "other", "words"),
    [
        ("144 not run", "145 not run", "says other numbers of parameters that are not run than 144"),
    ],
)
def test_what_is_not_run_is_proved(pattern: str, other: str, words: str, kind: Callable[[View], Layout]) -> None:
    view = make_view(record(Points(), torch.zeros(2, 8, 8)), CLOSED)
    layout = kind(view)
    assert faults(view, layout) == ()
    changed = written(layout, pattern, other)
    assert changed != layout, "the pattern is not in the picture"
    assert any(words in fault for fault in faults(view, changed))


def test_a_size_that_is_no_number_says_nothing_of_what_is_not_run() -> None:
    graph = record(Points(), torch.zeros(2, 8, 8))
    assert "not run" in str(paper(make_view(graph, CLOSED)))
    values = [
        replace(it, meta=replace(it.meta, shape=("a", *it.meta.shape[1:]))) if it.kind == "param" and it.meta else it
        for it in graph.values
    ]
    assert "not run" not in str(paper(make_view(replace(graph, values=tuple(values)), CLOSED)))


@pytest.mark.parametrize("lie", ["bd,bnd→bd", "bn,bnd→bn"])
def test_the_equation_of_an_einsum_is_said_and_proved(lie: str) -> None:
    class Match(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(8, 6), nn.Linear(8, 6)

        def forward(self, x: torch.Tensor, given: torch.Tensor) -> Any:
            return torch.einsum("bd, b n d -> bn", self.first(x), self.second(given)).cumsum(-1)

    view = make_view(record(Match(), torch.zeros(2, 8), torch.zeros(2, 5, 8)))
    layout = paper(view)
    said = [word.text for figure in layout.nodes for word in figure.words]
    assert any("bd,bnd→bn" in text for text in said)
    assert faults(view, layout) == ()
    (fault,) = faults(view, written(layout, "bd,bnd→bn", lie))
    assert "not the equation" in fault


def test_the_axis_of_a_softmax_is_said_and_proved() -> None:
    class Weighing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(8, 6)

        def forward(self, x: torch.Tensor) -> Any:
            return self.first(x).softmax(dim=1).cumsum(-1)

    view = make_view(record(Weighing(), torch.zeros(2, 5, 8)))
    layout = paper(view)
    assert any("softmax dim 1" in word.text for figure in layout.nodes for word in figure.words)
    assert faults(view, layout) == ()
    (fault,) = faults(view, written(layout, "dim 1", "dim 0"))
    assert "says an axis" in fault


def test_the_axes_of_a_mean_are_said_and_proved() -> None:
    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 8, 1), nn.Linear(8, 6)

        def forward(self, x: torch.Tensor) -> Any:
            return self.last(self.first(x).mean(dim=(2, 3)))

    view = make_view(record(Pooled(), torch.zeros(2, 3, 4, 4)))
    layout = paper(view)
    assert any("mean dim 2, 3" in word.text for figure in layout.nodes for word in figure.words)
    assert faults(view, layout) == ()
    (fault,) = faults(view, written(layout, "dim 2, 3", "dim 1, 3"))
    assert "says an axis" in fault


@pytest.mark.parametrize(
    ("said", "mean"),
    [
        ("mean dim …", lambda x: x.unflatten(1, (-1, 2)).mean(2)),
        ("mean dim …", lambda x: x.unflatten(1, (-1, 2)).mT.mean(1)),
        ("mean dim …", lambda x: x[..., :4].permute(0, 2, 3, 1).mean(1)),
        ("mean dim 2", lambda x: x.permute(0, 2, 3, 1).mean(1)),
        ("mean dim 2", lambda x: x.mT.mean(-1)),
        ("mean dim 1", lambda x: x.flatten(2).mean(1)),
        ("mean dim −2", lambda x: x.unflatten(1, (-1, 2)).mean(-2)),
    ],
)
def test_an_axis_of_another_shape_than_what_is_drawn_has_no_number(said: str, mean: Any) -> None:
    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 8, 1)

        def forward(self, x: torch.Tensor) -> Any:
            return mean(self.first(x)).cumsum(-1)

    view = make_view(record(Pooled(), torch.zeros(2, 3, 4, 5)))
    layout = paper(view)
    assert said in [word.text for figure in layout.nodes for word in figure.words]
    assert faults(view, layout) == ()
    (fault,) = faults(view, written(layout, f"^{said}$", "mean"))
    assert "does not say its axis, which is not the last" in fault
    axis = next(op.attrs["1"] for op in view.graph.ops if op.name == "mean")
    if axis not in said.replace("−", "-"):
        fault, *_ = faults(view, written(layout, f"^{said}$", f"mean dim {axis}".replace("-", "−")))
        assert "says an axis that is" in fault


def test_an_index_of_another_shape_than_what_is_drawn_is_not_written() -> None:
    class Skewed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.asked, self.found = nn.Linear(8, 8), nn.Linear(8, 8)

        def skewed(self, scores: torch.Tensor) -> Any:
            return torch.unflatten(nn.functional.pad(scores, (1, 0)).flatten(1)[..., 4:], 1, (4, 4))

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            asked, found = self.asked(x), self.found(x)
            scores = (asked @ found.mT + self.skewed(asked @ x.mT)) / 4
            return scores.masked_fill(mask, -2).softmax(-1) @ x

    view = make_view(record(Skewed(), torch.zeros(2, 4, 8), torch.zeros(4, 4, dtype=torch.bool)))
    layout = paper(view)
    said = [word.text for figure in layout.nodes for word in figure.words]
    assert any("(asked @ foundᵀ + (·)) / 4" in text for text in said), said
    assert faults(view, layout) == ()
    for lie in ("(·)[..., 4:]", "(·)[..., · 4:]"):  # which may be broken over two lines
        assert any("says an axis that is another" in it for it in faults(view, written(layout, r"\(·\)", lie)))


class Growing(nn.Module):
    """A block that adds its input to the first of its channels."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim, self.grow, self.gate = dim, nn.Linear(dim, dim + 2), nn.Linear(dim + 2, dim + 2)

    def forward(self, x: torch.Tensor) -> Any:
        grown = self.grow(x)
        grown = grown * self.gate(grown).sigmoid()
        return torch.cat([grown[:, 0 : self.dim] + x, grown[:, self.dim :]], 1)


def test_a_range_of_an_index_holds_that_of_each_layer_of_an_inset() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.less, self.more = Growing(30), nn.Linear(32, 20), nn.Linear(24, 40)
            self.few = nn.Sequential(Growing(20), Growing(22))
            self.many = nn.Sequential(Growing(40), Growing(42))

        def forward(self, x: torch.Tensor) -> Any:
            return self.many(self.more(self.few(self.less(self.first(x)))))

    view = make_view(record(Net(), torch.zeros(2, 30)))
    (inset,) = view.insets
    assert [edge.part for edge in inset.view.edges if edge.part] == ["[:, 0:20…42]", "[:, 20…42:]"]
    assert faults(view, paper(view)) == ()
    edges = tuple(replace(edge, part=edge.part.replace("20…", "30…")) for edge in inset.view.edges)
    wrong = replace(view, insets=(replace(inset, view=replace(inset.view, edges=edges)),))
    said = [fault for fault in faults(wrong, paper(wrong)) if "leaves out" in fault]
    assert said == [f"“[:, {it}]” in A leaves out “[:, {out}]”" for it, out in (("0:30…42", "0:20"), ("30…42:", "20:"))]


def test_a_list_of_windows_is_of_each_turn_of_what_is_around() -> None:
    class Residual(nn.Module):
        def __init__(self, kernel: int) -> None:
            super().__init__()
            self.layers = nn.Sequential()
            for _ in range(2):
                self.layers.extend([nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, kernel, padding="same")])

        def forward(self, x: torch.Tensor) -> Any:
            return x + self.layers(x)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv1d(3, 8, 1)
            self.residuals = nn.Sequential(*(Residual(kernel) for kernel in (5, 5, 3, 3)))

        def forward(self, x: torch.Tensor) -> Any:
            return self.residuals(self.first(x))

    view = make_view(record(Net(), torch.zeros(2, 3, 8)))
    said = [words(view)(node) for node in view.nodes]
    assert any("Conv1d 3 or 5 · 8→8 ×2" in text for text in said), said
    assert Prover(view.graph, words).faults(view) == ()
    lies = Prover(view.graph, lambda view: lambda node: words(view)(node).replace("3 or 5", "5, 3")).faults(view)
    assert any("kernel 5, 3, and it is 5, 5, 5, 5, 3" in fault.words for fault in lies)


def test_outputs_of_an_op_that_are_not_told_apart_are_noticed() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        deviation, mean = torch.std_mean(x, 2, keepdim=True)
        return (x - mean) / deviation

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(8 + i, 9 + i) for i in range(9))

        def forward(self, x: torch.Tensor) -> Any:
            x = scaled(x)
            for layer in self.layers:
                x = layer(x).cumsum(-1).sin()
            return x

    view = make_view(record(Scaled(), torch.zeros(2, 3, 8)))
    layout = paper(view)
    assert any("x − std_mean(x" in word.text for figure in layout.nodes for word in figure.words)
    assert faults(view, layout) == ()
    (fault,) = faults(view, written(layout, r"\)\[\d\]", ")"))
    assert "does not tell the outputs of std_mean apart" in fault


@pytest.mark.parametrize(
    ("grown", "width"),
    [
        (lambda x: nn.functional.interpolate(x, size=(8, 8)), 8),
        (lambda x: nn.functional.pixel_shuffle(x, 2), 2),
        (lambda x: nn.functional.pixel_unshuffle(x, 2), 32),
        (lambda x: x.repeat_interleave(2, dim=1), 16),
    ],
)
def test_the_factor_by_which_an_op_changes_sizes_is_said_and_proved(
    grown: Callable[[torch.Tensor], torch.Tensor], width: int
) -> None:
    class Growing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 8, 1), nn.Conv2d(width, 3, 1)

        def forward(self, x: torch.Tensor) -> Any:
            return self.last(grown(self.first(x)))

    view = make_view(record(Growing(), torch.zeros(2, 3, 4, 4)))
    said = [words(view)(node) for node in view.nodes]
    assert any("by 2" in text for text in said)
    assert Prover(view.graph, words).faults(view) == ()
    lies = Prover(view.graph, lambda view: lambda node: words(view)(node).replace("by 2", "by 3")).faults(view)
    assert ["by [3.0]" in fault.words for fault in lies] == [True]


def test_an_interpolation_that_does_nothing_is_said_and_proved() -> None:
    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Conv2d(3, 3, 2, stride=2)
            self.fuse = nn.Conv2d(6, 3, 1)

        def forward(self, x: torch.Tensor) -> Any:
            levels = [x.tanh(), self.down(x)]
            return self.fuse(torch.cat([nn.functional.interpolate(level, size=(8, 8)) for level in levels], 1))

    view = make_view(record(Pyramid(), torch.zeros(2, 3, 8, 8)))
    said = [text for node in view.nodes if "interpolate" in (text := words(view)(node))]
    assert said == ["interpolate · same size · nearest", "interpolate · by 2 · nearest"]

    def lies(old: str, new: str) -> Sequence[object]:
        return Prover(view.graph, lambda view: lambda node: words(view)(node).replace(old, new)).faults(view)

    assert [len(lies("same size", "by 2")), len(lies("by 2", "same size"))] == [1, 1]


def test_a_run_whose_first_layer_alone_differs_is_said_and_proved() -> None:
    view = make_view(staged(((3, 3, 5), (2, 1, 1)), ((3, 5, 5, 5, 5, 5, 5), (1,) * 7)))
    layout = paper(view)
    assert any("kernel 3, then 5" in word.text for figure in layout.nodes for word in figure.words)
    assert faults(view, layout) == ()
    lies = [faults(view, written(layout, "3, then 5", lie)) for lie in ("5, then 3", "3, then 3")]
    assert all(any("a run that is another" in fault for fault in found) for found in lies)


def test_a_root_is_written_as_one_and_proved() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.leave = nn.Linear(8, 6), nn.Linear(6, 6)

        def forward(self, x: torch.Tensor) -> Any:
            y = self.embed(x) * 768**0.5
            return self.leave(torch.relu(y) * 0.375).cumsum(-1) * 96**-0.5 * 27.713 / 18**-0.5

    view = make_view(record(Scaled(), torch.zeros(2, 8)), DrawingOptions(fold=False))
    layout = paper(view)
    said = {" ".join(word.text for word in figure.words) for figure in layout.nodes}
    assert {"× √768", "× 0.375", "× 1/√96", "× 27.71", "× √18"} <= said
    assert faults(view, layout) == ()
    for true, lie in (("√768", "√767"), ("× √18", "÷ √18")):
        assert ["says a root" in fault for fault in faults(view, written(layout, true, lie))] == [True]


def test_what_some_layers_lack_is_not_lost_at_the_end_of_a_line() -> None:
    view = make_view(formulas("", "shift", ""))
    widths = Span("", ("→".join(map(str, range(100, 140))),))
    node = next(node for node in view.nodes if node.differs)
    assert "1st, 3rd without roll" in Labels(view).node(replace(node, own=(widths,))).line
    layout = paper(view)
    assert faults(view, layout) == ()
    assert any("has lost" in wrong for wrong in faults(view, written(layout, "1st, 3rd without roll", "1st, 3rd…")))


@pytest.mark.parametrize(
    "lie", ["4 Linear, 2 Tanh", "3 Linear, 3 Tanh", "3 Linear 3→4→5→4, 2 Tanh", "3 Linear 3→3, 2 Tanh"]
)
def test_the_layers_that_a_closed_one_says_to_have_are_proved(lie: str) -> None:
    class Held(nn.Module):
        def __init__(self, *widths: int, is_row: bool) -> None:
            super().__init__()
            self.is_row, self.acts = is_row, nn.ModuleList(nn.Tanh() for _ in range(2))
            self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))

        def forward(self, x: torch.Tensor) -> Any:
            a = self.acts[0](self.layers[0](x))
            b = self.acts[1](self.layers[1](a if self.is_row else x))
            end = self.layers[2](b if self.is_row else x)
            return end if self.is_row else end * b.softmax(-1).amax(-1, keepdim=True)

    nets = Held(3, 4, 5, 3, is_row=True), Held(3, 3, 3, 3, is_row=False)
    options = DrawingOptions(depth=1)
    row, beside = (make_view(record(nn.Sequential(net, nn.ReLU()).eval(), torch.zeros(2, 3)), options) for net in nets)
    true, false = "3 Linear 3→4→5→3, 2 Tanh", "3 Linear 3→3→3→3, 2 Tanh"
    assert any(true in words(row)(node) for node in row.nodes)
    assert any("3 Linear, 2 Tanh" in words(beside)(node) for node in beside.nodes)
    assert Prover(row.graph, words).faults(row) == Prover(beside.graph, words).faults(beside) == ()

    def lied(view: View, said: str, other: str) -> list[str]:
        found = Prover(view.graph, lambda view: lambda node: words(view)(node).replace(said, other)).faults(view)
        return [fault.kind for fault in found]

    assert lied(row, true, lie) == lied(beside, "3 Linear, 2 Tanh", false) == ["settings"]


@pytest.mark.parametrize("way", ["straight", "gated", "skip", "other between"])
def test_widths_in_a_closed_layer_are_of_a_straight_row(way: str) -> None:
    """A reader took the convolutions of a gate on the side for a part of the row, in which one more stood between."""

    class Other(nn.Linear):
        pass

    class Held(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.last = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 3)
            self.other = Other(4, 4) if way == "other between" else nn.Tanh()

        def forward(self, x: torch.Tensor) -> Any:
            a = self.other(self.first(x))
            b = a * self.second(a) if way == "gated" else self.second(a)
            return self.last(b) + x if way == "skip" else self.last(b)

    view = make_view(record(nn.Sequential(Held(), nn.ReLU()).eval(), torch.zeros(2, 3)), DrawingOptions(depth=1))
    (line,) = (words(view)(node) for node in view.nodes if "Linear" in words(view)(node))
    assert ("3 Linear 3→4→4→3" in line) == (way == "straight")
    lie = Prover(view.graph, lambda view: lambda node: words(view)(node).replace("3 Linear,", "3 Linear 3→4→4→3,"))
    assert not Prover(view.graph, words).faults(view)
    assert [fault.kind for fault in lie.faults(view)] == ["settings"] * (way != "straight")


def test_the_layers_that_a_closed_one_says_to_have_are_all() -> None:
    """A reader added sizes that do not meet, as nothing told of an upsampling in one of the branches."""

    class Held(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.act, self.up = nn.Conv1d(3, 4, 1), nn.ReLU(), nn.Upsample(scale_factor=2)
            self.norm, self.last = nn.BatchNorm1d(4), nn.Conv1d(4, 3, 1)

        def forward(self, x: torch.Tensor, *, by_function: bool = False) -> Any:
            y = self.act(self.norm(self.first(x)))
            return self.last(nn.functional.interpolate(y, scale_factor=2.0) if by_function else self.up(y))

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = Held(), Held()

        def forward(self, x: torch.Tensor) -> Any:
            return self.two(self.one(x), by_function=True)

    view = make_view(record(Both().eval(), torch.zeros(2, 3, 4)), DrawingOptions(depth=1))
    said = [words(view)(node) for node in view.nodes if node.kind == "call"]
    lists = "2 Conv 3→4→3, BatchNorm, ReLU, Upsample", "2 Conv 3→4→3, BatchNorm, ReLU, …"
    assert all(text in line for text, line in zip(lists, said, strict=True))
    assert Prover(view.graph, words).faults(view) == ()
    for left_out, said_of in ((", ReLU, Upsample", lists[0]), (", …", lists[1])):
        assert ["leaves out" in it for it in lied(view, said_of, said_of.replace(left_out, ""))] == [True]


def lied(view: View, old: str, new: str) -> list[str]:
    """Sentences of the proof on words that say something else."""
    lies = Prover(view.graph, lambda view: lambda node: words(view)(node).replace(old, new))
    return [fault.words for fault in lies.faults(view)]


@pytest.mark.parametrize("is_causal", [True, False])
def test_an_attention_that_is_causal_says_it(is_causal: bool) -> None:
    class Attends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read, self.give = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> Any:
            q = self.read(x)
            return self.give(nn.functional.scaled_dot_product_attention(q, q, q, is_causal=is_causal))

    net = nn.Sequential(Attends(), nn.Softmax(-1))
    view = make_view(record(net, torch.zeros(2, 3, 4)), DrawingOptions(depth="all"))
    (said,) = (words(view)(node) for node in view.nodes if "attention" in words(view)(node))
    assert said.endswith(" · causal") == is_causal
    assert Prover(view.graph, words).faults(view) == ()
    true, lie = (" · causal", "") if is_causal else ("attention", "attention causal")
    assert ["causal" in it for it in lied(view, true, lie)] == [True]


def test_parameters_that_are_those_of_another_layer_are_called_shared() -> None:
    """The sum over thirteen blocks was more than the model has, as they all hold one and the same attention."""

    class Block(nn.Module):
        def __init__(self, again: nn.Module | None = None) -> None:
            super().__init__()
            self.own, self.mixed, self.act = nn.Linear(4, 4), nn.Linear(4, 4), nn.Tanh()
            self.mixed.weight = self.mixed.weight if again is None else again.get_parameter("mixed.weight")

        def forward(self, x: torch.Tensor) -> Any:
            return self.own(x) * self.act(self.mixed(x))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.between = Block(), nn.Softmax(-1)
            self.second = Block(self.first)

        def forward(self, x: torch.Tensor) -> Any:
            return self.second(self.between(self.first(x)))

    view = make_view(record(Net(), torch.zeros(2, 4)), DrawingOptions(depth=1))
    layout = paper(view)
    said = [" ".join(word.text for word in figure.words) for figure in layout.nodes]
    assert sum("40 params, 16 shared" in text for text in said) == 2
    assert faults(view, layout) == ()
    assert ["elsewhere" in fault for fault in faults(view, written(layout, "16 shared", "20 shared"))] == [True, True]
