"""What stands in a figure of a page, and the files that pages need besides."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pytest

from tests.core.graph.building import Net, mlp, nested, residual_block, transformer
from tests.mkdocs_ext.seeing import see
from torchrecorder.drawing.draw import MAX_NESTED, DrawJob, draw
from torchrecorder.drawing.model import MAX_NESTED_BYTES, Drawing
from torchrecorder.engine import find_engine
from torchrecorder.graph import Graph
from torchrecorder.page import Diagram
from torchrecorder.page.figure import CopyNumbers
from torchrecorder.page.words import ASSETS, MODELS_SCRIPT, SCRIPT, STYLE
from torchrecorder.request import DrawingOptions, FigureOptions
from torchrecorder.write.svg import neutral


def drawn(graph: Graph, digest: str = "0123456789ab", **options: Any) -> Diagram:
    (drawing,) = draw([DrawJob(graph, digest, DrawingOptions(**options))], find_engine("auto"))
    assert isinstance(drawing, Drawing)
    return Diagram(drawing, load_graph=lambda: graph)


def switched(graph: Graph, *depths: int) -> Diagram:
    return Diagram.of_depths([(str(depth), drawn(graph, f"{depth:012x}", depth=depth)) for depth in depths])


def html(diagram: Diagram, *, copy: int = 1, urls: Mapping[str, str] | None = None, **options: Any) -> str:
    text = CopyNumbers().contents(diagram, FigureOptions(**options), copy=copy, urls=urls or {})
    seen = see(text)
    assert (seen.wrong, seen.twice) == ([], set())
    addresses = (str(it.attributes.get("href") or it.attributes.get("xlink:href") or "") for it in seen.elements)
    targets = {unquote(address[1:]) for address in addresses if address.startswith("#")}
    assert targets <= {element.attributes.get("id") for element in seen.elements}
    return text


def test_a_picture_alone() -> None:
    text = html(drawn(mlp()))
    assert text.startswith('<div class="torchrecorder-views torchrecorder-zoom" id="MLP:"><div')
    assert "inside" not in text
    without = html(drawn(mlp()), zoom=False)
    assert without.startswith('<div class="torchrecorder-picture" style="--torchrecorder-width:')
    assert "data-details" not in without


def test_a_width_takes_the_place_of_the_natural_one() -> None:
    text = html(drawn(mlp()), width="50%")
    assert "--torchrecorder-width" not in text
    assert "width:50%;max-width:100%" in text


def test_a_picture_in_a_file() -> None:
    diagram = drawn(mlp(), table=True)
    files = {diagram.without_foot().standalone_svg(): "../net.svg"}
    options = FigureOptions(loading="lazy", height="200px", alt='A "net"')
    text = CopyNumbers().contents(diagram, options, save=files.__getitem__)
    style = "width:auto;max-width:100%;height:200px"
    assert text.startswith(f'<img src="../net.svg" alt="A &quot;net&quot;" loading="lazy" style="{style}">')
    assert "<summary>Layers as a table</summary>" in text
    alone = html(diagram, loading="link")
    assert alone.startswith('<img src="data:image/svg+xml;base64,')
    assert "loading=" not in alone


def test_a_closed_layer_leads_to_its_inside_and_back() -> None:
    diagram = drawn(transformer(2), depth=1)
    assert [inside.path for inside in diagram.drawing.nested][:1] == ["blocks.0"]
    text = html(diagram)
    model = diagram.facts["model"]
    assert f'<a class="door" xlink:href="#{model}:blocks.0/" id="{model}:blocks.0"' in text
    assert f'id="{model}:blocks.0/" tabindex="-1" role="group" aria-label="blocks.0"' in text
    assert f'<a href="#{model}:blocks.0">' in text


def test_the_same_diagram_twice_in_a_page_has_different_ids() -> None:
    diagram = drawn(transformer(2), depth=1)
    seen = see(html(diagram) + html(diagram, copy=2))
    assert seen.twice == set()


def test_no_insides_without_zoom_or_style_sheet() -> None:
    diagram = drawn(transformer(2), depth=1)
    for text in (html(diagram, zoom=False), CopyNumbers().contents(diagram, FigureOptions(), can_hide=False)):
        assert "door" not in text
        assert text.count("<svg") == 1


def test_addresses_of_layers_do_not_change_with_the_model() -> None:
    first, second = (html(drawn(transformer(2), digest, depth=1), name="fig net") for digest in ("0" * 12, "1" * 12))
    assert ids(first) == ids(second)
    assert ids(first) >= {"fig-net:", "fig-net:blocks.0", "fig-net:blocks.0/"}


def ids(text: str) -> set[str]:
    found = {element.attributes.get("id") or "" for element in see(text).elements}
    return {one for one in found if not one.startswith("tr-")}


def test_layers_of_a_switch_open_too_each_once() -> None:
    diagram = switched(transformer(2), 0, 1)
    assert [depth for depth, _ in diagram.depths] == ["0", "1"]
    text = html(diagram)
    paths = {one.path for drawing in diagram.drawings for one in drawing.nested}
    model = diagram.facts["model"]
    opened = re.findall(rf'class="torchrecorder-inside" id="{model}:([^"]*)/"', text)
    assert sorted(opened) == sorted(paths)
    assert f'<a class="door" xlink:href="#{model}:blocks.0/"' in text.partition("torchrecorder-inside")[0]


def test_a_page_carries_the_details_of_every_picture() -> None:
    for diagram in (drawn(mlp()), drawn(transformer(2), depth=1), switched(transformer(2), 0, 1, 2)):
        seen = see(html(diagram))
        details = [json.loads(it.attributes["data-details"] or "") for it in seen.all("div", "torchrecorder-picture")]
        pictures = [it for it in seen.elements if it.tag == "svg"]
        assert len(details) == len(pictures)
        keys = {it.attributes["data-n"] for it in seen.elements if "data-n" in it.attributes}
        assert keys == {key for rows in details for key in rows}


def test_what_has_no_inside_is_no_door() -> None:
    assert drawn(mlp(), depth=1).drawing.nested == ()
    assert drawn(residual_block(), depth="all").drawing.nested == ()


def test_a_layer_that_is_closed_keeps_the_link_to_its_class_if_it_has_no_inside() -> None:
    diagram = drawn(transformer(2), depth=1)
    assert diagram.drawing.nested
    text = html(diagram, urls={"pkg.Block": "api.html#block"}, zoom=False)
    assert 'xlink:href="api.html#block"' in text


def test_insides_of_insides_say_the_way() -> None:
    diagram = drawn(transformer(2), depth=0)
    ways = re.findall(r'<p class="torchrecorder-path">(.*?)</p>', html(diagram))
    plain = [re.sub("<[^>]*>", "", way) for way in ways]
    assert all(way.startswith(f"{diagram.facts['model']} › ") for way in plain)
    assert all(
        one.parent is None or one.parent in {other.call for other in diagram.drawing.nested}
        for one in diagram.drawing.nested
    )


def test_insides_are_bounded_in_number_and_bytes() -> None:
    net = Net("Wide")
    x = net.input("x", 1, 4)
    for i in range(40):
        with net.call(f"b{i}", f"Block{i}"):
            x = net.layer(f"b{i}.b", "MaxPool2d", net.layer(f"b{i}.a", "Linear", x))
    many = drawn(net.graph(x), depth=1).drawing.nested
    assert len(many) == MAX_NESTED
    for graph in (net.graph(x), nested(60), transformer(3)):
        assert sum(len(neutral(inside.layout)) for inside in drawn(graph, depth=1).drawing.nested) <= MAX_NESTED_BYTES


def test_a_drawing_survives_the_cache() -> None:
    drawing = drawn(transformer(2), depth=1, table=True).drawing
    assert drawing.nested
    assert drawing.table
    assert Drawing.from_bytes(drawing.to_bytes()) == drawing
    facts = json.loads(drawing.to_bytes())
    assert Drawing.from_bytes(json.dumps({**facts, "nested": [[1]]}).encode()) is None


def test_the_switch_has_a_button_for_each_depth() -> None:
    seen = see(html(switched(transformer(2), 0, 1, 2)))
    inputs = [element.attributes for element in seen.elements if element.tag == "input"]
    assert [one["value"] for one in inputs] == ["0", "1", "2"]
    assert ["checked" in one for one in inputs] == [True, False, False]
    assert len({one["name"] for one in inputs}) == 1
    assert [element.text for element in seen.elements if element.tag == "legend"] == ["Depth"]


def test_depths_that_show_the_same_are_one() -> None:
    diagram = switched(mlp(), 1, 2, 3)
    assert diagram.depths == ()
    assert "<fieldset" not in html(diagram)
    assert [depth for depth, _ in switched(residual_block(), 0, 1, 2, 3).depths] == ["0", "1", "2"]


def test_a_switch_is_bounded_and_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchrecorder.page.diagram.MAX_BYTES", 2000)
    diagram = switched(transformer(2), 0, 1, 2, 3)
    assert 0 < len(diagram.drawings) < 4
    assert any("too large for the switch" in note for note in diagram.notes)


def test_the_table() -> None:
    diagram = drawn(transformer(3), table=True)
    seen = see(html(diagram))
    cells = [element.text for element in seen.elements if element.tag == "th"]
    assert cells == ["Layer", "Name", "Class", "Output", "Parameters", "FLOPs"]
    rows = [element.text for element in seen.elements if element.tag == "tr"]
    assert len(rows) == 1 + len(diagram.table)
    assert any("×3" in row for row in rows)
    assert "<table" not in html(drawn(transformer(3)))


@pytest.mark.parametrize("name", ['a"><script>', "<b>", "x&y", "é\u202e"])
def test_names_are_text_everywhere(name: str) -> None:
    net = Net("Net")
    x = net.input("x", 1, 4)
    with net.call(name, "Block"):
        x = net.layer(f"{name}.b", "ReLU", net.layer(f"{name}.a", "Linear", x))
    text = html(drawn(net.graph(x), depth=1, table=True))
    assert "<script" not in text
    assert "<b>" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(("name", "most"), [(SCRIPT, 6200), (MODELS_SCRIPT, 1200)])
def test_the_script_is_small_and_asks_nobody(name: str, most: int) -> None:
    script = (ASSETS / name).read_bytes()
    assert len(gzip.compress(script)) <= most
    assert not re.search(rb"https?:(?!//www.w3.org/(2000/svg|1999/xlink))|import|fetch|eval|innerHTML", script)


def test_the_sheet_loads_nothing() -> None:
    assert not re.search("url\\(|@import", (ASSETS / STYLE).read_text(encoding="utf-8"))


def test_the_folder_of_assets_holds_nothing_else() -> None:
    assert sorted(file.name for file in ASSETS.iterdir()) == sorted([SCRIPT, STYLE, MODELS_SCRIPT])


def test_a_picture_of_a_switch_stands_alone_in_the_same_page() -> None:
    graph = nested(3)
    switch, alone, other = switched(graph, 1, 2), drawn(graph, f"{2:012x}", depth=2), drawn(mlp())
    copies = CopyNumbers()
    numbers = [(diagram, copies.add(diagram)) for diagram in (switch, alone, other, switch)]
    assert [number for _, number in numbers] == [1, 2, 1, 3]
    assert copies.add(drawn(mlp(), "f" * 12)) == 2, "other pictures of the same model"
    assert copies.add(drawn(mlp(), "e" * 12), "of its own name") == 1
    page = see("".join(CopyNumbers().contents(diagram, FigureOptions(), copy=number) for diagram, number in numbers))
    assert (page.wrong, page.twice) == ([], set())
    names = [e.attributes["name"] for e in page.elements if e.attributes.get("type") == "radio"]
    assert len(set(names)) == 2


def test_the_same_inside_of_two_figures_stands_in_a_page_once() -> None:
    graph = transformer(2)
    page = CopyNumbers()
    one, other = drawn(graph, "0" * 12, depth=1), drawn(graph, "1" * 12, depth=1, table=True)
    texts = [page.contents(it, FigureOptions(), copy=page.add(it)) for it in (one, other)]
    seen = see("".join(texts))
    assert (seen.wrong, seen.twice) == ([], set())
    ids = {element.attributes.get("id") for element in seen.elements}
    repeated = re.findall(r'data-same="([^"]*)"[^>]*><use xlink:href="#([^"]*)"/></svg>', texts[1])
    alone = CopyNumbers().contents(other, FigureOptions(), copy=2)
    assert len(repeated) == alone.count('class="torchrecorder-inside"') > 0
    assert all(same == unquote(href) and same in ids for same, href in repeated)
    assert "data-same" not in texts[0] + alone
    assert len(texts[1]) < 0.9 * len(alone)
    assert texts[1].count("data-details") == 1, "details of an inside stand with its picture"


def test_insides_that_differ_stand_in_a_page_each() -> None:
    page = CopyNumbers()
    graph = transformer(2)
    figures = [drawn(graph, "0" * 12, depth=1), drawn(graph, "1" * 12, depth=1, show=("flops",))]
    texts = [page.contents(it, FigureOptions(), copy=page.add(it)) for it in figures]
    assert all('class="torchrecorder-inside"' in text for text in texts)
    assert "data-same" not in "".join(texts)


def test_a_name_that_addresses_write_in_another_way_shares_nothing() -> None:
    page = CopyNumbers()
    diagram = drawn(transformer(2), depth=1)
    options = FigureOptions(name="größe & more")
    texts = [page.contents(diagram, options, copy=page.add(diagram, options.name)) for _ in range(2)]
    assert "data-same" not in "".join(texts)
    assert see("".join(texts)).twice == set()


def test_a_patch_of_arithmetic_opens_like_a_layer() -> None:
    net = Net()
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=8)
    for _ in range(6):
        x = net.op("exp", x)
    text = html(drawn(net.graph(net.layer("leave", "Linear", x, params=8))), name="net")
    assert 'xlink:href="#net:/exp/"' in text
    assert 'id="net:/exp/"' in text
