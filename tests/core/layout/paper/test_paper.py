"""The layout of a paper: what it promises of every picture, and that it gives way where it cannot keep it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.drawing.engines import finish, laid_out
from tests.core.drawing.looking import Box, Seen, crossings, faults, seen, words_on_edges
from tests.core.graph.building import Net, chain, mlp, residual_block
from torchrecorder.errors import EngineError
from torchrecorder.graph import Graph
from torchrecorder.layout import tuning
from torchrecorder.layout.model import Layout, Line
from torchrecorder.layout.paper import PaperLayout, fitting, on_page
from torchrecorder.layout.paper.panels import Key, Panels
from torchrecorder.layout.paper.placement import Placement, placement
from torchrecorder.layout.paper.ranks import Ranking
from torchrecorder.request.options import Depth
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Inset, make_view

COLUMN = 540.0
"""Width of a page's column, in points."""


def paper(
    graph: Graph,
    *,
    width: float = COLUMN,
    answer: Callable[[str], str] = laid_out,
    depth: Depth = 9,
    is_sideways: bool = False,
) -> Seen:
    layout = PaperLayout(make_view(graph, DrawingOptions(depth=depth)), width=width, is_sideways=is_sideways)
    placed = layout.place([answer(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    return seen(finish(placed, uid="p1", title="t", desc="d").svg)


def reason(graph: Graph, answer: Callable[[str], str] = laid_out) -> str:
    layout = PaperLayout(make_view(graph, DrawingOptions(depth=9, fold=False)))
    return "" if layout.place([answer(dot) for dot in layout.dots]) else layout.reason


def middle(box: Box) -> float:
    return (box[0] + box[2]) / 2


def named(picture: Seen, name: str) -> Box:
    """The node with these words."""
    (at,) = [box for words, box in picture.labels if words == name]
    return next(n for n in picture.nodes if n[0] <= middle(at) <= n[2] and n[1] <= at[1] <= n[3])


def titled(picture: Seen, name: str) -> Box:
    """The box whose title begins so."""
    (at,) = [box for words, box in picture.titles if words.startswith(name)]
    around = [b for b in picture.boxes if b[0] <= at[0] and at[2] <= b[2] and b[1] <= at[1] and at[3] <= b[3]]
    return min(around, key=lambda box: (box[2] - box[0]) * (box[3] - box[1]))


def towers(kind: str = "") -> Graph:
    """An encoder and a decoder that reads it in its middle."""
    net = Net("Translator")
    source, target = net.input("source", 1, 8), net.input("target", 1, 8)
    with net.call("encoder", f"{kind}Encoder", params=10):
        memory = net.layer("encoder.b", "Linear", net.layer("encoder.a", "Linear", source))
    with net.call("decoder", f"{kind}Decoder", params=10):
        x = net.layer("decoder.a", "Linear", target)
        for name in "bc":
            x = net.layer(f"decoder.{name}", "Linear", net.op("cross", x, memory))
    return net.graph(x)


def hub(readers: int) -> Graph:
    """Layers one after another that all read the embedding of a time step."""
    net = Net("Denoiser")
    x, time = net.input("x", 1, 8), net.layer("embedding", "Linear", net.input("t", 1, 8))
    for i in range(readers):
        x = net.layer(f"block{i}", "Linear", net.op("cat", x, time))
    return net.graph(x)


def fork(n: int) -> Graph:
    net = Net("Fork")
    x = net.input("x", 1, 8)
    return net.graph(net.op("cat", *[net.layer(f"branch{i}", "Linear", x, (1, i + 1)) for i in range(n)]))


def test_the_stream_is_one_straight_line() -> None:
    picture = paper(residual_block())
    xs = [*map(middle, picture.nodes), *(x for x, _, _ in picture.circles)]
    spine = max(xs, key=lambda x: sum(abs(x - other) < 0.2 for other in xs))
    assert sum(abs(x - spine) < 0.2 for x in xs) >= len(xs) - 2  # all but the shortcut
    assert faults(picture) == []


def test_no_line_enters_the_band_of_a_title() -> None:
    picture = paper(mlp())
    for _, (left, top, right, bottom) in picture.titles:
        assert not any(left < x < right and top < y < bottom for line in picture.lines for x, y in line)


def sizes() -> Graph:
    """Blocks of another size than what they get, beside a skip that leads past all."""
    net = Net("Sizes")
    x = first = net.layer("stem", "Linear", net.input("x", 1, 8), (1, 1000))
    for i in range(3):
        with net.call(f"block{i}", "Block", params=10):
            x = net.op("relu", net.layer(f"block{i}.fc", "Linear", x, (1, 2000)))
    return net.graph(net.op("cat", x, first))


def test_words_of_edges_stand_beside_them_and_not_in_titles() -> None:
    picture = paper(sizes(), depth="all")
    assert len(picture.words) > 1
    assert words_on_edges(picture) == []
    for _, (left, top, right, bottom) in picture.words:
        ends = [end for line in picture.lines for end in (line[0], line[-1])]
        assert any(left - 6 < x < right + 6 and top - 12 < y < bottom + 12 for x, y in ends)
        assert not any(title[1] < bottom and top < title[3] for _, title in picture.titles)


def test_stages_that_are_stacks_of_layers_say_their_sizes() -> None:
    net = Net("Stages")
    x = net.input("x", 1, 8)
    for name, channels in [("early", 100), ("middle", 200), ("late", 300)]:
        for i in range(3):
            with net.call(f"{name}.{i}", "Block", params=10 * channels):
                x = net.op("relu", net.layer(f"{name}.{i}.fc", "Linear", x, (1, channels), params=channels))
    graph = net.graph(net.layer("head", "Head", x, (1, 4)))
    layout = PaperLayout(make_view(graph, DrawingOptions(depth=1)), width=COLUMN)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None
    picture = seen(finish(placed, uid="p1", title="t", desc="d").svg)
    assert sum("repeat" in node.flags for node in placed.nodes) == 3
    assert [word for word, _ in picture.words] == ["1×100", "1×200", "1×300"]
    assert faults(picture) == []


def test_a_weight_stands_beside_its_only_reader() -> None:
    net = Net("Scaled")
    x = net.op("scale", net.layer("fc", "Linear", net.input("x", 1, 8)), net.weight("gain", 1, 8))
    picture = paper(net.graph(x), depth="all")
    weight, reader = named(picture, "gain"), named(picture, "scale")
    assert weight[0] > reader[2]
    assert weight[1] < (reader[1] + reader[3]) / 2 < weight[3]


def test_towers_stand_side_by_side() -> None:
    picture = paper(towers())
    encoder, decoder = titled(picture, "encoder"), titled(picture, "decoder")
    assert encoder[1] == decoder[1]
    assert encoder[2] < decoder[0]
    assert faults(picture) == []


def test_a_picture_that_is_too_wide_breaks_titles_first() -> None:
    picture = paper(towers("TimeSeriesTransformer"))
    assert faults(picture) == []
    assert titled(picture, "encoder")[2] < titled(picture, "decoder")[0]
    assert picture.size[0] <= COLUMN
    assert len({round(at[1]) for words, at in picture.titles if "Decoder" in words or "10 params" in words}) > 1


def several(n: int) -> Graph:
    """Inputs that one layer reads."""
    net = Net("Features")
    inputs = [net.input(f"a_rather_long_name_{i}", 1, 8) for i in range(n)]
    with net.call("model", "Model", params=10):
        x = net.layer("model.fc", "Linear", net.op("stack", *inputs))
    return net.graph(net.layer("head", "ReLU", x))


def test_many_inputs_stand_around_the_middle_and_do_not_cross() -> None:
    picture = paper(several(5))
    assert crossings(picture) == []
    assert faults(picture) == []
    left, right = (named(picture, f"a_rather_long_name_{i}") for i in (0, 4))
    assert left[0] < middle(titled(picture, "Features")) < right[2]
    assert picture.size[0] < right[2] - left[0] + 30


def similarity() -> Graph:
    """Two branches that are each divided by their norm, close to each other."""
    net = Net("Similarity")
    a, b = (net.layer(f"project_{i}", "Linear", net.input(f"x{i}", 1, 8)) for i in range(2))
    a, b = (net.op("div", x, net.op("get_vector_norm_of_it", x)) for x in (a, b))
    return net.graph(net.op("matmul", a, b), a, b)


def branches() -> Graph:
    """Three ways from one layer, of which the first and the last go through two."""
    net = Net("Branches")
    x = net.layer("stem", "Linear", net.input("x", 1, 8))
    q, k, v = (net.layer(name, "Linear", x) for name in "qkv")
    return net.graph(net.op("attend", net.layer("scale", "Linear", q), k, net.layer("shift", "Linear", v)))


def test_branches_go_on_below_what_they_read() -> None:
    picture = paper(branches())
    for above, below in (("q", "scale"), ("v", "shift")):
        assert abs(middle(named(picture, above)) - middle(named(picture, below))) < 0.5
    assert crossings(picture) == []


def test_what_cannot_come_by_the_side_comes_from_above() -> None:
    assert reason(similarity()) == ""
    assert faults(paper(similarity())) == []


def test_a_hub_is_named_at_its_readers() -> None:
    assert sum(words == "embedding" for words, _ in paper(hub(5)).labels) == 6
    assert sum(words == "embedding" for words, _ in paper(hub(3)).labels) == 1


def test_one_node() -> None:
    net = Net("Empty")
    assert len(paper(net.graph(net.input("x", 1)), depth=0).nodes) > 0


def test_a_model_that_gives_what_it_gets() -> None:
    net = Net("Through")
    graph = net.graph(net.input("x", 1, 2), net.input("y", 1, 2))
    assert len(paper(graph, width=720).nodes) == 5  # the model has no edge


def loop() -> Graph:
    """Two calls that feed each other, as a generator and what it yields to do."""
    net = Net("Loop")
    x = net.input("x", 1, 8)
    values = {}
    with net.call("a", "A"):
        values["first"] = net.layer("a.1", "Linear", x)
    with net.call("b", "B"):
        values["second"] = net.layer("b.1", "Linear", values["first"])
    last = net.layer("a.2", "Linear", values["second"])
    return net.graph(last)


def test_boxes_that_feed_each_other_fall_back() -> None:
    view = make_view(loop(), DrawingOptions(depth="all"))
    (a,) = [box.id for box in view.boxes if view.graph.calls[box.calls[0]].module == "a"]
    moved = [
        replace(node, box=a) if node.kind == "call" and node.id == len(view.nodes) - 2 else node for node in view.nodes
    ]
    assert PaperLayout(replace(view, nodes=tuple(moved))).reason == "boxes feed each other"


def test_what_cannot_come_by_the_side_comes_from_above_through_all_boxes() -> None:
    net = Net("Nested")
    x, other = net.input("x", 1, 8), net.input("other", 1, 8)
    with net.call("a", "A", params=10), net.call("a.b", "B", params=10), net.call("a.b.c", "C", params=10):
        x = net.op("add", net.layer("a.b.c.fc", "Linear", x), other)
    view = make_view(net.graph(x), DrawingOptions(depth="all"))
    panels = Panels(view)
    ranking = Ranking(panels)
    ranking.read([EngineError(engine="none", reason="not asked")] * len(ranking.dots))
    boxes = [box.id for box in view.boxes if view.graph.calls[box.calls[0]].module in ("a", "a.b", "a.b.c")]
    (source,) = [node.id for node in view.nodes if node.name == "other"]
    assert all(panels.is_late(box, source) for box in boxes)
    panels.not_late.add((boxes[-1], source))
    ranking.again_around(boxes[-1])
    for box in boxes:
        assert not panels.is_late(box, source)
        assert Key("in", source) in ranking.rows[box][0]


def test_too_wide_falls_back() -> None:
    assert "points wide" in reason(fork(40))


def test_too_many_nodes_fall_back() -> None:
    view = make_view(chain(301), DrawingOptions(depth=9, fold=False))
    assert PaperLayout(view).reason == "303 nodes"


def test_boxes_that_nest_deeply_fall_back() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    with ExitStack() as nested:
        for depth in range(1, 60):
            nested.enter_context(net.call(".".join("m" * depth), "Sequential"))
        y = net.layer(".".join("m" * 60), "ReLU", net.op("neg", x))
        net.op("add", y, x)
    view = make_view(net.graph(y), DrawingOptions(depth="all", fold=False))
    assert PaperLayout(view).reason == "60 boxes in one another"


def other_ranks(dot: str) -> str:
    """An engine that puts everything into one row."""
    data = json.loads(laid_out(dot))
    for row in data["objects"]:
        if "pos" in row:
            row["pos"] = row["pos"].split(",")[0] + ",0"
    return json.dumps(data)


@pytest.mark.parametrize("answer", [other_ranks, lambda dot: "{}", lambda dot: "", lambda dot: '{"objects": 3}'])
def test_another_engine_changes_ranks_to_ours(answer: Callable[[str], str]) -> None:
    for graph in (fork(4), towers(), residual_block()):
        assert faults(paper(graph, answer=answer)) == []


def test_long_and_foreign_names() -> None:
    net = Net("x" * 200)
    with net.call("שכבה", "漢字" * 100, params=3):
        x = net.layer("שכבה.fc", "Linear", net.input("קלט", 1, 8))
        x = net.op("add", x, net.layer("שכבה.漢字", "Linear", x))
    assert faults(paper(net.graph(x))) == []


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Layers and sums in boxes at any depth that read any values made before."""
    net = Net("Random")
    values = [net.input(f"x{i}", 1, 8) for i in range(draw(st.integers(1, 2)))]

    def fill(path: str, depth: int) -> None:
        for i in range(draw(st.integers(1, 4))):
            name = f"{path}.{i}" if path else f"l{i}"
            what = draw(st.sampled_from(["layer", "sum", "box", "box", "weight"]))
            if what == "box" and depth < 3:
                with net.call(name, "Box", params=10):
                    fill(name, depth + 1)
            elif what == "sum":
                values.append(net.op("add", draw(st.sampled_from(values)), values[-1]))
            elif what == "weight":
                values.append(net.op("mul", values[-1], net.weight(f"{name}.w", 8)))
            else:
                read = draw(st.sampled_from(values[-4:]))
                values.append(net.layer(name, "Linear", read))

    fill("", 0)
    outputs = draw(st.lists(st.sampled_from(values), min_size=0, max_size=2, unique=True))
    return net.graph(values[-1], *[value for value in outputs if value != values[-1]])


@given(graph=graphs(), width=st.sampled_from([260.0, COLUMN]), is_sideways=st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_picture_is_right_or_gives_way(graph: Graph, width: float, is_sideways: bool) -> None:
    layout = PaperLayout(make_view(graph, DrawingOptions(depth="all")), width=width, is_sideways=is_sideways)
    placed = layout.place([other_ranks(dot) for dot in layout.dots])
    if placed is None:
        assert layout.reason
    else:
        assert faults(seen(finish(placed, uid="p1", title="t", desc="d").svg)) == []


def with_insets(n: int, width: float) -> Seen:
    """An overview of closed layers, and the inside of one of them for each letter."""
    net = Net("Tower")
    x = net.input("x", 1, 8)
    for i in range(n):
        with net.call(f"block{i}", f"Block{i}", params=10):
            x = net.op("add", x, net.layer(f"block{i}.fc", "Linear", x, (1, 8 + i)))
    view, graph = make_view(net.graph(x), DrawingOptions(depth=1)), net.graph(x)
    inside = [make_view(graph, DrawingOptions(depth=9, focus=f"block{i}")) for i in range(n)]
    insets = tuple(Inset("ABCDEFGH"[i], (0,), one) for i, one in enumerate(inside))
    layout = PaperLayout(replace(view, insets=insets), width=width)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    return seen(finish(placed, uid="p1", title="t", desc="d").svg)


@pytest.mark.parametrize("width", [COLUMN, 259.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_insets_have_letters_and_lie_apart(n: int, width: float) -> None:
    picture = with_insets(n, width)
    assert faults(picture) == []
    assert picture.size[0] <= width
    frames = [titled(picture, letter) for letter in "ABCDEFGH"[:n]]
    assert len({*frames}) == n
    for i, one in enumerate(frames):
        for other in [*frames[:i], titled(picture, "Tower")]:
            assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]


def box(wide: float, high: float) -> Placement:
    return placement(Layout(wide, high), COLUMN)


def test_insets_fill_the_room_beside_a_picture() -> None:
    """Two stand beside it, the third below it though those reach further down."""
    picture, *insets = [box(*size).layout for size in ((300, 400), (200, 300), (200, 450), (250, 200))]
    page = on_page(picture, insets, COLUMN)
    assert page.width <= COLUMN
    assert page.height == pytest.approx(300 + tuning.PICTURES_APART + 450)


def test_an_inset_may_be_narrower_to_fit_beside_a_picture() -> None:
    wide, narrow = box(400, 100), box(200, 300)
    assert fitting(box(300, 800), [[wide, narrow]], COLUMN) == [narrow]
    assert fitting(box(400, 800), [[wide, narrow]], COLUMN) == [wide]


def test_only_words_need_room_between_rows() -> None:
    def gaps(sizes: list[int]) -> set[float]:
        net = Net("Chain")
        x = net.input("x", 1, 8)
        for kind, size in zip(("Linear", "LayerNorm", "Conv2d"), sizes, strict=True):
            x = net.layer(kind, kind, x, (1, size))
        at = sorted(paper(net.graph(x)).nodes, key=lambda node: node[1])[1:-1]
        return {round(below[1] - above[3], 1) for above, below in pairwise(at)}

    (without,), (with_words,) = gaps([8, 8, 8]), gaps([9, 10, 11])
    assert without < with_words


def test_a_tangle_costs_less_than_no_picture_at_all() -> None:
    curves = [[(float(x), 0.0), (300.0 - x, 800.0)] for x in range(0, 300, 10)]
    lines = [Line(frozenset(), curve, None, "") for curve in curves]
    tangled = placement(Layout(600.0, 900.0, lines=lines), 540.0)
    assert tangled.crossings > 100
    assert not tangled.faults
    assert tangled.price < Placement.failed("something stands in the way back to the next step").price
