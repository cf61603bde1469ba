"""A ladder: stages on the left, what is joined one after another beside them, each on the row of its stage."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.core.drawing.looking import Box, Seen, crossings, faults
from tests.core.graph.building import Net
from tests.core.layout.paper.test_paper import COLUMN, middle, named, paper, titled
from torchrecorder.graph import Graph

LEVEL = 1.0
"""Points between things that are level to the eye."""


def stages(net: Net, n: int) -> list[int]:
    """A backbone, each stage with half the height and width of the one before and more channels."""
    x = net.layer("stem", "Conv2d", net.input("x", 1, 3, 256, 256), (1, 8, 128, 128))
    kept = []
    for i in range(n):
        size = 64 >> i
        x = net.layer(f"stage{i}", "Conv2d", x, (1, 16 << i, size, size), params=100 + i)
        kept.append(x)
    return kept


def resized(net: Net, x: int, like: int) -> int:
    shape = (*net.shape(x)[:2], *net.shape(like)[2:])
    return net.op("interpolate", x, shape=shape)


def pyramid(net: Net, kept: list[int]) -> list[int]:
    """Laterals that are joined from the coarsest to the finest."""
    laterals = [
        net.layer(f"lateral{i}", "Conv2d", x, (1, 9, *net.shape(x)[2:]), params=20 + i) for i, x in enumerate(kept)
    ]
    joined = [laterals[-1]]
    for x in laterals[-2::-1]:
        joined.insert(0, net.op("add", x, resized(net, joined[0], x)))
    return joined


def fpn(n: int, *, in_box: bool = False) -> Graph:
    net = Net("FPN", params=2000)
    kept = stages(net, n)
    if in_box:
        with net.call("neck", "Pyramid", params=500):
            return net.graph(*smoothed(net, pyramid(net, kept)))
    return net.graph(*smoothed(net, pyramid(net, kept)))


def smoothed(net: Net, joined: list[int]) -> list[int]:
    kinds = ("Conv2d", "Linear", "LayerNorm", "GELU")  # of several kinds, so that they are not drawn as one
    return [net.layer(f"smooth{i}", kinds[i], x, params=30 + i) for i, x in enumerate(joined)]


def detector() -> Graph:
    """A pyramid whose levels one convolution smoothes, for two heads."""
    net = Net("Detector", params=2000)
    joined = pyramid(net, stages(net, 4))
    with net.call("smooth", "Smooth", params=90):
        x = net.op("stack", *joined, shape=(1, 9, 5000))
    boxes, classes = (net.layer(f"{name}_head", "Conv2d", x, params=91 + i) for i, name in enumerate(("box", "class")))
    return net.graph(net.layer("boxes", "Linear", boxes, params=95), net.layer("classes", "GELU", classes))


def panet() -> Graph:
    """Down, up, and down once more."""
    net = Net("PANet", params=2000)
    joined = pyramid(net, stages(net, 3))
    given = [joined[0]]
    for i, x in enumerate(joined[1:]):
        small = net.layer(f"down{i}", "MaxPool2d", given[-1], net.shape(x))
        given.append(net.layer(f"out{i}", "Conv2d", net.op("cat", small, x), params=40 + i))
    return net.graph(*given)


def nested(depth: int = 2) -> Graph:
    """UNet++."""
    net = Net("UNetPlusPlus", params=2000)
    rows = [[x] for x in stages(net, depth + 2)[1:]]
    for j in range(1, depth + 1):
        for i in range(depth + 1 - j):
            x = net.op("cat", *rows[i], resized(net, rows[i + 1][j - 1], rows[i][0]))
            rows[i].append(net.layer(f"node{i}{j}", "Conv2d", x, net.shape(rows[i][0]), params=60 + 3 * i + j))
    return net.graph(net.layer("final", "Linear", rows[0][-1], params=7))


def hypercolumns() -> Graph:
    """All stages as large as the first, and together."""
    net = Net("Hypercolumns", params=2000)
    kept = stages(net, 4)
    flat = [net.layer(f"lateral{i}", "Conv2d", x, (1, 9, *net.shape(x)[2:]), params=20 + i) for i, x in enumerate(kept)]
    x = net.op("cat", flat[0], *(resized(net, y, flat[0]) for y in flat[1:]))
    return net.graph(net.layer("head", "Conv2d", x, params=50))


def twice() -> Graph:
    """BiFPN: up and down in a box, with what comes to it read on both ways."""
    net = Net("BiFPN", params=2000)
    kept = stages(net, 4)
    with net.call("neck", "BiFPNLayer", params=500):
        up = [kept[-1]]
        for i, x in enumerate(kept[-2::-1]):
            up.insert(0, net.layer(f"neck.up{i}", "Conv2d", net.op("add", x, resized(net, up[0], x)), params=70 + i))
        given = [up[0]]
        for i, x in enumerate(kept[1:]):
            small = net.layer(f"neck.down{i}", "MaxPool2d", given[-1], net.shape(x))
            both = net.op("add", x, up[i + 1]) if i < 2 else x
            given.append(net.layer(f"neck.out{i}", "Conv2d", net.op("add", both, small), params=80 + i))
    return net.graph(*given)


def heads() -> Graph:
    """SSD: what two heads find at each stage, each kind put together."""
    net = Net("SSD", params=2000)
    found: list[list[int]] = [[], []]
    for i, x in enumerate(stages(net, 4)):
        for j, kind in enumerate(("box", "class")):
            y = net.layer(f"{kind}{i}", "Conv2d", x, (1, 4 + j, *net.shape(x)[2:]), params=20 + 2 * i + j)
            found[j].append(net.op("flatten", y, shape=(1, 4 + j, 64 * 64 >> 2 * i)))
    return net.graph(*(net.op("cat", *each, shape=(1, 4 + j, 9000)) for j, each in enumerate(found)))


def exchange() -> Graph:
    """HRNet of two resolutions that read each other twice."""
    net = Net("HRNet", params=2000)
    high, low = stages(net, 2)
    for i in range(2):
        high, low = (net.layer(f"{name}{i}", "Conv2d", x, params=20 + i) for name, x in (("high", high), ("low", low)))
        up, down = resized(net, low, high), net.layer(f"down{i}", "MaxPool2d", high, net.shape(low))
        high, low = net.op("add", high, up), net.op("add", low, down)
    return net.graph(net.op("cat", high, resized(net, low, high)))


def y(box: Box) -> float:
    return (box[1] + box[3]) / 2


def sums(picture: Seen) -> list[Box]:
    """The signs of sums, from above."""
    return sorted(((x - r, y - r, x + r, y + r) for x, y, r in picture.circles), key=y)


def cats(picture: Seen) -> list[Box]:
    """The concatenations, from above."""
    places = [at for said, at in picture.labels if said == "cat"]
    nodes = [n for at in places for n in picture.nodes if n[0] <= middle(at) <= n[2] and n[1] <= at[1] <= n[3]]
    return sorted(nodes, key=y)


def level(*boxes: Box) -> bool:
    return max(map(y, boxes)) - min(map(y, boxes)) < LEVEL


def leads_right(*boxes: Box) -> bool:
    return all(one[2] < other[0] for one, other in pairwise(boxes))


def test_a_pyramid_stands_level_with_its_stages() -> None:
    picture = paper(fpn(4))
    assert faults(picture) == []
    assert crossings(picture) == []
    joined = [*sums(picture), named(picture, "lateral3")]
    for i in range(4):
        row = [named(picture, f"stage{i}"), named(picture, f"lateral{i}"), joined[i], named(picture, f"smooth{i}")]
        assert level(*row), i
        assert leads_right(*row) or i == 3
    assert picture.size[0] < COLUMN


def test_a_ladder_of_many_columns_has_its_facts_in_more_lines() -> None:
    net = Net("Detector", params=2000)
    said = "64, 64, kernel_size=(3, 3), stride=(1, 1), dilation=(2, 2), groups=4"
    joined = pyramid(net, stages(net, 4))
    smooth = [net.layer(f"smooth{i}", "Conv2d", x, said=said, params=30 + i) for i, x in enumerate(joined)]
    heads = [net.layer(f"head{i}", "Conv2d", x, said=said, params=60 + i) for i, x in enumerate(smooth)]
    picture = paper(net.graph(*heads))
    assert faults(picture) == []
    assert crossings(picture) == []
    for i in range(1, 4):
        assert level(*(named(picture, f"{name}{i}") for name in ("stage", "smooth", "head")))
    assert picture.size[0] < 1.05 * COLUMN


def test_what_is_joined_stands_in_one_column() -> None:
    picture = paper(fpn(4))
    columns = [[f"{name}{i}" for i in range(4)] for name in ("stage", "lateral", "smooth")]
    for column in [[named(picture, name) for name in names] for names in columns] + [sums(picture)]:
        assert max(map(middle, column)) - min(map(middle, column)) < LEVEL


def test_heads_stand_below_what_joins_all_levels() -> None:
    picture = paper(detector())
    assert faults(picture) == []
    assert crossings(picture) == []
    boxes, classes, smooth = (named(picture, name) for name in ("box_head", "class_head", "smooth"))
    assert level(boxes, classes)
    assert smooth[3] < boxes[1]
    assert named(picture, "stage3")[3] < boxes[1]
    assert middle(smooth) in (pytest.approx(middle(boxes)), pytest.approx(middle(classes)))


def test_a_neck_in_a_box_is_level_with_what_comes_to_it() -> None:
    picture = paper(fpn(4, in_box=True))
    assert faults(picture) == []
    assert crossings(picture) == []
    neck = titled(picture, "neck")
    for i in range(4):
        stage, lateral = named(picture, f"stage{i}"), named(picture, f"lateral{i}")
        assert level(stage, lateral)
        assert stage[2] < neck[0] < lateral[0]


def test_a_second_way_down_stands_beside_the_way_up() -> None:
    picture = paper(panet())
    assert faults(picture) == []
    assert crossings(picture) == []
    ups, downs = sums(picture), cats(picture)
    for i, up in enumerate(ups):
        assert level(named(picture, f"stage{i}"), named(picture, f"lateral{i}"), up)
    assert leads_right(ups[1], downs[0])
    assert level(named(picture, "lateral2"), downs[1])


def test_a_nested_u_has_a_column_for_each_depth() -> None:
    picture = paper(nested())
    assert faults(picture) == []
    assert leads_right(named(picture, "stage1"), named(picture, "node01"), named(picture, "node02"))
    assert leads_right(named(picture, "stage2"), named(picture, "node11"))
    assert named(picture, "stage1")[1] < named(picture, "node11")[1] < named(picture, "stage3")[3]


def test_a_stage_that_many_read_has_a_line_to_each() -> None:
    picture = paper(nested(3))
    assert faults(picture) == []
    assert picture.tags == 0
    assert leads_right(*(named(picture, name) for name in ("stage1", "node01", "node02", "node03")))
    last = [cats(picture)[i] for i in range(3)]
    assert level(named(picture, "stage1"), *last)


def test_columns_of_all_stages_are_joined_below_them() -> None:
    picture = paper(hypercolumns())
    assert faults(picture) == []
    assert crossings(picture) == []
    for i in range(4):
        assert level(named(picture, f"stage{i}"), named(picture, f"lateral{i}"))
    assert y(named(picture, "cat")) >= y(named(picture, "lateral3")) - LEVEL
    assert named(picture, "head")[1] > named(picture, "cat")[3]


def test_up_and_down_in_a_neck() -> None:
    picture = paper(twice())
    assert faults(picture) == []
    for i, name in enumerate(("stage3", "stage2", "stage1")):
        assert named(picture, name)[2] < named(picture, f"up{i}")[0]
    assert leads_right(named(picture, "up2"), named(picture, "out0"))
    assert [y(named(picture, f"out{i}")) for i in range(3)] == sorted(y(named(picture, f"out{i}")) for i in range(3))
    assert len(crossings(picture)) <= 2  # what is read on both ways crosses the way up


@pytest.mark.parametrize("graph", [heads(), exchange()], ids=["heads", "exchange"])
def test_what_is_no_ladder_is_still_a_figure(graph: Graph) -> None:
    picture = paper(graph)
    assert faults(picture) == []
    assert len(crossings(picture)) <= 2


@pytest.mark.parametrize("width", [150.0, 300.0, 1000.0])
def test_ladders_in_other_rooms(width: float) -> None:
    for graph in (fpn(3), detector(), fpn(4, in_box=True), panet(), nested(), hypercolumns(), twice()):
        assert faults(paper(graph, width=width)) == []


def test_stages_of_one_resolution_are_no_ladder() -> None:
    net = Net("Dense", params=2000)
    kept = [net.layer("stem", "Conv2d", net.input("x", 1, 3, 8, 8), (1, 4, 8, 8))]
    for i in range(3):
        kept.append(net.layer(f"stage{i}", "Conv2d", kept[-1], (1, 5 + i, 8, 8), params=10 + i))
    picture = paper(net.graph(net.op("cat", *kept)))
    assert faults(picture) == []
    assert named(picture, "cat")[1] > named(picture, "stage2")[3]


def test_to_the_right_nothing_is_a_ladder() -> None:
    picture = paper(fpn(3), is_sideways=True)
    assert faults(picture) == []
    assert leads_right(named(picture, "stem"), named(picture, "stage0"))
