"""The proof of a finished layout: what it finds in one in which something was changed, and that ours have no faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.drawing.engines import laid_out
from tests.core.drawing.looping import LOOPS
from tests.core.graph.building import Net, mlp, residual_block, transformer
from tests.core.layout.paper.test_named import detector
from tests.core.layout.paper.test_paper import fork, hub, towers
from tests.core.layout.test_edge_shapes import Rearranged
from tests.core.proof.part_nets import Steps
from tests.core.proof.test_wiring import LookUps
from torchrecorder import capture, proof
from torchrecorder.drawing.draw import views_of
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import to_dot
from torchrecorder.layout.geometry import Rect
from torchrecorder.layout.layered import arranged
from torchrecorder.layout.model import Figure, Layout, Line
from torchrecorder.layout.operands import with_operands
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.proof import ProvedViews
from torchrecorder.proof.layout import faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Edge, Inset, View, Views, make_view

Point = tuple[float, float]


def by_the_side() -> Graph:
    """Blocks drawn once beside the picture, which read a skip in their middle."""
    net = Net("UNet")
    x = net.input("x", 1, 8)
    skips = []
    for i in range(3):
        x = net.layer(f"down{i}", "Linear", x)
        skips.append(x)
    x = net.layer("middle", "Bilinear", x)
    for i, skip in enumerate(reversed(skips)):
        with net.call(f"up.{i}", "UpBlock", params=10):
            net.calls[-1] = replace(net.calls[-1], inputs={"x": x, "skip": skip})
            y = net.layer(f"up.{i}.conv", "Linear", x, params=5)
            x = net.layer(f"up.{i}.last", "Linear", net.op("cat", net.op("relu", y), skip), params=5)
        x = net.layer(f"act{i}", "ReLU" if i % 2 else "GELU", x)
    return net.graph(x)


def bundled() -> Graph:
    """An output that gets more than two lines."""
    net = Net("Heads")
    x = net.input("x", 1, 8)
    with net.call("heads", "Heads", params=10):
        parts = [net.layer(f"heads.{cls}", cls, x) for cls in ("Linear", "Bilinear", "Conv1d", "Conv2d")]
    graph = net.graph(parts[0])
    return replace(graph, outputs={"": tuple(parts)})


NETS: dict[str, Graph] = {
    "chain": mlp(3),
    "residual": residual_block(),
    "towers": towers(),
    "hub": hub(5),
    "fork": fork(5),
    "bundle": bundled(),
    "transformer": transformer(2),
    "names": detector(),
}


def view_of(graph: Graph) -> View:
    return make_view(graph, DrawingOptions(depth=9, fold=False))


def paper(view: View) -> Layout:
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    return placed


def layered(view: View) -> Layout:
    return with_operands(view, "", arranged(laid_out(to_dot(view).source)))


@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize("name", NETS)
def test_our_layouts_are_proved(name: str, kind: Callable[[View], Layout]) -> None:
    view = view_of(NETS[name])
    assert faults(view, kind(view)) == ()


def test_a_line_that_enters_an_inset_by_the_side_says_its_ends() -> None:
    view = Views(by_the_side(), DrawingOptions()).view(beside=True)
    assert [inset.letter for inset in view.insets] == ["A"]
    layout = paper(view)
    inside = view.insets[0].view
    (cat,) = [
        node.id for node in inside.nodes if node.kind == "op" and node.op and view.graph.ops[node.op].name == "cat"
    ]
    skip = next(it for it in inside.edges if inside.nodes[it.tail].kind == "input" and it.head == cat)
    assert (f"A{skip.tail}", f"A{skip.head}") in [line.ends for line in layout.lines]
    assert faults(view, layout) == faults(view, layered(view)) == ()


def test_edges_that_the_view_cuts_are_named_by_the_nodes_that_they_join() -> None:
    net = Net("Far")
    x = net.layer("stem", "Linear", net.input("x", 1, 8))
    y = x
    for i in range(40):
        y = net.op(("sin", "cos", "tan")[i % 3], y)
    view = view_of(net.graph(net.op("add", y, x)))
    assert any(node.kind == "from" for node in view.nodes)
    assert faults(view, paper(view)) == faults(view, layered(view)) == ()


def line(**change: Callable[[Line], Any]) -> Callable[[Layout], Layout]:
    """The layout with the first of its lines that has an arrow changed."""

    def changed(layout: Layout) -> Layout:
        i = next(i for i, line in enumerate(layout.lines) if line.tip is not None)
        lines = [*layout.lines]
        lines[i] = lines[i]._replace(**{name: made(lines[i]) for name, made in change.items()})
        return replace(layout, lines=lines)

    return changed


def node(change: Callable[[Figure], list[Figure]]) -> Callable[[Layout], Layout]:
    """The layout with its last node changed."""
    return lambda layout: replace(layout, nodes=[*layout.nodes[:-1], *change(layout.nodes[-1])])


def aside(point: Point | None) -> Point:
    assert point is not None
    return point[0] + 200, point[1]


def far(figure: Figure) -> Figure:
    left, top, right, bottom = figure.rect
    return figure._replace(rect=Rect(left + 300, top, right + 300, bottom))


MUTATIONS: dict[str, Callable[[Layout], Layout]] = {
    "a line begins beside its node": line(curve=lambda it: [aside(it.curve[0]), *it.curve[1:]]),
    "a line ends beside its node": line(tip=lambda it: aside(it.tip)),
    "a line has no arrow": line(tip=lambda it: None),
    "the names of its ends are exchanged": line(ends=lambda it: it.ends[::-1]),
    "one end has another name": line(ends=lambda it: (it.ends[0], it.ends[0])),
    "a line is turned": line(curve=lambda it: [it.tip, *it.curve[::-1][1:]], tip=lambda it: it.curve[0]),
    "a line is missing": lambda it: replace(it, lines=it.lines[1:]),
    "a line is there twice": lambda it: replace(it, lines=[*it.lines, it.lines[-1]]),
    "a line too many": lambda it: replace(it, lines=[*it.lines, between(it.nodes[0], it.nodes[-1])]),
    "a node is missing": node(lambda it: []),
    "a node is there twice": node(lambda it: [it, it]),
    "a node has another name": node(lambda it: [it._replace(key="999")]),
    "a node stands elsewhere": node(lambda it: [far(it)]),
    "a box is missing": lambda it: replace(it, boxes=it.boxes[1:]),
    "a box is small": lambda it: replace(it, boxes=[it.boxes[0]._replace(rect=it.nodes[0].rect), *it.boxes[1:]]),
}


def between(tail: Figure, head: Figure) -> Line:
    start, tip = (tail.rect.right, tail.rect.top + 5), (head.rect.right, head.rect.top + 5)
    return Line(frozenset(), [start, tip], tip, "", ends=(tail.key, head.key))


@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize("name", [name for name in NETS if name != "chain"])
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_what_is_changed_is_found(mutation: str, name: str, kind: Callable[[View], Layout]) -> None:
    view = view_of(NETS[name])
    changed = MUTATIONS[mutation](kind(view))
    assert faults(view, changed)


@pytest.mark.parametrize("kind", [paper, layered])
def test_an_edge_of_the_view_without_a_line_is_found(kind: Callable[[View], Layout]) -> None:
    view = view_of(mlp(3))
    layout = kind(view)
    more = replace(view, edges=(*view.edges, Edge(0, len(view.nodes) - 1, 0)))
    assert faults(more, layout) == (f"the edge from 0 to {len(view.nodes) - 1} is not drawn",)
    fewer = replace(view, edges=view.edges[1:])
    a, b = view.edges[0].tail, view.edges[0].head
    assert f"an edge from {a} to {b} is drawn and not a part of the picture" in faults(fewer, layout)


def test_a_tag_names_the_hub_and_no_other_node() -> None:
    view = view_of(hub(5))
    layout = paper(view)
    tags = [i for i, figure in enumerate(layout.nodes) if not figure.key]
    assert len(tags) == 5
    for name in ("block0", ""):
        word = layout.nodes[tags[0]].words[0]._replace(text=name or "embedding #2")
        nodes = [*layout.nodes]
        nodes[tags[0]] = nodes[tags[0]]._replace(words=(word,))
        assert any("does not lead" in fault for fault in faults(view, replace(layout, nodes=nodes)))


def test_a_tag_names_a_node_of_its_own_inset() -> None:
    inside = view_of(hub(5))
    view = replace(inside, insets=tuple(Inset(letter, (0,), inside) for letter in "AB"))
    layout = paper(view)
    assert len({figure.words[0].text for figure in layout.nodes if not figure.key}) == 1
    assert faults(view, layout) == ()


def test_no_tag_names_what_an_inset_gets() -> None:
    net = Net("Block")
    x = y = net.input("x", 1, 8)
    for i in range(3):
        y = net.op("add", net.layer(f"fc{i}", "Linear", y), x)
    inside = view_of(net.graph(y))
    view = replace(inside, insets=(Inset("A", (0,), inside),))
    layout = paper(view)
    assert len([figure for figure in layout.nodes if not figure.key]) == 3  # those of the picture, which shows the name
    assert faults(view, layout) == ()
    left, top = next(line.curve[0] for line in layout.lines if line.ends[0] == "A0")
    tag = next(figure for figure in layout.nodes if not figure.key)
    at = tag._replace(rect=Rect(left - 20.0, top - 6.0, left, top + 6.0))
    assert faults(view, replace(layout, nodes=[*layout.nodes, at]))


def half(layout: Layout, start: str) -> int:
    """A line that leads to a name that begins so, or comes from one."""
    (tag, *_) = [figure for figure in layout.nodes if not figure.key and figure.words[0].text.startswith(start)]
    left, right, y = tag.rect.left, tag.rect.right, (tag.rect.top + tag.rect.bottom) / 2
    ends = [(line.tip if start == "to " else line.curve[0]) for line in layout.lines]
    return next(i for i, end in enumerate(ends) if end and left - 1 < end[0] < right + 1 and abs(end[1] - y) < 1)


@pytest.mark.parametrize("start", ["to ", "from "])
def test_a_line_in_two_parts_has_both_with_the_names_of_its_ends(start: str) -> None:
    view = view_of(detector())
    layout = paper(view)
    i = half(layout, start)
    a, b = layout.lines[i].ends
    without = replace(layout, lines=[*layout.lines[:i], *layout.lines[i + 1 :]])
    said = f"the line of an edge from {a} to {b} has a name at one end and none at the other"
    assert said in faults(view, without)
    twice = replace(layout, lines=[*layout.lines, layout.lines[i]])
    assert said in faults(view, twice)
    words = [figure.words[0].text for figure in layout.nodes if figure.key]
    other = words[1]
    for text in (f"{start}{other}", start.strip(), f"{start}cat", other):
        tags = [j for j, figure in enumerate(layout.nodes) if not figure.key and figure.words[0].text.startswith(start)]
        nodes = [*layout.nodes]
        word = nodes[tags[0]].words[0]._replace(text=text)
        nodes[tags[0]] = nodes[tags[0]]._replace(words=(word,))
        assert faults(view, replace(layout, nodes=nodes)), text


def test_a_name_of_several_words_may_have_a_shape_behind_it() -> None:
    view = view_of(detector())
    layout = paper(view)
    _, b = layout.lines[half(layout, "to ")].ends
    (name,) = (figure.words[0].text for figure in layout.nodes if figure.key == b)

    def called(figure: Figure) -> Figure:
        word = figure.words[0]
        is_it = figure.key == b or (not figure.key and word.text.startswith(f"to {name}"))
        text = word.text.replace(name, "scale · shift", 1)
        return figure._replace(words=(word._replace(text=text), *figure.words[1:])) if is_it else figure

    said = [*map(called, layout.nodes)]
    assert faults(view, replace(layout, nodes=said)) == ()
    longer = [
        figure._replace(words=(figure.words[0]._replace(text=f"{figure.words[0].text} · 1×8"),))
        if figure.words[0].text == "to scale · shift"
        else figure
        for figure in said
    ]
    assert longer != said
    assert faults(view, replace(layout, nodes=longer)) == ()


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_proved_with_what_leads_back(name: str) -> None:
    view = LOOPS[name]()
    for layout in (paper(view), layered(view)):
        assert faults(view, layout) == ()
        without = [line for line in layout.lines if "back" not in line.flags]
        assert len(without) < len(layout.lines)
        assert faults(view, replace(layout, lines=without))


@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize(("word", "is_true"), [("1×4", True), ("N×4", False), ("1×2×2", False), ("1×9 · int64", False)])
def test_sizes_on_a_line_are_those_of_what_it_carries(word: str, is_true: bool, kind: Callable[[View], Layout]) -> None:
    view = view_of(mlp(3))
    said = line(word=lambda _: word)(kind(view))
    assert [fault.partition("” ")[0] for fault in faults(view, said)] == ([] if is_true else [f"“{word}"])


@pytest.mark.parametrize("has_reader", [True, False])
def test_sizes_on_a_line_are_also_those_behind_a_change_of_axes(has_reader: bool) -> None:
    net = Net("Heads")
    x = net.layer("enter", "Linear", net.input("x", 1, 6), shape=(1, 8), params=8)
    heads = net.op("view", x, shape=(1, 2, 4))
    view = view_of(net.graph(net.layer("leave", "Conv1d", heads, shape=(1, 2, 4), params=8) if has_reader else heads))
    layout = paper(view)
    (at,) = [
        i
        for i, it in enumerate(layout.lines)
        if it.ends == tuple(f"{e}" for e in (view.edges[1].tail, view.edges[1].head))
    ]
    said = {"1×8 → 1×2×4": 0, "1×2×4": 0, "1×8": 1, "1×6": 1, "1×8 → 1×4×2": 1, "1×2×4 → 1×8": 1, "1×8, 1×2×4": 1}
    for word, n in said.items():
        lines = [it._replace(word=word) if i == at else it for i, it in enumerate(layout.lines)]
        assert len(faults(view, replace(layout, lines=lines))) == n, word


def test_a_tag_counts_what_a_gap_holds() -> None:
    view = view_of(hub(5))
    (at,) = {edge.tail for edge in view.edges if sum(other.tail == edge.tail for other in view.edges) > 4}
    gap = replace(view.nodes[at], kind="gap", size=15)
    view = replace(view, nodes=(*view.nodes[:at], gap, *view.nodes[at + 1 :]))
    tags = [figure.words[0].text for figure in paper(view).nodes if not figure.key]
    assert tags == ["15 more steps"] * 5


def test_a_size_of_the_first_turn_is_not_said_for_all() -> None:
    class Up(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.conv = nn.ConvTranspose1d(4, 4, 2, 2), nn.Conv1d(4, 4, 1)
            self.other = nn.Conv1d(4, 4, 3, padding=1)

        def forward(self, x: torch.Tensor) -> Any:
            y = self.up(x)
            return self.conv(y).sin() + self.other(y.cos())

    view = make_view(capture(nn.Sequential(Up(), Up(), Up(), nn.Linear(64, 2)), (torch.zeros(1, 4, 8),)))
    assert view.boxes[1].repeat == 3
    assert all("N×4×16" not in line.word for line in paper(view).lines)
    assert not faults(view, paper(view))
    old = replace(view, edges=tuple(replace(edge, elsewhere=()) for edge in view.edges))
    assert any("N×4×16" in line.word for line in paper(old).lines)
    assert ["elsewhere" in fault for fault in faults(old, paper(old))] == [True]


def test_sizes_in_an_inset_hold_for_all_calls_that_it_is_for() -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter, self.norm, self.leave = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 12)

        def forward(self, x: torch.Tensor) -> Any:
            y = self.norm(self.enter(x).sin())
            return self.leave(y * y.mean(1, keepdim=True).exp())

    class Both(nn.Module):
        """One layer for two texts of other lengths."""

        def __init__(self) -> None:
            super().__init__()
            self.read, self.match = Reader(), nn.Bilinear(12, 12, 2)

        def forward(self, given: torch.Tensor, asked: torch.Tensor) -> Any:
            return self.match(self.read(given).amax(1), self.read(asked).amax(1))

    view = views_of(capture(Both(), (torch.zeros(3, 6, 8), torch.zeros(3, 4, 8))), DrawingOptions()).view()
    assert [inset.letter for inset in view.insets] == ["A"]
    assert {line.word for line in paper(view).lines if line.ends[0].startswith("A")} == {"3×…×16", "3×1×16", ""}
    assert not faults(view, paper(view))
    inside = view.insets[0].view
    inside = replace(inside, edges=tuple(replace(edge, elsewhere=()) for edge in inside.edges))
    old = replace(view, insets=(replace(view.insets[0], view=inside),))
    assert any("3×6×16" in line.word for line in paper(old).lines)
    assert {"elsewhere" in fault for fault in faults(old, paper(old))} == {True}


def test_no_name_stands_for_what_only_the_first_turn_reads() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor, beside: torch.Tensor) -> Any:
            return self.b(self.a(x).sin() * beside) + x

    class Hub(nn.Module):
        """A stem that the first of three blocks adds, and others read later; all blocks read the condition."""

        def __init__(self) -> None:
            super().__init__()
            self.stem, self.blocks = nn.Linear(8, 8), nn.ModuleList(Block() for _ in range(3))
            self.last = nn.ModuleList([nn.Bilinear(8, 8, 8), nn.Bilinear(8, 8, 9), nn.Bilinear(9, 8, 7)])

        def forward(self, x: torch.Tensor, beside: torch.Tensor) -> Any:
            x = stem = self.stem(x)
            for block in self.blocks:
                x = block(x, beside)
            for last in self.last:
                x = last(x, stem)
            return x

    view = make_view(capture(Hub(), (torch.zeros(2, 8), torch.zeros(2, 8))))
    assert [box.repeat for box in view.boxes] == [1, 3]
    assert not faults(view, paper(view))
    old = replace(view, edges=tuple(replace(edge, is_first=False) for edge in view.edges))
    assert "has a name that holds for the first turn alone" in " ".join(faults(old, paper(old)))
    (stem,) = (node.id for node in view.nodes if node.calls and view.graph.calls[node.calls[0]].module == "stem")
    assert all(edge.tail == stem for edge in view.edges if edge.is_first), "the condition is that of all"


def test_an_index_on_a_line_is_of_the_shape_that_the_line_says() -> None:
    """Places that come before channels behind it: of those, the index would leave out another part."""
    with torch.no_grad():
        view = view_of(capture(Rearranged(), (torch.ones(2, 8, 6),)))
    layout = paper(view)
    assert faults(view, layout) == ()
    behind = [it._replace(word=it.word.replace("N×4×6", "N×6×4")) for it in layout.lines]
    assert behind != layout.lines
    said = faults(view, replace(layout, lines=behind))
    assert said
    assert all(text.endswith("is not the shape of what “[..., 1:]” is a part of") for text in said)


class Quantized(nn.Module):
    """A table that gives distances, and rows of it by the nearest."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.table, self.leave = nn.Linear(6, 8), nn.Embedding(5, 8), nn.Linear(8, 6)

    def nearest(self, x: Tensor) -> Tensor:
        """The rows that are closest."""
        rows = x.reshape(-1, 8)
        scores = rows.pow(2).sum(1, keepdim=True) - 2 * rows @ self.table.weight.T
        return scores.neg().argmax(1).view(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.table(self.nearest(self.enter(x))))  # type: ignore[no-any-return]


