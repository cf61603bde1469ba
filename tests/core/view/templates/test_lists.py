"""Inputs that one node reads, and outputs that one node gives, as entries of one list."""

from __future__ import annotations

import pytest

from tests.core.graph.building import Net
from tests.core.view.seeing import edges, shown
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.proof import faults
from torchrecorder.view import make_view


def levels(sizes: list[int]) -> Graph:
    """A layer that gives a map of each of these sizes, from as many texts of one size."""
    net = Net("Levels")
    given = [net.input(f"texts.{i}", 1, 8) for i in range(len(sizes))]
    x = net.layer("fuse", "Linear", net.op("cat", *given), params=72)
    with net.call("split", "Linear", params=72):
        outs = {f"maps.{i}": net.op("linear", x, shape=(1, size)) for i, size in enumerate(sizes)}
    return net.graph(**outs)


@pytest.mark.parametrize(
    ("sizes", "text"), [([8, 8], "2 tensors · 1×8"), ([8, 8, 4], "3 tensors · 1×8, 1×4"), ([9, 7, 5, 3], "4 tensors")]
)
def test_entries_that_one_node_reads_or_gives_are_one(sizes: list[int], text: str) -> None:
    view = make_view(levels(sizes))
    last = len(sizes) - 1
    assert shown(view) == [f"input:texts.0–{last}", "cat", "fuse", "split", f"output:maps.0–{last}"]
    assert f"split > output:maps.0–{last}" in edges(view)
    assert [Labels(view).node(view.nodes[i]).line for i in (0, -1)] == [f"{last + 1} tensors · 1×8", text]
    assert faults(view) == ()


def test_two_of_different_shapes_stay_apart() -> None:
    assert shown(make_view(levels([8, 4])))[-2:] == ["output:maps.0", "output:maps.1"]


def test_what_several_nodes_give_stays_apart() -> None:
    net = Net()
    x = net.input("x", 1, 8)
    outs = {f"maps.{i}": net.op(name, x) for i, name in enumerate(("sin", "cos", "exp"))}
    assert shown(make_view(net.graph(**outs)))[-3:] == ["output:maps.0", "output:maps.1", "output:maps.2"]


def test_entries_that_are_no_row_say_that_there_are_others() -> None:
    net = Net()
    given = [net.input(f"texts.{i}", 1, 8) for i in (0, 2, 5)]
    assert shown(make_view(net.graph(net.op("cat", *given))))[0] == "input:texts.*"


def test_parts_of_several_tuples_stay_with_their_own() -> None:
    net = Net()
    x = net.input("x", 1, 8)
    with net.call("split", "Linear", params=72):
        outs = {name: net.op("linear", x) for name in ("0.0", "0.1", "0.2", "1.2")}
    assert shown(make_view(net.graph(**outs)))[2:] == ["output:0.0–2", "output:1.2"]
