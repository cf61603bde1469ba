"""Tables and grids of models."""

from __future__ import annotations

import re

import pytest

from tests.sphinx_ext.project import Project

PAGE = """
    Models
    ======

    .. torchrecorder-models::
       :columns: name picture parameters flops output depth layers memory
       :shape: 4,3
       :name: all-models
       :caption: All the *models*

       nets.Net
       nets.Net(width=16) title="Wide net"
       nets.Nett

    .. torchrecorder-models::
       :as: grid

       nets.Net(width=16) shape=4,3 tags="wide, small"
       nets.Net shape=4,3 tags=small

    .. torchrecorder:: nets.Net(width=16)
       :shape: 4,3
       :name: wide net

    See :ref:`these <all-models>`.
    """


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr.*?</tr>", html, re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)] for row in rows]


def test_a_table_has_a_row_for_each_model(project: Project) -> None:
    project.write("docs/index.rst", PAGE)
    built = project.build()
    page = built.text("index.html")
    head, net, wide, missing = cells(page)
    assert head == ["Model", "Picture", "Parameters", "FLOPs", "Output", "Depth", "Layers", "Activations"]
    assert net == ["Net", "", "50", "320\N{NO-BREAK SPACE}FLOPs", "N×2", "1", "2 Linear", "304\N{NO-BREAK SPACE}B"]
    assert wide[:3] == ["Wide net", "", "98"]
    assert missing == ["nets.Nett cannot find nets.Nett: nets has no 'Nett'"]
    assert "index.rst:5: WARNING: cannot find nets.Nett: nets has no 'Nett'" in built.warnings
    assert 'id="all-models"' in page
    assert "All the <em>models</em>" in page
    assert page.count('href="#wide-net"') == 4  # name and picture, in the table and in the grid
    pictures = re.findall(r'<img[^>]*src="(_images/torchrecorder-\w+\.svg)"', page)
    assert len(pictures) == 4
    assert all((built.folder / picture).is_file() for picture in pictures)
    cards = re.findall(r'<li class="torchrecorder-card">.*?</li>', page, re.DOTALL)
    assert ["wide · small" in card for card in cards] == [True, False]
    assert "torchrecorder.js" in page


@pytest.mark.parametrize("builder", ["text", "latex"])
def test_outside_of_html_it_is_a_plain_table(project: Project, builder: str) -> None:
    project.write("docs/index.rst", PAGE)
    built = project.build(builder)
    text = built.text("index.txt" if builder == "text" else "projectnamenotset.tex")
    assert re.search(r"Wide\s", text)
    assert "Picture" not in text


def test_an_edited_model_changes_its_row(project: Project) -> None:
    project.write("docs/index.rst", ".. torchrecorder-models::\n   :shape: 4,3\n\n   nets.Net\n")
    assert cells(project.build().text("index.html"))[1][2] == "50"
    nets = project.root / "src" / "nets.py"
    nets.write_text(nets.read_text(encoding="utf-8").replace("width=8", "width=16"), encoding="utf-8")
    assert cells(project.build().text("index.html"))[1][2] == "98"
    again = project.build().ok()
    assert again.workers == []
    assert "0 changed" in again.output
