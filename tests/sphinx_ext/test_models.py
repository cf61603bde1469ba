"""Tables and grids of models."""

from __future__ import annotations

import re

import pytest

from tests.sphinx_ext.project import Project
from torchrecorder.cli import main

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
    assert re.findall(r"_static/(torchrecorder[\w-]*\.js)", page) == ["torchrecorder-models.js", "torchrecorder.js"]


@pytest.mark.parametrize("builder", ["text", "latex"])
def test_outside_of_html_it_is_a_plain_table(project: Project, builder: str) -> None:
    project.write("docs/index.rst", PAGE)
    built = project.build(builder)
    text = built.text("index.txt" if builder == "text" else "projectnamenotset.tex")
    assert re.search(r"Wide\s", text)
    assert "Picture" not in text


def test_an_edited_model_changes_its_row(project: Project) -> None:
    project.write("docs/index.rst", ".. torchrecorder-models::\n\n   nets.Net\n")
    page = project.build().text("index.html")
    assert cells(page)[1][2] == "50"
    assert '<p class="torchrecorder-remark">FLOPs, Input, Output: for an example input.</p>' in page
    assert re.findall(r"_static/(torchrecorder[\w-]*\.js)", page) == ["torchrecorder-models.js"]
    assert page.count('<td class="number">') == page.count('<th class="head number">') == 2
    nets = project.root / "src" / "nets.py"
    nets.write_text(nets.read_text(encoding="utf-8").replace("width=8", "width=16"), encoding="utf-8")
    assert cells(project.build().text("index.html"))[1][2] == "98"
    again = project.build().ok()
    assert again.workers == []
    assert "0 changed" in again.output


ZOO = '''
from torch import nn


class Net(nn.Module):
    """A net.

    Paper: `On nets <https://arxiv.org/abs/1234.5678>`_

    :license: MIT
    """

    def __init__(self, width=8):
        super().__init__()
        self.layer = nn.Linear(4, width)

    def forward(self, x):
        return self.layer(x)


def small_net() -> Net:
    """The net of `another paper <https://doi.org/10.1/2>`__, small."""
    return Net(2)


class Closed(nn.Module):
    def __init__(self, size):
        super().__init__()

    def forward(self, x):
        return x


class Broken(Net):
    def forward(self, x):
        raise ValueError("it never works")
'''
WHOLE_ZOO = """
    .. torchrecorder-models::
       :columns: name parameters paper licence
       :shape: 1,4

       zoo.*
    """


@pytest.fixture
def zoo(project: Project) -> Project:
    (project.root / "src" / "zoo").mkdir()
    (project.root / "src" / "zoo" / "__init__.py").write_text("from zoo.nets import Net\n", encoding="utf-8")
    (project.root / "src" / "zoo" / "nets.py").write_text(ZOO, encoding="utf-8")
    project.write("docs/index.rst", WHOLE_ZOO)
    return project


def test_a_pattern_has_a_row_for_each_model(zoo: Project) -> None:
    built = zoo.build().ok()
    page = built.text("index.html")
    assert cells(page)[1:] == [["Net", "40", "On nets", "MIT"], ["small_net", "10", "another paper", "MIT"]]
    assert '<a class="reference external" href="https://arxiv.org/abs/1234.5678">On nets</a>' in page
    assert len(built.workers) == 1
    again = zoo.build().ok()
    assert again.workers == []
    assert "0 changed" in again.output


@pytest.mark.parametrize("file", ["nets.py", "more.py"])
def test_a_new_model_gets_a_row(zoo: Project, file: str) -> None:
    zoo.build().ok()
    source = zoo.root / "src" / "zoo" / file
    text = "from zoo.nets import Net\n" if file == "more.py" else ZOO
    source.write_text(f"{text}\n\nclass WiderNet(Net):\n    pass\n", encoding="utf-8")
    assert [row[0] for row in cells(zoo.build().ok().text("index.html"))[1:]] == ["Net", "WiderNet", "small_net"]


