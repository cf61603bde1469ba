"""Loops and calls of one module in what every writer writes: dashes, words, titles, tags."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from tests.core.drawing.engines import finish, laid_out, words
from tests.core.drawing.looping import LOOPS, greedy, runge_kutta, sampling, twins
from tests.core.graph.building import chain, mlp, residual_block, transformer
from tests.core.write.safe import is_safe
from torchrecorder.drawing.details import details
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.layout.dot import to_dot
from torchrecorder.layout.model import Layout
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.request import DrawingOptions
from torchrecorder.view import View, make_view
from torchrecorder.write import mermaid
from torchrecorder.write.pdf import to_png
from torchrecorder.write.svg import neutral
from torchrecorder.write.tikz import to_tikz

UID = "tr-000000000000"


def layered(view: View) -> str:
    return finish(laid_out(to_dot(view).source), uid=UID, title="t", desc="d").svg


def drawn(view: View) -> Layout:
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    return finish(placed, uid=UID, title="t", desc="d").layout


def paper(view: View) -> str:
    return neutral(drawn(view))


def tags(svg: str) -> list[str]:
    return re.findall(r"<title>shared</title><path fill=\"var\(--torchrecorder-(\w+),", svg)


@pytest.mark.parametrize("draws", [layered, paper])
def test_lines_back_are_dashed_and_said_once(draws: object) -> None:
    assert callable(draws)
    svg = draws(greedy())
    (backs,) = re.findall(r'<g class="backs" data-ends="([^"]*)"><path [^>]*stroke-dasharray="[\d. ]+"', svg)
    assert sorted(" ".join(edge.split(" ")[:2]) for edge in backs.split(",")) == ["2 2", "4 1"]
    assert words(svg).count("next step") == 1
    assert is_safe(svg)


@pytest.mark.parametrize("name", LOOPS)
def test_lines_back_rank_nothing_in_the_layered_layout(name: str) -> None:
    view = LOOPS[name]()
    edges = [line for line in to_dot(view).source.splitlines() if "->" in line and "invis" not in line]
    assert [("constraint=false" in line, 'class="back' in line) for line in edges] == [
        (edge.back, edge.back) for edge in view.edges
    ]
    assert layered(view).count('class="backs"') == 1


def test_a_loop_says_how_many_turns_it_has() -> None:
    view = greedy()
    labels = Labels(view)
    assert labels.box(view.boxes[1]) == "each step ×3"
    assert labels.cls(view.boxes[1]) == ""
    assert [labels.node(view.nodes[n]).name for n in (1, 2, 3)] == ["emb", "cell", "out"]


def test_places_of_one_module_in_a_loop_have_no_numbers_of_calls() -> None:
    view = runge_kutta()
    labels = Labels(view)
    lines = [labels.node(node).line for node in view.nodes if node.kind == "call"]
    assert [line.rpartition("2→2 · ")[2] for line in lines] == ["shared"] * 4


@pytest.mark.parametrize("draws", [layered, paper])
def test_each_shared_module_has_a_tag_of_its_own(draws: object) -> None:
    assert callable(draws)
    view = make_view(twins(), DrawingOptions(depth=3, fold=False))
    svg = draws(view)
    # two nodes each, and two boxes, in which nothing has a tag again
    assert sorted(tags(svg)) == ["shared1"] * 2 + ["shared2"] * 2 + ["shared3"] * 2
    forms = dict(re.findall(r'--torchrecorder-(shared\d)[^>]* d="M[-\d.]+ [-\d.]+([^"]*)"', svg))
    assert len({*forms.values()}) == 3
    assert is_safe(svg)


@pytest.mark.parametrize("graph", [mlp(), residual_block(), transformer(3), chain(4)])
def test_pictures_without_loops_and_shared_modules_have_neither(graph: Graph) -> None:
    svg = layered(make_view(graph))
    assert "backs" not in svg
    assert "shared" not in svg


def test_the_details_of_a_loop_are_where_it_runs_and_how_often() -> None:
    rows = json.loads(details(sampling()))
    assert rows["b1"] == ["/each step", "", "", "", "", "", "", "", 3]
    assert rows["b2"][0] == "unet"


def test_tikz_has_dashes_and_tags() -> None:
    text = to_tikz(drawn(runge_kutta()))
    (style,) = re.findall(r"tr/back/\.style=\{([^}]*(?:\{[^}]*\})?[^}]*)\}", text)
    assert "dash pattern=on 3.5bp off 2.5bp" in style
    assert text.count("\\draw[tr/back, tr/to]") == 5
    assert len(re.findall(r"\\fill\[trshared1\]", text)) == 4
    assert "next step" in text


def test_mermaid_has_dots_and_the_word() -> None:
    view = greedy()
    text = "\n".join(mermaid._lines(view, DrawingOptions(), []))
    assert '  n4 -.->|"next step"| n1' in text
    assert '  n2 -.->|"next step"| n2' in text
    assert 'subgraph b1["each step ×3"]' in text


def test_png_is_dashed() -> None:
    pytest.importorskip("pypdfium2")
    layout = drawn(greedy())
    lines = [line._replace(flags=line.flags - {"back"}) for line in layout.lines]
    assert lines != layout.lines
    assert to_png(replace(layout, lines=lines)) != to_png(layout)
