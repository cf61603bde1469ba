"""The finished picture: only what is on the list, the same bytes, right without a style sheet."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.drawing.engines import SVG, finish, fixed, laid_out, link, parsed, picture, words
from tests.core.graph.building import Net, chain, mlp, residual_block, transformer
from torchrecorder.errors import EngineError
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import to_dot
from torchrecorder.layout.model import Layout
from torchrecorder.view import make_view

ELEMENTS = {f"{SVG}{name}" for name in ("svg", "title", "desc", "g", "rect", "circle", "path", "text", "tspan", "a")}
ATTRIBUTES = set(
    """
    class role aria-labelledby viewBox style fill font-family font-size text-anchor id d x y width height rx ry cx cy r
    fill-opacity stroke stroke-opacity stroke-width stroke-dasharray font-weight href data-n data-ends
    """.split()  # noqa: SIM905
)
KEYS = st.sampled_from(["bb", "objects", "edges", "pos", "name", "label", "width", "class"])
NUMBERS = re.compile(r"-?\d*\.?\d+")


def check(svg: str) -> None:
    """Nothing that is not on the list, whatever went in."""
    root = parsed(svg)
    for element in root.iter():
        assert element.tag in ELEMENTS
        assert set(element.attrib) <= ATTRIBUTES
        assert not any("url(" in value or "script" in value for value in element.attrib.values())
        assert re.fullmatch(r"torchrecorder:[\w.]*(#\d+)?", element.get("href", "torchrecorder:a"))
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert ids == ["p1-t", "p1-d"]


@pytest.mark.parametrize("graph", [mlp(), residual_block(), transformer(3), chain(30), Net().graph()])
def test_only_what_is_listed(graph: Graph) -> None:
    check(picture(graph).svg)


@pytest.mark.parametrize("graph", [mlp(), residual_block(), transformer(3), chain(30)])
def test_edges_say_what_they_join(graph: Graph) -> None:
    view, found = make_view(graph), list[tuple[str, str]]()
    root = parsed(picture(graph).svg)
    for group in root.iter(f"{SVG}g"):
        if ends := group.get("data-ends"):
            edges = [edge.split() for edge in ends.split(",")]
            lines, heads = (str(path.get("d")).count("M") for path in group)
            assert heads == len(edges)
            assert lines == sum(int(edge[2]) if edge[2:] else 1 for edge in edges)
            found += [(edge[0], edge[1]) for edge in edges]
    assert sorted(found) == sorted((str(edge.tail), str(edge.head)) for edge in view.edges)
    keys = [element.get("data-n") for element in root.iter() if element.get("data-n")]
    assert sorted(map(str, keys)) == sorted([*(str(it.id) for it in view.nodes), *(f"b{it.id}" for it in view.boxes)])


def test_a_file_has_no_keys() -> None:
    assert "data-" not in fixed(picture(residual_block()))


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_text(name: str, cls: str, said: str) -> None:
    net = Net(cls or "Net")
    x = net.layer(name or "a", cls or "Net", net.input(name, 1, 4), said=said)
    svg = laid_out(to_dot(make_view(net.graph(net.op("sin", x))), name=name).source)
    finished = finish(svg, uid="p1", title=name, desc=said)
    check(finished.svg)
    check(fixed(finished).replace(' width="100%"', ""))


ROW = {"name": "n0", "pos": "9,9", "width": "1", "height": "1", "class": "conv"}
EDGE = {"class": "skip", "pos": "e,9,9 1,1 2,2 3,3 4,4"}


def test_nodes_stand_in_the_order_of_the_forward() -> None:
    rows = [{**ROW, "name": f"n{i}", "label": f"word{i}"} for i in (10, 9, 0)]
    svg = finish(json.dumps({"bb": "0,0,9,9", "objects": rows}), uid="p1", title="t", desc="d").svg
    assert re.findall(r"word\d+", svg) == ["word0", "word9", "word10"]


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60), st.sampled_from([*ROW, "label", "comment", "shape", "fontsize", "bb", "lp"]))
def test_anything_an_engine_might_write(noise: str, key: str) -> None:
    box = {"name": "cluster_1", "bb": "0,0,9,9", "lp": "3,3", "label": "</text><script>", "class": "onload"}
    rows = [{**ROW, key: noise}, {**box, key: noise}, {"name": "%3"}, ROW]
    layout = {"bb": "0,0,9,9", "objects": rows, "edges": [EDGE, {**EDGE, key: noise}]}
    try:
        finished = finish(json.dumps(layout), uid="p1", title="t", desc="d")
    except EngineError:
        return
    check(finished.svg)


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(KEYS, x)))
def test_any_json_is_a_picture_or_an_error(data: object) -> None:
    with suppress(EngineError):
        check(finish(json.dumps(data), uid="p1", title="t", desc="d").svg)


@pytest.mark.parametrize(
    "layout",
    [
        "",
        "text",
        "{",
        "{}",
        '{"bb": "a"}',
        '{"bb": "0,0,1"}',
        '{"bb": "0,0,1e99,1"}',
        '{"bb": "0,0,nan,1"}',
        '{"bb": "0,0,9,9", "objects": [{"name": "n0", "pos": "1"}]}',
        '{"bb": "0,0,9,9", "edges": [{"pos": "1,1 2,2"}]}',
        "[" * 100_000,
    ],
)
def test_a_broken_layout_is_an_error(layout: str) -> None:
    with pytest.raises(EngineError, match="cannot be read"):
        finish(layout, uid="p1", title="t", desc="d")


def test_the_uid_is_an_identifier() -> None:
    with pytest.raises(ValueError, match="is not a valid id"):
        finish(Layout(1, 1), uid='x" onload="', title="t", desc="d")


def test_the_same_bytes_each_time() -> None:
    assert picture(transformer(4)) == picture(transformer(4))


def test_it_is_named_for_those_who_do_not_see_it() -> None:
    root = parsed(picture(mlp()).svg)
    assert root.get("role") == "group"
    assert root.get("aria-labelledby") == "p1-t p1-d"
    assert [(child.tag, child.text) for child in root[:2]] == [(f"{SVG}title", "Net"), (f"{SVG}desc", "a net")]
    assert len([*root.iter(f"{SVG}title")]) == 1


def test_numbers_have_one_decimal() -> None:
    svg = picture(transformer(4)).svg
    drawn = " ".join(match for match in re.findall(r' (?:d|x|y|width|height)="([^"]*)"', svg))
    assert all(len(number.partition(".")[2]) <= 1 for number in NUMBERS.findall(drawn))


def test_size_is_that_of_the_drawing_in_pixels() -> None:
    made = picture(mlp())
    box = [float(number) for number in str(parsed(made.svg).get("viewBox")).split()]
    assert made.width == pytest.approx(box[2] * 4 / 3, abs=0.2)
    assert made.height == pytest.approx(box[3] * 4 / 3, abs=0.2)


def test_colours_are_the_pages_own() -> None:
    svg = picture(residual_block()).svg
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg)) <= {
        "none",
        "currentColor",
        *(f"var(--torchrecorder-{kind},{colour})" for kind, colour in _kinds()),
    }


def _kinds() -> list[tuple[str, str]]:
    from torchrecorder.write.look import COLOURS

    return [*COLOURS.items()]


def test_small() -> None:
    view = make_view(transformer(4))
    assert len(link(picture(transformer(4)), {})) < 600 * len(view.nodes)


def test_edges_keep_off_titles() -> None:
    svg = picture(mlp()).svg
    (title,) = [text for text in parsed(svg).iter(f"{SVG}text") if "".join(text.itertext()).startswith("MLP")]
    top, bottom = float(str(title.get("y"))) - 8, float(str(title.get("y")))
    path = next(path for path in parsed(svg).iter(f"{SVG}path") if path.get("fill") == "none")
    starts = [float(start.split()[1]) for start in re.findall(r"M([\d. ]+)[chlv]", str(path.get("d")))]
    assert not any(top < start < bottom for start in starts)
    assert len(starts) == len(make_view(mlp()).edges) + 1


class TestFixed:
    def test_has_no_colour_of_the_page(self) -> None:
        for dark in (False, True):
            svg = fixed(picture(residual_block()), dark=dark)
            assert "currentColor" not in svg
            assert "var(" not in svg
            assert parsed(svg).tag == f"{SVG}svg"

    def test_has_its_own_background_and_size(self) -> None:
        made = picture(mlp())
        root = parsed(fixed(made))
        assert root.get("width") == f"{made.width:.0f}"
        assert next(root.iter(f"{SVG}rect")).get("fill") == "#ffffff"
        assert next(parsed(fixed(made, dark=True)).iter(f"{SVG}rect")).get("fill") == "#16181d"

    def test_text_that_looks_like_a_colour_stays(self) -> None:
        net = Net("currentColor")
        x = net.op("var(--torchrecorder-conv,#3b82c4)", net.input("x", 1))
        made = picture(net.graph(x))
        assert "currentColor" in words(fixed(made))
        assert "var(--torchrecorder-conv,#3b82c4)" in words(fixed(made))
