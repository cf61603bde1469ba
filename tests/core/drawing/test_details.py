"""What a page can tell of each node: the rows that a drawing carries."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.core.graph.building import Net, chain, mlp, residual_block, transformer
from torchrecorder.drawing.details import details
from torchrecorder.drawing.model import Drawing
from torchrecorder.graph import Graph
from torchrecorder.layout.model import Layout
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view


def rows(graph: Graph, **options: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(details(make_view(graph, DrawingOptions(**options))))
    return found


@pytest.mark.parametrize("depth", [0, 1, "all"])
@pytest.mark.parametrize("graph", [mlp(), residual_block(), transformer(3), chain(30)])
def test_every_layer_and_op_has_a_row(graph: Graph, depth: Any) -> None:
    view = make_view(graph, DrawingOptions(depth=depth))
    found = rows(graph, depth=depth)
    assert {f"b{box.id}" for box in view.boxes} <= found.keys()
    assert {str(node.id) for node in view.nodes if node.kind in ("call", "op", "input", "output")} <= found.keys()
    for node in view.nodes:
        if node.kind == "call":
            assert found[str(node.id)][0].partition("~")[0] == graph.calls[node.calls[0]].module
    assert all(row[-1] for row in found.values() if row)


def test_sizes_that_may_follow_the_batch_are_not_said() -> None:
    net = Net()
    x = net.input("x", 2, 7)
    graph = replace(net.graph(net.op("sin", net.op("getitem", x, shape=(2, 9)))), batch={x: (0,)})
    found = json.dumps(rows(graph), ensure_ascii=False)
    assert "N×7" in found
    assert "×9" not in found


def test_a_layer_tells_its_class_settings_numbers_and_shapes() -> None:
    net = Net("Net")
    said = "8, 4, kernel_size=(3, 3), bias=True, momentum=0.2"
    out = net.layer("head", "Conv2d", net.input("x", 1, 8), said=said, params=1234)
    (row,) = [row for row in rows(net.graph(out)).values() if row[0] == "head"]
    assert row[1] == "torch.nn.Conv2d"
    assert row[2] == "8, 4, kernel_size=(3, 3), momentum=0.2", "usual settings are left out"
    assert row[3] == "1.23 k"
    assert row[5] == "1×8"


def test_ops_of_one_name_in_a_layer_are_numbered() -> None:
    net = Net("Net")
    x = net.input("x", 1, 4)
    y = net.op("sin", net.op("sin", x))
    paths = [row[0] for row in rows(net.graph(y)).values()]
    assert {"/sin", "/sin~2", "/x"} <= {*paths}


def test_a_node_of_several_parts_tells_each_of_them() -> None:
    net = Net("Net")
    x = net.layer("conv", "Conv2d", net.input("x", 1, 3, 8, 8), (1, 4, 8, 8), said="3, 4", params=112)
    x = net.layer("bn", "BatchNorm2d", x, said="4", params=8)
    (row,) = [row for row in rows(net.graph(x), depth=1).values() if row[0] == "conv"]
    assert row[-1].splitlines() == ["conv", "bn torch.nn.BatchNorm2d 4 8 params"]


def test_paths_are_the_same_at_every_depth() -> None:
    graph = transformer(3)
    shown = [{row[0] for row in rows(graph, depth=depth, fold=False).values()} for depth in (1, 2, "all")]
    assert "blocks.0" in shown[0] & shown[1] & shown[2]
    assert {path for path in shown[0] if not path.startswith("/")} <= shown[1] | shown[2]


def test_a_damaged_table_is_not_a_drawing() -> None:
    layout = Layout(1.0, 1.0, titles=[], uid="tr-0123456789ab")
    drawing = Drawing(layout, "t", "a", details='{"0":["x"]}')
    assert Drawing.from_bytes(drawing.to_bytes()) == drawing
    for wrong in ("{", "[1]", '{"0":1}', 3):
        assert Drawing.from_bytes(replace(drawing, details=wrong).to_bytes()) is None  # type: ignore[arg-type]


def test_the_model_tells_what_its_author_may_want_to_know() -> None:
    graph = mlp()
    noted = replace(graph, info=replace(graph.info, notes=("one branch was taken", "the forward ran elsewhere")))
    for depth in (0, 1):
        (first, *rest) = json.loads(details(make_view(noted, DrawingOptions(depth=depth)))).values()
        assert first[10] == "one branch was taken\nthe forward ran elsewhere"
        assert all(len(row) < 11 for row in rest)
