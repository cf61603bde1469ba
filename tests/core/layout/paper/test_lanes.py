"""Lines of two sources stay apart, so that each can be followed from where it begins to where it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.core.drawing.engines import laid_out
from tests.core.drawing.looking import crossings, faults, merging
from tests.core.graph.building import Net
from tests.core.layout.paper.test_paper import paper
from torchrecorder.graph import Graph
from torchrecorder.layout import tuning
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.layout.widths import width
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view


def beside_the_next() -> Graph:
    """What one layer reads, and what the one above it gives, come to layers side by side."""
    net = Net("Fusion")
    with net.call("body", "Body", params=10):
        context = net.layer("body.selection", "Linear", net.input("static", 1, 8))
        past = net.op("add", net.layer("body.past", "Linear", context), context)
        future = net.layer("body.future", "Bilinear", net.op("cat", context, net.input("x", 1, 8)))
        encoded = net.layer("body.encoder", "LSTM", past)
    return net.graph(past=past, decoded=net.op("mul", encoded, future))


def past_a_fork() -> Graph:
    """A style that leads past a layer into the next one, which what it passes leads to, too."""
    net = Net("Generator")
    w = net.layer("mapping", "Linear", net.input("z", 1, 8))
    with net.call("synthesis", "Synthesis", params=10):
        first = net.op("conv0", w, shape=(1, 9))
        second = net.op("conv1", first, w, shape=(1, 10))
        rgb = net.layer("synthesis.rgb0", "Conv2d", first, (1, 3))
        last = net.op("add", net.layer("synthesis.rgb1", "Conv2d", second, (1, 4)), rgb)
    return net.graph(last)


def several_by_the_side() -> Graph:
    """Three inputs that come to one layer beside its stream."""
    net = Net("Selection")
    x, *others = (net.input(name, 1, 8) for name in ("static", "past_a", "past_b", "past_c"))
    with net.call("tft", "TFT", params=10):
        x = net.layer("tft.context", "Linear", net.layer("tft.static", "Linear", x))
        x = net.op("select", x, *others)
    return net.graph(x)


def differences() -> Graph:
    """Slices of one tensor, each read by two signs side by side."""
    net = Net("Mesh")
    x = net.op("index_select", net.input("x", 1, 8))
    a, b, c, d = (net.op(f"slice{i}", x, shape=(1, 2 + i)) for i in range(4))
    ends = [net.op("add", a, c), net.op("sub", a, c), net.op("add", b, d), net.op("sub", b, d)]
    return net.graph(net.op("cat", *(net.op("abs", end) for end in ends)))


def exchanged() -> Graph:
    """Two streams that give each other something: the lines to the signs side by side cross between them."""
    net = Net("NearFar")
    near, far = (net.layer(f"embed_{name}", "Linear", net.input(name, 1, 8)) for name in ("near", "far"))
    with net.call("mix", "Mix", params=10):
        names = (("keep", near), ("gain", far), ("give", near), ("hold", far))
        a, b, c, d = (net.layer(f"mix.{name}", "Conv2d", x, (1, 8)) for name, x in names)
        given = net.op("add", a, b), net.op("add", d, c)
    return net.graph(*given)


def tangle(seed: int) -> Graph:
    random, net = Random(seed), Net("Tangle")
    values = [net.input("x", 1, 8)]
    for i in range(8):
        several = random.sample(values, min(len(values), random.randint(1, 3)))
        values.append(net.op(f"step{i}", *several, shape=(1, i + 2)))
    return net.graph(net.op("last", *values[-4:]))


@pytest.mark.parametrize("graph", [beside_the_next, past_a_fork, several_by_the_side, differences, exchanged])
def test_lines_of_two_sources_are_not_one(graph: Callable[[], Graph]) -> None:
    picture = paper(graph())
    assert merging(picture) == []
    assert faults(picture) == []


def test_lines_that_come_to_one_side_end_below_each_other() -> None:
    picture = paper(several_by_the_side())
    assert crossings(picture) == []
    heads = [points[-1][1] for points, ends in zip(picture.lines, picture.ends, strict=True) if ends[1] == "6"]
    assert len({*heads}) == len(heads) == 4


@pytest.mark.parametrize("seed", range(12))
def test_whatever_reads_whatever(seed: int) -> None:
    assert merging(paper(tangle(seed))) == []


@pytest.mark.parametrize("part", ["", "first_scale, first_shift, first_gate"])
def test_a_line_beside_a_row_leaves_room_for_what_a_line_into_the_row_carries(part: str) -> None:
    net = Net("Gated")
    x = first = net.layer("first", "Linear", net.input("x", 1, 8), (1, 8))
    for name, cls in (("second", "Bilinear"), ("third", "LSTM")):
        x = net.layer(name, cls, x, (1, 8))
    view = make_view(net.graph(net.layer("last", "Linear", net.op("sub", x, first), (1, 8))), DrawingOptions(depth=9))
    (first_id, second_id) = (node.id for node in view.nodes if node.kind == "call" and node.calls[0] in (1, 2))
    edges = [replace(it, part=part) if (it.tail, it.head) == (first_id, second_id) else it for it in view.edges]
    asked = PaperLayout(replace(view, edges=tuple(edges)))
    layout = asked.place([laid_out(dot) for dot in asked.dots])
    assert layout is not None
    (into,) = (line for line in layout.lines if line.ends == (f"{first_id}", f"{second_id}"))
    (skip,) = (line for line in layout.lines if line.ends[0] == f"{first_id}" and line is not into)
    room = max(x for x, _ in skip.curve) - into.curve[-1][0]
    if part:  # it passes at the other side, or beyond the word
        assert not 0.0 < room < width(part, tuning.SMALL) + 2 * tuning.WORD_FROM_LINE
    else:
        assert 0.0 < room < 80.0


def decoder_beside_encoder() -> Graph:
    """An output of one layer that comes by the side to a box beside it."""
    net = Net("Translator")
    source, target = net.input("source", 1, 8), net.input("target", 1, 8)
    with net.call("model", "Model", params=10):
        memory = net.layer("model.encoder", "Linear", source)
        with net.call("model.decoder", "Decoder", params=10):
            x = net.layer("model.decoder.embed", "Embedding", target)
            for i in range(2):
                x = net.layer(f"model.decoder.norm{i}", "LayerNorm", x)
            x = net.layer("model.decoder.attention", "Bilinear", net.op("cat", x, memory))
            x = net.layer("model.decoder.last", "Conv1d", x)
    return net.graph(x)


def test_a_line_to_the_box_beside_its_tail_leads_there_without_a_way_up() -> None:
    picture = paper(decoder_beside_encoder(), depth="all")
    for points in picture.lines:
        assert max(y for _, y in points) <= points[-1][1] + 1.0
