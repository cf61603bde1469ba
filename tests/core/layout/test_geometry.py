"""Where things lie in finished pictures: nothing lies on what it has nothing to do with."""

from __future__ import annotations

import gc
import json
from time import process_time
from typing import Any

import pytest

from tests.core.drawing.engines import finish, laid_out
from tests.core.drawing.looking import along_borders, faults, seen
from tests.core.graph.building import Net, chain, mlp, nested, residual_block, transformer
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import to_dot
from torchrecorder.layout.geometry import extent
from torchrecorder.layout.layered import arranged
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view


def unet(levels: int) -> Graph:
    """Boxes that go down and up again, with a skip on each level, and titles wider than what is in the box."""
    net = Net("UNetWithQuiteALongName")
    x = net.input("x", 1, 4)
    kept = []
    for i in range(levels):
        with net.call(f"a_long_name_for_down{i}", f"Down{i}", params=1000 + i):
            x = net.op("relu", net.layer(f"a_long_name_for_down{i}.conv", "Conv2d", x, (1, 5 + i)))
        kept.append(x)
    for i in range(levels):
        with net.call(f"up{i}", f"UpWithALongerName{i}", params=2000 + i):
            x = net.op("relu", net.op("cat", net.layer(f"up{i}.conv", "Conv2d", x, (1, 40 + i)), kept.pop()))
    return net.graph(x)


def dense(n: int) -> Graph:
    """Blocks that read everything before them."""
    net = Net("Dense")
    found = [net.input("x", 1, 4)]
    for i in range(n):
        with net.call(f"block{i}", f"Block{i}", params=10):
            x = net.op("cat", *found, shape=(1, 4 * len(found)))
            found.append(net.layer(f"block{i}.fc", "Linear", x, (1, 4)))
    return net.graph(found[-1])


def heads(n: int) -> Graph:
    """One block with many ways through it."""
    net = Net("Heads")
    x = net.input("x", 1, 4)
    with net.call("heads", "Several"):
        made = [net.op("tanh", net.layer(f"heads.{i}", "Linear", x, (1, i + 1))) for i in range(n)]
        x = net.op("cat", *made)
    return net.graph(x, *made[:2])


