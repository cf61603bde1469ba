"""Edges that lead too far are cut, and both ends say where they lead."""

from __future__ import annotations

from tests.core.graph.building import Net, transformer
from tests.core.view.seeing import shown
from torchrecorder.graph import Graph
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Edge, View, make_view
from torchrecorder.view.skips import ranks
from torchrecorder.view.tuning import FAR


def masked(n: int, *, made: bool = False) -> Graph:
    """n different blocks, each of which reads one mask."""
    net = Net("Masked")
    x, mask = net.input("x", 1, 4), net.input("mask", 1, 4)
    mask = net.op("cos", mask) if made else mask
    for i in range(n):
        with net.call(f"b{i}", f"Block{i}"):
            x = net.op("mul", net.layer(f"b{i}.fc", "Linear", x, said=str(i)), mask)
    return net.graph(x)


def unet(n: int) -> Graph:
    """A way down of n steps and one up, joined at each level."""
    net = Net("UNet")
    x = net.input("x", 1, 4)
    down = [x := net.layer(f"down{i}", "Linear", x, said=str(i)) for i in range(n)]
    for i in range(n):
        x = net.op("cat", net.layer(f"up{i}", "Linear", x, said=f"u{i}"), down.pop())
    return net.graph(x)


def all_of(graph: Graph) -> View:
    return make_view(graph, DrawingOptions(depth="all", expand=("**",)))


def longest(view: View) -> int:
    rank = ranks(len(view.nodes), view.edges)
    return max(rank[edge.head] - rank[edge.tail] for edge in view.edges)


def test_an_input_stands_again_beside_far_readers() -> None:
    view = all_of(masked(100))
    again = [node for node in view.nodes if node.kind == "from"]
    assert {view.nodes[link].name for node in again for link in node.links} == {"mask"}
    assert longest(view) <= FAR
    assert all(node.box == view.nodes[edge.head].box for edge in view.edges for node in again if edge.tail == node.id)
    assert not any(node.kind == "to" for node in view.nodes)


def test_what_an_op_made_is_marked_at_both_ends() -> None:
    view = all_of(masked(100, made=True))
    (end,) = [node for node in view.nodes if node.kind == "to"]
    assert len(end.links) == sum(node.kind == "from" for node in view.nodes)
    assert longest(view) <= FAR


def test_only_long_skips_are_cut() -> None:
    view = all_of(unet(20))
    cut = sum(node.kind == "from" for node in view.nodes)
    assert 0 < cut < 20
    assert cut == sum(node.kind == "to" for node in view.nodes)
    assert longest(view) <= FAR
    assert sum(edge.skip for edge in view.edges) > cut


def test_nothing_else_changes() -> None:
    assert not any(
        node.kind in ("from", "to") for node in make_view(transformer(12), DrawingOptions(depth="all")).nodes
    )
    assert "input:x" in shown(make_view(masked(3)))


def test_a_source_stands_beside_its_first_reader() -> None:
    chain = [Edge(0, 2, 0), Edge(1, 5, 0), Edge(2, 3, 0), Edge(3, 4, 0), Edge(4, 5, 0)]
    assert ranks(6, chain) == [0, 3, 1, 2, 3, 4]