def test_a_table_that_a_node_reads_is_not_what_it_gives() -> None:
    with torch.no_grad():
        view = view_of(capture(Quantized(), (torch.ones(2, 3, 6),)))
    assert faults(view, paper(view)) == ()


def test_sizes_in_an_inset_hold_where_a_norm_of_another_call_reads_what_more_layers_give() -> None:
    class Dense(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.squeeze, self.grow = nn.Conv1d(width, 8, 1), nn.Conv1d(8, 4, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([x, self.grow(self.squeeze(x).tanh())], 1)

    class Block(nn.Module):
        def __init__(self, before: int, n: int) -> None:
            super().__init__()
            self.enter = nn.Conv1d(before, 8, 3, padding=1)
            self.layers = nn.ModuleList(Dense(8 + 4 * i) for i in range(n))
            self.norm, self.leave = nn.BatchNorm1d(8 + 4 * n), nn.Conv1d(8 + 4 * n, 8, 1)

        def forward(self, x: torch.Tensor) -> Any:
            x = self.enter(x)
            for layer in self.layers:
                x = layer(x)
            return self.leave(self.norm(x).relu())

    net = nn.Sequential(Block(8, 8), nn.Upsample(scale_factor=2), Block(8, 4)).eval()
    view = views_of(capture(net, (torch.zeros(2, 8, 16),)), DrawingOptions()).view()
    assert [inset.letter for inset in view.insets] == ["A"]
    assert not faults(view, paper(view))
    assert "N×40×16" not in {line.word for line in paper(view).lines if line.ends[0].startswith("A")}


class Head(nn.Module):
    """Scores of levels of several sizes, by the same layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(8, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU())
        self.score = nn.Conv1d(8, 6, 1)

    def forward(self, levels: list[Tensor]) -> Any:
        scores = [self.score(self.layers(level)).unflatten(1, (3, 2)).transpose(1, 3) for level in levels]
        return torch.cat(scores, 1).sigmoid().cumsum(-1)


def test_what_a_layer_gives_that_is_called_for_several_sizes_has_none_that_differs() -> None:
    levels = [torch.zeros(2, 8, 2**i) for i in range(6)]
    view = views_of(capture(Head(), (levels,)), DrawingOptions()).view()
    assert [box.repetition for box in view.boxes] == ["series", "shared"]
    layout = paper(view)
    assert [line.word for line in layout.lines if line.word] == ["N×8×…", "N×63×2×3", "N×6×… → N×…×2×3"]
    assert not faults(view, layout)
    old = replace(view, edges=tuple(replace(edge, elsewhere=()) for edge in view.edges))
    assert len(faults(old, paper(old))) == 2


def test_rows_that_are_picked_one_after_another_are_known_by_their_place() -> None:
    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.labels, self.cell, self.classify = nn.Embedding(5, 4), nn.GRUCell(12, 8), nn.Linear(8, 5)

        def forward(self, objects: torch.Tensor, order: torch.Tensor) -> Any:
            h, last, logits = objects.new_zeros(1, 8), order.new_zeros(1), []
            for index in order:
                h = self.cell(torch.cat([objects[index].unsqueeze(0), self.labels(last)], dim=1), h)
                logits.append(self.classify(h))
                last = logits[-1].argmax(dim=1)
            return torch.cat(logits)[order.argsort()]

    graph = capture(Decoder(), (torch.zeros(6, 8), torch.arange(6)))
    view = views_of(graph, DrawingOptions(depth="all")).view()
    assert not faults(view, paper(view))
    view = views_of(graph, DrawingOptions()).view()
    assert not faults(view, paper(view))


def test_an_attention_within_and_one_to_others_give_the_same_by_their_last_ops() -> None:
    """The first of them transposes what it reads once, the others twice."""

    class LookUp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
            self.norm = nn.LayerNorm(8)

        def forward(self, x: Tensor, memory: Tensor, absent: Tensor) -> Tensor:
            found, _ = self.attention(x, memory, memory, absent, need_weights=False)
            return self.norm(x + found)  # type: ignore[no-any-return]

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.regions, self.at_words = LookUp(), LookUp(), LookUp()
            self.word, self.region = nn.Linear(4, 8), nn.Linear(6, 8)

        def forward(self, words: Tensor, regions: Tensor) -> tuple[Tensor, Tensor]:
            no_word, no_region = words.sum(-1) == 1, regions.sum(-1) == 1
            words, regions = self.word(words), self.region(regions)
            words, regions = self.words(words, words, no_word), self.regions(regions, regions, no_region)
            return self.at_words(regions, words, no_word), words

    view = views_of(capture(Reader().eval(), (torch.zeros(3, 5, 4), torch.zeros(3, 7, 6))), DrawingOptions()).view()
    assert [inset.letter for inset in view.insets] == ["A"]
    layout = paper(view)
    assert "N×…×8" in {line.word for line in layout.lines if line.ends[0].startswith("A")}
    assert not faults(view, layout)


class Imagined(nn.Module):
    """A loop that begins with fixed actions, five for each example; later ones are the argmax of the state."""

    def __init__(self) -> None:
        super().__init__()
        self.step, self.look = Step(), nn.Conv2d(4, 6, 3)

    def forward(self, x: Tensor) -> Tensor:
        state: Tensor = self.look(x.repeat_interleave(5, 0))
        actions = torch.arange(len(state)) % 5
        for _ in range(3):
            state = self.step(state, actions).cumsum(-1)
            actions = state.mean((2, 3)).argmax(-1)
        return state


class Step(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.action, self.mix = nn.Embedding(6, 6), nn.Conv2d(6, 6, 1)

    def forward(self, state: Tensor, actions: Tensor) -> Tensor:
        out: Tensor = self.mix(state.tanh() + self.action(actions)[..., None, None])
        return out


def test_a_size_has_no_letter_where_one_call_is_not_known_to_follow_the_batch() -> None:
    with torch.no_grad():
        graph = capture(Imagined(), torch.zeros(2, 4, 8, 8))
    view = ProvedViews(Views(graph)).view()
    assert view.weakened == ()
    assert faults(view, paper(view)) == ()


def steps(t: Tensor) -> Tensor:
    angles = t[:, None] * torch.arange(8).mul(-0.5).exp()[None]
    both = torch.cat([angles.sin(), angles.cos()], -1)
    return torch.cat([both[:, 8:], both[:, :8]], -1)


class Timed(nn.Module):
    """A function turns round the halves of what it made."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(16, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, t: Tensor) -> Any:
        return (self.one(steps(t)) * self.other(x)).cumsum(-1)


def test_halves_that_are_turned_round_are_joined_with_nothing_else() -> None:
    """No layout was right, since the size that the function returns was taken for that of a join with others."""
    view = views_of(capture(Timed(), (torch.zeros(3, 4), torch.zeros(3))), DrawingOptions()).view()
    layout = paper(view)
    (said,) = (line for line in layout.lines if line.word == "N×16")
    assert faults(view, layout) == ()
    lines = [line._replace(word="N×8") if line is said else line for line in layout.lines]
    assert len(faults(view, replace(layout, lines=lines))) == 1


def test_a_node_may_name_what_enters_its_inset_alone() -> None:
    """The layouts of decoders whose attention is in an inset had faults: `memory is x`, where none gets a memory."""
    view = views_of(capture(LookUps(), torch.zeros(2, 4, 16)), DrawingOptions()).view()
    layout = paper(view)
    assert any("memory is x" in word.text for figure in layout.nodes for word in figure.words)
    assert faults(view, layout) == ()
    lines = [line._replace(word="y") if line.word == "memory" else line for line in layout.lines]
    assert any("names memory" in fault for fault in faults(view, replace(layout, lines=lines)))


class Guess(nn.Module):
    """Compares what is seen so many steps later with a guess."""

    def __init__(self, ahead: int) -> None:
        super().__init__()
        self.ahead, self.guess = ahead, nn.Linear(8, 8)

    def forward(self, seen: Tensor, known: Tensor) -> Any:
        guessed = self.guess(known[:, : -self.ahead])
        return (guessed * seen[:, self.ahead :]).softmax(-1).cumsum(1).mean()


class Guesses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.see, self.know = nn.Linear(4, 8), nn.GRU(8, 8, batch_first=True)
        self.guesses = nn.ModuleList(Guess(ahead) for ahead in (1, 2, 3, 4))

    def forward(self, x: Tensor) -> Tensor:
        seen = self.see(x).tanh()
        known, _ = self.know(seen)
        return torch.stack([guess(seen, known) for guess in self.guesses])


def test_a_part_that_calls_of_an_inset_take_otherwise_is_a_span() -> None:
    """The layers stayed closed, since nothing was said of what they take."""
    view = views_of(capture(Guesses(), torch.zeros(2, 9, 4)), DrawingOptions()).view()
    (inset,) = view.insets
    assert {edge.part for edge in inset.view.edges if edge.part} == {"[:, :-1…4]", "[:, 1…4:]"}
    assert not view.weakened
    assert faults(view, paper(view)) == ()
    edges = tuple(replace(it, part=it.part.replace("1…4", "1…3")) for it in inset.view.edges)
    less = replace(view, insets=(replace(inset, view=replace(inset.view, edges=edges)),))
    assert sum("leaves out" in fault for fault in faults(less, paper(less))) == 2


def test_a_part_that_each_turn_takes_is_a_span() -> None:
    """It had letters that count the turns, in no picture of two hundred, and nodes say it as a span."""
    view = views_of(capture(Steps(), torch.zeros(2, 3, 4)), DrawingOptions()).view()
    (said,) = (edge for edge in view.edges if "[" in edge.part)
    assert said.part == "[:, 0…2]"
    assert faults(view, paper(view)) == ()
    for false, wrong in (("[:, 0…1]", "does not carry"), ("[:, 0…3]", "has an end 3 that nothing takes")):
        less = replace(view, edges=tuple(replace(it, part=false) if it is said else it for it in view.edges))
        found = [*faults(less, paper(less)), *(fault.words for fault in proof.faults(less))]
        assert any(wrong in fault for fault in found), false
