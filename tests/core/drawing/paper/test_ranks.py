"""Which things stand in one row, and in what order."""

from __future__ import annotations

from tests.core.drawing.looking import crossings
from tests.core.drawing.paper.test_paper import middle, named, paper
from tests.core.graph.building import Net
from torchrecorder.graph import Graph


def shared() -> Graph:
    """Two boxes that read the same inputs, and each one of its own."""
    net = Net("Hetero")
    a, first, b, second = (net.input(name, 1, 8) for name in ("a", "first", "b", "second"))
    with net.call("one", "Conv", params=10):
        x = net.op("add", net.op("relu", net.op("add", a, first)), net.layer("one.fc", "Linear", b))
    with net.call("two", "Conv", params=10):
        y = net.op("mul", net.layer("two.src", "Linear", b), net.layer("two.dst", "Linear", a))
        y = net.op("relu", net.op("add", y, second))
    return net.graph(x, y)


def test_inputs_stand_in_the_order_of_the_boxes_that_read_them() -> None:
    picture = paper(shared(), depth="all")
    xs = [middle(named(picture, name)) for name in ("first", "a", "b", "second")]
    assert xs == sorted(xs)
    assert len(crossings(picture)) <= 3


def test_outputs_stand_in_the_order_of_the_forward() -> None:
    net = Net("Pyramid")
    x, outputs = net.input("x", 1, 8), []
    for name in ("Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d"):  # equal ones would be drawn once
        x = net.layer(name.lower(), name, x)
        outputs.append(x)
    picture = paper(net.graph(*outputs))
    xs = [middle(named(picture, f"output {i}")) for i in range(5)]
    assert xs == sorted(xs)
    assert crossings(picture) == []
