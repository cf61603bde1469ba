"""A user's own look: what it may change, what it may not, and what it is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.drawing.engines import NASTY, SVG, finish, laid_out, parsed, words
from tests.core.graph.building import residual_block, transformer
from tests.core.write.test_svg import check
from torchrecorder.drawing import StyledNode, Styler
from torchrecorder.drawing.styler import check_styles, styler_input
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.layout.dot import to_dot
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.request.stylers import StylerInput
from torchrecorder.view import make_view
from torchrecorder.worker.styling import StylerRaised, run_styler

GRAPH = residual_block()


def asked(graph: Graph = GRAPH) -> StylerInput:
    view = make_view(graph, DrawingOptions(depth="all"))
    return styler_input(view, Labels(view))


def drawn(styler: Any, graph: Graph = GRAPH) -> str:
    picture = asked(graph)
    styles, problems = check_styles(run_styler(styler, picture), picture)
    assert problems == []
    source = to_dot(make_view(graph, DrawingOptions(depth="all")), styles=[styles]).source
    svg = finish(laid_out(source), uid="p1", title="t", desc="d").svg
    check(svg)
    return svg


def problems(**attributes: object) -> list[str]:
    class Wrong(Styler):
        def style_node(self, node: StyledNode) -> dict[str, object]:
            return attributes

    picture = asked()
    return check_styles(run_styler(Wrong, picture), picture)[1]


def test_what_a_styler_is_told() -> None:
    picture = asked(transformer(12))
    (query,) = (node for node in picture.nodes if node.path == "blocks.0.attn.q")
    linear = "torch.nn.modules.linear.Linear"
    assert query == StyledNode("linear", "q\nLinear 32→32", "blocks.0.attn.q", linear, params=1056, shape=(1, 8, 32))
    assert next(node for node in picture.nodes if node.op).op == "torch.matmul"
    block = next(box for box in picture.boxes if box.path == "blocks.0")
    assert (block.kind, block.cls, block.repeat) == ("box", "pkg.Block", 12)
    assert all(picture.nodes[head].kind for _, head in picture.edges)


def test_a_styler_that_changes_nothing_changes_nothing() -> None:
    plain = finish(
        laid_out(to_dot(make_view(GRAPH, DrawingOptions(depth="all"))).source), uid="p1", title="t", desc="d"
    ).svg
    assert drawn(Styler) == plain


def test_colours_lines_and_labels() -> None:
    class Mine:
        def style_node(self, node: StyledNode) -> dict[str, object] | None:
            if node.kind == "conv":
                return {"fillcolor": "Navy", "penwidth": 2, "label": f"{node.path}\nmine"}
            if node.kind == "norm":
                return {"color": "#F00", "style": "dashed", "fontcolor": "teal"}
            return {"fillcolor": "orange", "label": "my box"} if node.kind == "box" else None

        def style_edge(self, tail: StyledNode, head: StyledNode) -> dict[str, object]:
            return {"color": "red", "penwidth": "1.5", "style": "dotted"} if tail.kind == "conv" else {}

    svg = drawn(Mine())
    assert {"conv1", "mine", "my box"} <= set(words(svg))
    rects = [rect.attrib for rect in parsed(svg).iter(f"{SVG}rect")]
    navy = [rect for rect in rects if rect.get("fill") == "#000080"]
    assert len(navy) == 3
    assert navy[0]["stroke-width"] == "2"
    assert "fill-opacity" not in navy[0]
    assert 'fill="#ffffff" stroke="none">conv1</text>' in svg  # white is seen on navy
    assert sum(rect.get("stroke") == "#ff0000" and rect.get("stroke-dasharray") == "5 3" for rect in rects) == 3
    assert 'fill="#008080" stroke="none">bn1</text>' in svg
    assert any(rect.get("fill") == "#ffa500" and rect.get("fill-opacity") == ".2" for rect in rects)
    assert re.search(r'stroke="#ff0000" stroke-opacity="1" stroke-width="1.5" stroke-dasharray="1.5 2"', svg)


def test_one_method_is_enough() -> None:
    class Edges:
        def style_edge(self, tail: StyledNode, head: StyledNode) -> dict[str, object]:
            return {"color": "#123456"}

    assert 'stroke="#123456"' in drawn(Edges)


def test_problems_are_told_at_once_each_once() -> None:
    assert problems(fillcolor="orang", penwidt=3, image="x.png", penwidth=99) == [
        "style_node for 'x\\n1×8×16×16' gave fillcolor='orang': write #rrggbb or the name of a colour; "
        "did you mean orange?",
        "style_node for 'x\\n1×8×16×16' gave the attribute 'penwidt', did you mean penwidth?",
        "style_node for 'x\\n1×8×16×16' gave the attribute 'image', the known ones are label, fillcolor, fontcolor, "
        "color, penwidth, style",
        "style_node for 'x\\n1×8×16×16' gave penwidth=99: a width in points is expected, at most 6",
    ]


@pytest.mark.parametrize("name", ["image", "URL", "href", "shapefile", "fontname", "stylesheet", "tooltip", "id", 3])
def test_other_attributes_are_refused(name: Any) -> None:
    (problem,) = problems(**{name: "x"}) if isinstance(name, str) else _problems_of({name: "x"})
    assert f"gave the attribute {name!r}, " in problem


def _problems_of(answer: object) -> list[str]:
    picture = asked()
    nodes = [answer, *[{}] * (len(picture.nodes) - 1)]
    rows = {"nodes": nodes, "boxes": [{}] * len(picture.boxes), "edges": [{}] * len(picture.edges)}
    return check_styles(rows, picture)[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("color", 'red" onload="x'),
        ("color", "url(#x)"),
        ("color", "javascript:x"),
        ("fillcolor", "#12345"),
        ("fillcolor", None),
        ("fontcolor", "red;x:y"),
        ("penwidth", float("nan")),
        ("penwidth", -1),
        ("penwidth", 10**400),
        ("penwidth", "x"),
        ("style", "filled"),
        ("style", ["dashed"]),
        ("label", ""),
        ("label", 3),
    ],
)
def test_values_that_cannot_be_drawn(name: str, value: object) -> None:
    (problem,) = problems(**{name: value})
    assert f" gave {name}=" in problem


@pytest.mark.parametrize("answer", [3, "red", ["color"], b"x"])
def test_an_answer_that_is_no_mapping(answer: object) -> None:
    (problem,) = _problems_of(answer)
    assert "attributes by name are expected" in problem


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text[:12]))
def test_a_label_is_text(text: str) -> None:
    class Labelled(Styler):
        def style_node(self, node: StyledNode) -> dict[str, object]:
            return {"label": text}

    assert "<script" not in drawn(Labelled)


VALUES = st.none() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(["red", "#abc", "dashed"])
NAMES = st.sampled_from(["label", "fillcolor", "color", "fontcolor", "penwidth", "style", "image", ""])
ROWS = st.dictionaries(NAMES, VALUES, max_size=4) | VALUES


@settings(max_examples=60)
@given(st.lists(ROWS, min_size=12, max_size=12), st.lists(ROWS, min_size=13, max_size=13), ROWS)
def test_any_answer_is_a_picture_or_problems(nodes: list[Any], edges: list[Any], box: Any) -> None:
    view = make_view(GRAPH)
    picture = asked()
    n, m = len(picture.nodes), len(picture.edges)
    rows = {"nodes": (nodes * n)[:n], "boxes": [box] * len(picture.boxes), "edges": (edges * m)[:m]}
    styles, _ = check_styles(rows, picture)
    check(finish(laid_out(to_dot(view, styles=[styles]).source), uid="p1", title="t", desc="d").svg)


@settings(max_examples=40)
@given(st.recursive(VALUES, lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=5), x, max_size=3)))
def test_any_data_in_place_of_an_answer_is_refused(data: Any) -> None:
    assert check_styles(data, asked())[1] == ["no answer"]


def test_a_styler_that_raises_says_where() -> None:
    class Raises(Styler):
        def style_node(self, node: StyledNode) -> dict[str, object]:
            raise KeyError(node.kind)

    with pytest.raises(StylerRaised, match=r"style_node for .* raised KeyError: 'io'") as caught:
        run_styler(Raises(), asked())
    assert "raise KeyError(node.kind)" in caught.value.trace


def test_what_is_no_styler() -> None:
    with pytest.raises(StylerRaised, match="int has no method style_node or style_edge"):
        run_styler(3, asked())
    with pytest.raises(StylerRaised, match="creating it raised TypeError"):
        run_styler(type("Needs", (), {"__init__": lambda self, width: None}), asked())
