"""A U: down on the left, up on the right, what it gives beside what it gets."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tests.core.drawing.looking import crossings, faults
from tests.core.graph.building import Net
from tests.core.layout.paper.test_paper import named, paper, titled
from torchrecorder.graph import Graph


def unet(levels: int, *, in_boxes: bool, conditions: int = 0) -> Graph:
    """Down and up again, with a skip on each level."""
    net = Net("UNet")
    x = net.layer("stem", "Conv2d", net.input("x", 1, 4))
    for i in range(conditions):
        x = net.op("add", x, net.input(f"condition{i}", 1, 4))
    kept = []
    for i in range(levels):
        with net.call(f"down{i}", "Down", params=10) if in_boxes else nullcontext():
            x = net.layer(f"down{i}.conv", "Conv2d", x, (1, 5 + i))
            x = net.layer(f"down{i}.act", "ReLU", x, (1, 5 + i))
        kept.append(x)
        x = net.layer(f"pool{i}", "MaxPool2d", x, (1, 5 + i))
    for i in range(levels):
        with net.call(f"up{i}", "Up", params=10) if in_boxes else nullcontext():
            x = net.layer(f"up{i}.conv", "Conv2d", x, (1, 40 + i))
            x = net.op("cat", x, kept.pop())
    return net.graph(x)


@pytest.mark.parametrize("in_boxes", [False, True])
def test_skips_that_nest_make_a_u(in_boxes: bool) -> None:
    picture = paper(unet(3, in_boxes=in_boxes))
    assert faults(picture) == []
    inputs, stem = named(picture, "x"), named(picture, "stem")
    first, last = named(picture, "pool0"), named(picture, "pool2")
    up = [box for words, box in picture.labels if words == "cat"]
    assert inputs[1] < stem[1] < first[1] < last[1]
    assert all(at[0] > first[2] for at in up)  # beside the way down
    assert [at[1] for at in up] == sorted((at[1] for at in up), reverse=True)  # and upwards
    assert crossings(picture) == []
    assert faults(paper(unet(3, in_boxes=in_boxes), width=200.0)) == []


@pytest.mark.parametrize("in_boxes", [False, True])
def test_what_a_u_gives_stands_beside_what_it_gets(in_boxes: bool) -> None:
    picture = paper(unet(3, in_boxes=in_boxes))
    gets, gives, stem = named(picture, "x"), named(picture, "output"), named(picture, "stem")
    assert gives[1::2] == gets[1::2]
    assert gets[2] < gives[0]
    assert gives[3] < titled(picture, "UNet")[1] < stem[1]


def test_several_inputs_leave_no_room_for_what_a_u_gives() -> None:
    picture = paper(unet(3, in_boxes=False, conditions=2))
    assert faults(picture) == []
    assert named(picture, "output")[1] > titled(picture, "UNet")[3]