def test_what_a_pattern_leaves_out_is_in_the_log(zoo: Project) -> None:
    output = zoo.build("html", "-v").ok().output
    assert "zoo.nets.Closed" in output
    assert "it needs size" in output
    assert "it never works" in output


def test_a_pattern_without_a_match_is_a_warning(zoo: Project) -> None:
    zoo.write("docs/index.rst", WHOLE_ZOO.replace("zoo.*", "zoo.Nett*"))
    built = zoo.build()
    assert "cannot find zoo.Nett*" in built.warnings
    assert "zoo.Nett*" in cells(built.text("index.html"))[1][0]


def test_a_pattern_in_a_directive_of_one_model_is_a_warning(zoo: Project) -> None:
    zoo.write("docs/index.rst", ".. torchrecorder:: zoo.*\n")
    assert "zoo.* is a pattern, which stands in a torchrecorder-models alone" in zoo.build().warnings


def test_commands_see_the_models_of_a_pattern(zoo: Project, capsys: pytest.CaptureFixture[str]) -> None:
    zoo.configure('torchrecorder_cache = "../diagrams"')
    docs, nets = str(zoo.root / "docs"), zoo.root / "src" / "zoo" / "nets.py"
    nets.write_text(ZOO.partition("class Broken")[0], encoding="utf-8")
    assert main(["update", docs]) == 0
    capsys.readouterr()
    assert main(["check", docs]) == 0
    assert capsys.readouterr().out == "3 recordings, all fresh\n"
    assert zoo.build().ok().workers == []
    nets.write_text(nets.read_text(encoding="utf-8").replace("Net(2)", "Net(3)"), encoding="utf-8")
    assert main(["check", docs]) == 1
    assert "STALE       zoo.nets.small_net: zoo/nets.py: small_net changed" in capsys.readouterr().out


SUMMARY = """
    Models
    ======

    .. automodule:: zoo.nets
       :members:
    """


@pytest.fixture
def described(zoo: Project) -> Project:
    nets = zoo.root / "src" / "zoo" / "nets.py"
    nets.write_text(f"{ZOO}\n\nclass Other(Net):\n    '''Another net.'''\n", encoding="utf-8")
    zoo.configure("import os, sys")
    zoo.configure('sys.path.insert(0, os.path.abspath("../src")); extensions += ["sphinx.ext.autodoc"]')
    zoo.configure('torchrecorder_autodoc = {"zoo.*": True}')
    zoo.write("docs/index.rst", SUMMARY)
    return zoo


def test_a_page_of_autodoc_has_a_table_above_its_classes(described: Project) -> None:
    described.configure("torchrecorder_autodoc_summary = True")
    page = described.build().ok().text("index.html")
    assert [row[0] for row in cells(page)] == ["Model", "Net", "Other"]
    assert page.index("torchrecorder-models") < page.index('id="zoo.nets.Net"')
    assert 'href="#zoo.nets.Net"' in page.partition('id="zoo.nets.Net"')[0]


def test_without_the_setting_there_is_none(described: Project) -> None:
    assert "torchrecorder-models" not in described.build().ok().text("index.html")
    described.configure("torchrecorder_autodoc_summary = True")
    again = described.build().ok()
    assert "torchrecorder-models" in again.text("index.html")
    assert again.workers == []


def test_a_list_of_autosummary_has_a_table_above_it(described: Project) -> None:
    described.configure('extensions += ["sphinx.ext.autosummary"]\ntorchrecorder_autodoc_summary = True')
    described.write("docs/index.rst", ".. autosummary::\n   :toctree: api\n\n   zoo.nets.Net\n   zoo.nets.Other\n")
    built = described.build().ok()
    page = built.text("index.html")
    assert [row[0] for row in cells(page)][:3] == ["Model", "Net", "Other"]
    assert 'href="api/zoo.nets.Net.html#zoo.nets.Net"' in page
    nets = described.root / "src" / "zoo" / "nets.py"
    nets.write_text(nets.read_text(encoding="utf-8").replace("width=8", "width=16"), encoding="utf-8")
    assert cells(described.build().ok().text("index.html"))[1][2] == "80"
