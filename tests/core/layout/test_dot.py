"""The text for the engine: exact, complete, and safe whatever the names are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.drawing.engines import NASTY, finish, laid_out, words
from tests.core.graph.building import DEEP, Net, chain, mlp, nested, residual_block, transformer
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import attributes, to_dot
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view

GOLDEN = Path(__file__).parents[2] / "golden"
GRAPHS = {"block": residual_block(), "encoder": transformer(12), "mlp": mlp()}


@pytest.mark.parametrize("name", GRAPHS)
def test_golden(name: str) -> None:
    assert to_dot(make_view(GRAPHS[name])).source == (GOLDEN / f"{name}.gv").read_text(encoding="utf-8")


def test_edges_stand_at_the_root() -> None:
    lines = to_dot(make_view(residual_block())).source.splitlines()
    first_edge = next(i for i, line in enumerate(lines) if "->" in line)
    assert all("->" in line for line in lines[first_edge:-1])
    assert lines[first_edge - 1].strip() in ("}", "{rank=same; n1; n6}") or "n" in lines[first_edge - 1]


def test_shapes_are_said_where_they_change() -> None:
    source = to_dot(make_view(residual_block(), DrawingOptions(depth="all"))).source
    assert source.count('comment="1×16×8×8"') == 2
    assert 'comment="1×' not in to_dot(make_view(residual_block()), show=()).source


def test_steps_alike_say_a_shape_once() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    halves = [net.op("neg", net.op("narrow", x, shape=(1, 2))) for _ in range(2)]
    assert to_dot(make_view(net.graph(*halves))).source.count('comment="1×2"') == 1


def test_axes_of_one_before_a_constant_are_no_news() -> None:
    net = Net()
    table = net.op("unsqueeze", net.value("buffer", (8, 4), "table"), shape=(1, 8, 4))
    source = to_dot(make_view(net.graph(net.op("mul", net.input("x", 2, 8, 4), table)))).source
    assert "1×8×4" not in source


def test_the_name_of_the_model() -> None:
    assert (
        'label="ResNet block · BasicBlock · 3.68 k params '
        in to_dot(make_view(residual_block()), name="ResNet block").source
    )


def test_the_direction() -> None:
    assert "rankdir=LR" in to_dot(make_view(mlp()), direction="LR").source


def test_many_nodes_get_less_care() -> None:
    source = to_dot(make_view(chain(400), DrawingOptions(depth=1))).source
    assert "nslimit=2" in source
    assert 'comment="1×' not in source


def test_a_large_picture_of_one_box_needs_no_ranks_across_boxes() -> None:
    source = to_dot(make_view(chain(400), DrawingOptions(depth=1))).source
    assert "newrank=false" in source
    one, two = (laid_out(text) for text in (source, source.replace("newrank=false", "newrank=true")))
    assert finish(one, uid="p1", title="t", desc="d") == finish(two, uid="p1", title="t", desc="d")


def test_where_boxes_and_rows_of_nodes_depend_on_it_ranks_lead_across_boxes() -> None:
    nested_boxes = to_dot(make_view(transformer(40), DrawingOptions(depth="all", expand=("**",), fold=False)))
    assert "nslimit=2" in nested_boxes.source
    assert "newrank=true" in nested_boxes.source
    net = Net()
    x = net.input("x", 1, 4)
    for _ in range(400):
        x = net.op("sin", x)
    alike = [net.layer(name, "Linear", x) for name in "qk"]
    beside = to_dot(make_view(net.graph(net.op("add", *alike)), DrawingOptions(depth=1)))
    assert "rank=same" in beside.source
    assert "newrank=true" in beside.source


def test_deep_nesting_needs_no_recursion() -> None:
    assert to_dot(make_view(nested(DEEP), DrawingOptions(depth="all"))).source.count("subgraph") == DEEP + 1


def nasty_graph(text: str) -> Graph:
    net = Net(text)
    x = net.input(text, 1, 4)
    with net.call(text, text, text, params=4):
        x = net.layer(f"{text}.fc", text, x, said=text, params=4)
        x = net.op("add", x, net.weight(text, 4))
        x = net.op(text, x, attrs={"1": text})
    return net.graph(x)


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text[:12]))
def test_no_name_harms(text: str) -> None:
    source = to_dot(make_view(nasty_graph(text), DrawingOptions(depth="all")), name=text).source
    assert len(source) < 10_000
    picture = finish(laid_out(source), uid="p1", title=text, desc=text)
    assert "<script" not in picture.svg
    assert len(words(picture.svg)) >= 4


@pytest.mark.parametrize(
    "text", ['"quoted"', "<lambda>", "</svg>", "]]>", "\\N", "a:b:c", "{rec|ord}", "漢字 🙂", "&amp;"]
)
def test_names_are_shown_as_they_are(text: str) -> None:
    picture = finish(laid_out(to_dot(make_view(nasty_graph(text))).source), uid="p1", title="t", desc="d")
    assert text in words(picture.svg)


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ({"class": "linear"}, 'class="linear"'),
        ({"label": ("fc", "3→4")}, r'label="fc\n3→4"'),
        ({"label": 'a "b"'}, r'label="a \"b\""'),
        ({"label": "back\\slash\\"}, r'label="back\\slash\\"'),
        ({"label": "\\N"}, r'label="\\N"'),
        ({"label": "&lt;"}, 'label="&amp;lt;"'),
        ({"label": "<b>"}, 'label="<b>"'),
        ({"label": ""}, 'label=""'),
        ({"shape": "circle", "width": 0.26, "margin": 0}, "shape=circle width=0.26 margin=0"),
        ({"margin": "0.1,0.03"}, 'margin="0.1,0.03"'),
        ({"shape": "a b"}, 'shape="a b"'),
        ({}, ""),
        ({"part": "out.1.0"}, 'part="out.1.0"'),
        ({"part": "node"}, 'part="node"'),
    ],
)
def test_attributes_are_quoted(values: dict[str, str | float | tuple[str, ...]], written: str) -> None:
    assert attributes(values) == written