GRAPHS = {
    "mlp": mlp(),
    "block": residual_block(),
    "encoder": transformer(12),
    "unet": unet(4),
    "deep unet": unet(9),
    "dense": dense(8),
    "heads": heads(7),
    "nested": nested(6),
    "chain": chain(30),
}
WAYS: dict[str, dict[str, Any]] = {
    "downwards": {},
    "to the right": {"direction": "LR"},
    "everything": {"show": ("shapes", "params", "dtypes", "memory", "flops")},
    "unfolded": {"fold": False},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_lies_on_another(name: str, way: str) -> None:
    options = {**WAYS[way]}
    view = make_view(GRAPHS[name], DrawingOptions(depth="all", fold=bool(options.pop("fold", True))))
    svg = finish(laid_out(to_dot(view, **options).source), uid="p1", title="t", desc="d").svg
    assert faults(seen(svg)) == []
    assert len(seen(svg).nodes) + len(seen(svg).circles) == len(view.nodes)
    assert len(seen(svg).edges) >= len(view.edges)


def test_nothing_lies_on_another_in_a_real_model() -> None:
    from torch import nn, zeros

    from torchrecorder.recording.run import capture

    model = nn.Transformer(16, 4, 2, 3, 32, batch_first=True)
    view = make_view(capture(model, (zeros(1, 5, 16), zeros(1, 3, 16))))
    assert faults(seen(finish(laid_out(to_dot(view).source), uid="p1", title="t", desc="d").svg)) == []


def attentive(n: int) -> Graph:
    """Transformer blocks, whose skips pass beside boxes, and long names."""
    net = Net("Attentive")
    x = net.op("add", net.input("x", 1, 8), net.weight("a.long_name_of_a_position.in_the_model", 1, 8))
    for i in range(n):
        with net.call(f"h.{i}", "Block", params=100):
            y = net.layer(f"h.{i}.ln_1", "LayerNorm", x)
            with net.call(f"h.{i}.attn", "Attention", params=60):
                y = net.layer(f"h.{i}.attn.a_projection_with_a_long_name", "Linear", net.op("softmax", y))
            x = net.op("add", x, y)
            with net.call(f"h.{i}.mlp", "MLP", params=40):
                y = net.layer(f"h.{i}.mlp.2", "Linear", net.op("gelu", net.layer(f"h.{i}.mlp.0", "Linear", x)))
            x = net.op("add", x, y)
    return net.graph(x)


@pytest.mark.parametrize("way", WAYS)
def test_skips_keep_off_the_borders_of_boxes(way: str) -> None:
    options = {**WAYS[way]}
    view = make_view(attentive(3), DrawingOptions(depth="all", fold=bool(options.pop("fold", True))))
    picture = seen(finish(laid_out(to_dot(view, **options).source), uid="p1", title="t", desc="d").svg)
    assert faults(picture) == []
    assert along_borders(picture) == []


NODE = {"name": "n0", "pos": "50,50", "width": "1", "height": "0.5", "class": "conv", "label": "a"}
BOX = {"name": "cluster_0", "bb": "0,0,100,100", "lp": "50,90", "label": "title · Class"}
THROUGH = {"pos": "50,5 50,30 50,60 50,99"}
BENT = {"pos": "20,1 20,40 60,40 60,70 60,90 30,90 30,99"}


@pytest.mark.parametrize("edge", [THROUGH, BENT], ids=["straight", "bent"])
def test_an_edge_that_was_led_through_something_passes_behind_it(edge: dict[str, str]) -> None:
    layout = {"bb": "0,0,100,100", "objects": [NODE, BOX], "edges": [edge]}
    picture = seen(finish(json.dumps(layout), uid="p1", title="t", desc="d").svg)
    assert faults(picture) == []
    assert len(picture.edges) > 1


def row_of(n: int, *, is_wide: bool) -> str:
    """What an engine writes of a chain without boxes."""

    def at(along: float, across: float = 18.0) -> str:
        return f"{along},{across}" if is_wide else f"{across},{along}"

    nodes = [{**NODE, "name": f"n{i}", "pos": at(100 * i), "width": "0.5", "_gvid": i} for i in range(n)]
    steps = [" ".join(at(100 * i + by) for by in (20, 40, 60, 80)) for i in range(n - 1)]
    size = f"0,0,{at(100 * n, 36)}"
    return json.dumps({"bb": size, "objects": nodes, "edges": [{"pos": step} for step in steps]})


def test_a_wide_picture_costs_no_more_than_a_high_one() -> None:
    """Asking each edge about all nodes would cost the square of their number."""

    def cost(layout: str) -> float:
        gc.disable()  # a collection among all that other tests left costs more than a picture
        begun = process_time()
        finish(layout, uid="p1", title="t", desc="d")
        gc.enable()
        return process_time() - begun

    wide, high = (row_of(2000, is_wide=is_wide) for is_wide in (True, False))
    assert min(cost(wide) for _ in range(3)) < 2 * min(cost(high) for _ in range(3))


def test_faults_are_found() -> None:
    """A test of the test: the same edge in front, and two texts at one place."""
    layout = {"bb": "0,0,100,100", "objects": [NODE, {**NODE, "name": "n1"}, BOX], "edges": [THROUGH]}
    picture = seen(finish(json.dumps(layout), uid="p1", title="t", desc="d").svg)
    picture.edges.append([(54.5, 5.0), (54.5, 15.0), (54.5, 54.5)])
    found = "\n".join(faults(picture))
    assert "runs through the node" in found
    assert "'a' lies on 'a'" in found
    picture.size = (20.0, 20.0)
    assert "leaves the picture" in "\n".join(faults(picture))


@pytest.mark.parametrize(
    ("points", "wider", "higher"),
    [
        ("50,20 50,40 50,60 50,80", 0, 0),
        ("50,20 250,20 250,80 50,80", 100, 0),
        ("50,20 -150,20 -150,80 50,80", 100, 0),
        ("20,50 20,-90 80,-90 80,50", 0, 55),
        ("20,50 20,190 80,190 80,50", 0, 55),
    ],
)
@pytest.mark.parametrize("kind", ["", "skip"])
def test_a_picture_has_room_for_edges_that_bow_out_of_it(points: str, wider: int, higher: int, kind: str) -> None:
    node = {"_gvid": 0, "name": "n0", "pos": "50,50", "width": "0.2", "height": "0.2", "label": "a"}
    edge = {"_gvid": 0, "tail": 0, "head": 0, "pos": points, "class": kind}
    layout = arranged(json.dumps({"bb": "0,0,100,100", "objects": [node], "edges": [edge]}))
    usual = arranged(json.dumps({"bb": "0,0,100,100", "objects": [node]}))
    around_edge = extent([layout.lines[0].curve])
    assert around_edge is not None
    assert min(around_edge.left, around_edge.top) > 0
    assert around_edge.right < layout.width
    assert around_edge.bottom < layout.height
    assert layout.width - usual.width == pytest.approx(wider, abs=5)
    assert layout.height - usual.height == pytest.approx(higher, abs=5)
    (left, top, *_), (before, above, *_) = layout.nodes[0].rect, usual.nodes[0].rect
    assert (left - before > 50) == (points.startswith("50,20 -150"))
    assert (top - above > 50) == (points.endswith("80,190 80,50"))
