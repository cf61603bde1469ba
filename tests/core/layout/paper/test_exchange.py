"""Exchanges of what stands in a row, and of the sides of lines, that let fewer lines cross."""

from __future__ import annotations

import random
import re

import pytest

from tests.core.drawing.engines import finish, laid_out
from tests.core.drawing.looking import behind_nodes, behind_titles, crossings, faults, seen
from tests.core.graph.building import Net
from tests.core.layout.paper.test_paper import middle, named, paper
from torchrecorder.graph import Graph
from torchrecorder.layout import tuning
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.layout.paper.exchange import Order, Orders
from torchrecorder.layout.paper.model import LEFT, RIGHT
from torchrecorder.layout.paper.panels import Key
from torchrecorder.layout.paper.strips import Strip
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


def test_a_picture_tries_only_so_many_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    """UNet++ took a hundred seconds, a neural process twenty: all ways to lay out one picture share a limit."""
    placed: list[int] = []
    arranged = Strip._arranged

    def counted(strip: Strip, box: int | None, order: Order) -> float:
        placed.append(sum(map(len, order.rows)))
        return arranged(strip, box, order)

    monkeypatch.setattr(Strip, "_arranged", counted)
    monkeypatch.setattr(Orders, "left", 0)
    paper(some_net(3))
    without = sum(placed)
    placed.clear()
    monkeypatch.setattr(Orders, "left", 300)
    paper(some_net(3))
    assert without < sum(placed) < without + 400


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


def heads(*order: int) -> Graph:
    """Heads of unequal length, of which the model gives the results in some order."""
    net = Net("Heads")
    x = net.layer("stem", "Linear", net.input("x", 1, 8))
    given = []
    for i, kind in enumerate(("Conv1d", "Conv2d", "Conv3d")):
        y = net.layer(f"a{i}", kind, x)
        given.append(net.layer(f"b{i}", "Bilinear", y) if i < 2 else y)
    return net.graph(*(given[i] for i in order))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_outputs_stand_in_their_order(order: tuple[int, ...]) -> None:
    picture = paper(heads(*order), depth="all")
    outputs = [named(picture, f"output {i}")[0] for i in range(3)]
    assert outputs == sorted(outputs)
    assert crossings(picture) == []


def test_a_mirror_image_keeps_rows_in_an_order_from_outside() -> None:
    keys = [Key("node", i) for i in range(4)]
    order = Order(((keys[0], keys[1]), (keys[2], keys[3])), {(keys[0], keys[3], 0): LEFT})
    assert order.mirrored().mirrored() == order
    assert order.mirrored().rows == ((keys[1], keys[0]), (keys[3], keys[2]))
    assert order.mirrored(first=1).rows == ((keys[0], keys[1]), (keys[3], keys[2]))
    assert order.mirrored().sides == {(keys[0], keys[3], 0): RIGHT}


def two_streams() -> Graph:
    """A block for words and an image, whose attention reads a third thing, which is read behind the block as well."""
    net = Net("TwoStreams")
    inputs = (net.input(name, 1, 8) for name in ("words", "image", "place"))
    words, image, place = (net.layer(f"embed{i}", "Linear", x, (1, 8)) for i, x in enumerate(inputs))
    with net.call("block", "Block", params=10):
        whole, given = net.layer("block.attend", "Attention", place, (1, 8)), []
        for name, x in (("image", image), ("words", words)):
            norm = net.layer(f"block.norm_{name}", "LayerNorm", x, (1, 8))
            y = net.op("add", x, net.op("mul", whole, norm))
            z = net.layer(f"block.{name}", "Linear", net.op("sub", net.op("div", y, norm), norm), (1, 8))
            given.append(net.op("add", y, net.op("mul", z, norm)))
    return net.graph(net.layer("out", "Bilinear", net.op("cat", *given, place), (1, 8)))


def test_what_enters_a_box_changes_places_where_that_saves_more_crossings_than_it_makes_outside() -> None:
    assert crossed(two_streams()) == 1


def two_paths() -> Graph:
    """A slow path that each stage of a fast one feeds through a lateral layer."""
    net = Net("TwoPaths")
    x = net.input("x", 1, 8)
    slow, fast = net.layer("slow", "Linear", x), net.layer("fast", "Conv1d", x)
    slow = net.op("cat", slow, net.layer("lateral", "Conv3d", fast))
    for i in range(3):
        fast = net.layer(f"fast{i}", "Conv2d", fast, said="8, 8, kernel_size=(3, 3)")
        lateral = net.layer(f"lateral{i}", "Conv3d", fast, said="8, 8, kernel_size=(3, 3, 3)")
        slow = net.op("cat", net.layer(f"slow{i}", "Conv2d", slow, said="16, 16, kernel_size=(3, 3)"), lateral)
    fast = net.layer("fast3", "Conv2d", fast, said="8, 8, kernel_size=(3, 3)")
    fast = net.layer("pool", "AvgPool2d", fast)
    return net.graph(net.op("cat", net.layer("slow3", "Conv2d", slow), fast))


def test_two_paths_are_two_columns() -> None:
    picture = paper(two_paths(), depth="all")
    for path in ("slow", "fast"):
        places = [middle(named(picture, f"{path}{i}")) for i in range(4)]
        assert max(places) - min(places) < 1, path
    assert crossings(picture) == []


@pytest.mark.parametrize("turned", [False, True])
def test_arguments_of_one_thing_stand_in_their_order(turned: bool) -> None:
    """The words stand before the picture in the code that joins them, though the picture is made first."""
    net = Net("Joined")
    x = net.input("x", 1, 8)
    picture, words = (net.layer(name, "Linear", x, (1, 8)) for name in ("picture", "words"))
    net.op("cat", *((words, picture) if turned else (picture, words)))
    seen_ = paper(net.graph(len(net.values) - 1))
    assert (middle(named(seen_, "words")) < middle(named(seen_, "picture"))) == turned
    assert crossings(seen_) == []


@pytest.mark.parametrize("order", ["abc", "cab", "bca"])
def test_heads_stand_in_the_order_in_which_the_model_gives_them(order: str) -> None:
    net = Net("Heads")
    x = net.layer("body", "Linear", net.input("x", 1, 8), (1, 8))
    given = {name: net.layer(f"head_{name}", "Linear", x, (1, 8)) for name in "abc"}
    picture = paper(net.graph(**{f"out_{name}": given[name] for name in order}))
    for kind in ("head", "out"):
        across = {name: middle(named(picture, f"{kind}_{name}")) for name in order}
        assert sorted(order, key=lambda name: across[name]) == [*order]
