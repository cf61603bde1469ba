"""What a cell of a notebook keeps of a diagram, and a page of its own."""

from __future__ import annotations

import base64
import json
import re
import sys
import zlib
from html import unescape
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

from tests.core.graph.building import Net, mlp, transformer
from tests.core.page.test_figure import drawn, html
from tests.mkdocs_ext.seeing import see
from torchrecorder.graph import Graph
from torchrecorder.page import Diagram
from torchrecorder.page.notebook import cell


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The request that a shell of a notebook answers."""
    request = SimpleNamespace(metadata={"cellId": "first"}, header={"msg_id": "1"})

    class Shell:
        def get_parent(self) -> dict[str, object]:
            return vars(request)

    shell = Shell()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return request


def has_script(diagram: Diagram) -> bool:
    return "DecompressionStream" in cell(diagram)


def image(text: str) -> str:
    found = re.search(r'<img src="data:image/svg\+xml,([^"]*)"', text)
    assert found is not None
    return unquote(unescape(found[1]))


def unpacked(text: str) -> str:
    """The figure that the script puts in the place of the image."""
    packed = re.search(r'data-packed="([^"]*)"', text)
    assert packed is not None
    known = image(text).replace("'", '"').encode()[-32_768:]
    return zlib.decompressobj(-15, known).decompress(base64.b64decode(packed[1])).decode()


@pytest.mark.parametrize("net", [mlp(), transformer(2)])
def test_a_cell_keeps_the_figure_of_a_page_packed_beside_its_image(net: Graph, run: SimpleNamespace) -> None:
    diagram = drawn(net, depth=1)
    text = cell(diagram)
    assert unpacked(text) == html(diagram)
    picture = see(image(text))
    assert (picture.wrong, picture.twice) == ([], set())
    assert not re.search("currentColor|var\\(|#ffffff|#16181d", image(text)), "no colours of a page, no background"
    assert [it.attributes["alt"] for it in see(text).elements if it.tag == "img"] == [diagram.alt]


def test_a_cell_is_hardly_larger_than_the_picture(run: SimpleNamespace) -> None:
    diagram = drawn(transformer(2), depth="all", fold=False)
    assert has_script(diagram)
    kept = json.dumps(cell(diagram), ensure_ascii=False)
    assert len(kept.encode()) <= 1.2 * len(diagram.standalone_svg().encode())


def test_the_formats_of_a_cell(run: SimpleNamespace) -> None:
    diagram = drawn(mlp())
    formats, about = diagram._repr_mimebundle_(include=None, exclude=None)
    assert set(formats) == set(about) == {"text/html", "application/pdf"}
    assert base64.b64decode(formats["application/pdf"]).startswith(b"%PDF")
    assert about["application/pdf"] == {"alt": diagram.alt}
    net = Net("שלום")
    assert set(drawn(net.graph(net.input("x", 1)))._repr_mimebundle_()[0]) == {"text/html"}, "no font sets it"
    assert not hasattr(diagram, "_repr_svg_"), "IPython would keep the picture once more"


def test_one_cell_keeps_the_script(run: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    diagram = drawn(mlp())
    assert [has_script(diagram), has_script(diagram)] == [True, False], "two diagrams in one cell"
    run.metadata, run.header = {"cellId": "second"}, {"msg_id": "2"}
    assert not has_script(diagram)
    run.metadata, run.header = {"cellId": "first"}, {"msg_id": "3"}
    assert has_script(diagram), "the first cell is run again"
    run.metadata, run.header = {"cellId": "second", "deletedCells": ["first"]}, {"msg_id": "4"}
    assert has_script(diagram)
    run.metadata, run.header = {}, {"msg_id": "5"}
    assert not has_script(diagram), "nbclient does not say which cell it is"
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    assert [has_script(diagram), has_script(diagram)] == [True, True], "each cell is a page of its own"


def test_outside_of_a_notebook_nothing_is_known_of_other_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal: ...

    for shell in (None, Terminal()):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert [has_script(drawn(mlp())) for _ in range(2)] == [True, True]
    monkeypatch.delitem(sys.modules, "IPython")
    assert has_script(drawn(mlp()))


@pytest.mark.parametrize("name", ['a"><script>alert(1)</script>', "it's", "x&y #1 100%", "größe", "`${1}`"])
def test_names_are_text_in_cells_and_files(name: str, run: SimpleNamespace) -> None:
    net = Net(name)
    x = net.input("x", 1, 4)
    with net.call(name, name):
        x = net.layer(f"{name}.b", "ReLU", net.layer(f"{name}.a", "Linear", x))
    diagram = drawn(net.graph(x), depth=1)
    text = cell(diagram)
    for shown in (image(text), unpacked(text)):
        assert "<script" not in shown
        assert see(shown).wrong == []
    assert re.match(r'<div class="[^"]*" id="[\w.-]+:"', unpacked(text), re.ASCII), "the script finds ids by it"
    assert diagram.to_html().count("<script") == text.count("<script") == 1


def test_a_file_is_a_page_that_asks_nobody() -> None:
    text = drawn(transformer(2), depth=1, table=True).to_html()
    assert (see(text).wrong, see(text).twice) == ([], set())
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert 'class="torchrecorder-inside"' in text
    assert "Layers as a table" in text
    assert not re.search(r"https?:(?!//www\.w3\.org/)|<link|src=|@import|url\(", text)
