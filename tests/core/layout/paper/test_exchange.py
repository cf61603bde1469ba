"""Exchanges of what stands in a row, and of the sides of lines, that let fewer lines cross."""

from __future__ import annotations

import random
import re

import pytest

from tests.core.drawing.engines import finish, laid_out
from tests.core.drawing.looking import behind_nodes, behind_titles, crossings, faults, seen
from tests.core.graph.building import Net
from tests.core.layout.paper.test_paper import paper
from torchrecorder.graph import Graph
from torchrecorder.layout import tuning
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view


def conditioned() -> Graph:
    """A block with skips, and a condition that comes to it by the side."""
    net = Net("Conditioned")
    ids, states = net.input("ids", 1, 8), net.input("states", 1, 8)
    with net.call("block", "Block", params=10):
        x = net.layer("block.embed", "Embedding", ids)
        for name in "ab":
            mixed = net.op("cat", net.layer(f"block.{name}", "Linear", x), states) if name == "b" else x
            x = net.op("add", x, net.layer(f"block.{name}_out", "Bilinear", net.op("relu", mixed)))
        x = net.op("tanh", x)
    return net.graph(x)


def test_what_comes_by_the_side_does_not_cross_skips() -> None:
    picture = paper(conditioned(), depth="all")
    assert crossings(picture) == []
    assert faults(picture) + behind_nodes(picture) + behind_titles(picture) == []


def test_with_no_exchange_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "EXCHANGES", 0)
    assert crossed(some_net(3)) > 0


def some_net(seed: int) -> Graph:
    """Layers that each read one or two of those before."""
    some = random.Random(seed)
    net = Net("Some")
    values = [net.input(f"x{i}", 1, 8) for i in range(some.randint(1, 3))]
    kinds = ["Linear", "Conv1d", "Conv2d", "Conv3d", "Bilinear"]
    for i in range(some.randint(6, 12)):
        near = values[-4:]
        read = some.sample(near, min(len(near), some.choice((1, 1, 2))))
        joined = net.op("add", *read) if len(read) > 1 else read[0]
        values.append(net.layer(f"layer{i}", some.choice(kinds), joined))
    return net.graph(*values[-2:])


def crossed(graph: Graph) -> int:
    """The number of crossings, also where the layered layout is taken for them."""
    layout = PaperLayout(make_view(graph, DrawingOptions(depth="all")))
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    said = re.fullmatch(r"(\d+) crossings", layout.reason)
    if placed is None:
        assert said, layout.reason
        return int(said[1])
    return len(crossings(seen(finish(placed, uid="p1", title="t", desc="d").svg)))


def test_exchanges_do_not_add_crossings(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [some_net(seed) for seed in range(25)]
    exchanged = [crossed(graph) for graph in graphs]
    monkeypatch.setattr(tuning, "EXCHANGES", 0)
    before = [crossed(graph) for graph in graphs]
    assert sum(exchanged) < 0.6 * sum(before)
    assert all(now <= then for now, then in zip(exchanged, before, strict=True)), [*zip(exchanged, before, strict=True)]


def test_an_exchange_is_the_same_each_time() -> None:
    assert paper(some_net(3), depth="all").lines == paper(some_net(3), depth="all").lines
