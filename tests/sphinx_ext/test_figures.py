"""All that a figure of docutils can, and the table of the layers alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sphinx_ext.project import Built, Project

FIGURES = """
    Figures
    =======

    .. torchrecorder:: nets.Net
       :shape: 4,3
       :caption: A caption
       :height: 200
       :figwidth: image
       :figclass: broad

       A legend with **bold** text,
       in two lines.

       * and a list

    .. torchrecorder:: detour.Detour
       :shape: 4,3
       :scale: 50 %
       :figwidth: 30em

       Note: there is no caption.

    .. torchrecorder:: nets.Net
       :shape: 4,3
       :loading: lazy
       :width: 120px
       :table:

    .. torchrecorder:: nets.Net
       :shape: 4,3
       :align: right
       :scale: 50

    .. torchrecorder:: nets.Net
       :shape: 4,3
       :dpeth: 2
       :width: broad
    """
TABLES = """
    Tables
    ======

    .. torchrecorder-table:: nets.Net
       :shape: 4,3
       :name: layers
       :caption: The *layers*
       :class: striped

       Below the table.

    .. torchrecorder-table:: nets.Net
       :depth: 0

    .. torchrecorder-table:: nets.Nett
       :name: missing

    See :numref:`layers` and :ref:`here <missing>`.
    """
FENCES = """
    # Fences

    ```torchrecorder
    nets.Net
    :shape: 4,3

    A legend of *Markdown*
    ```

    ```{torchrecorder-table} nets.Net
    :shape: 4,3
    ```
    """


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Project:
    index = "Site\n====\n\n.. toctree::\n\n   figures\n   tables\n   fences\n"
    pages = {"index.rst": index, "figures.rst": FIGURES, "tables.rst": TABLES, "fences.md": FENCES}
    return Project(tmp_path_factory.mktemp("figures"), cache).with_pages(pages)


@pytest.fixture(scope="module")
def built(project: Project) -> Built:
    return project.build()


def figures(built: Built) -> list[str]:
    return re.findall(r"<figure.*?</figure>", built.text("figures.html"), re.DOTALL)


def test_a_legend_stands_behind_the_options(built: Built) -> None:
    first, second, *_ = figures(built)
    legend = re.search(r'<div class="legend">(.*?)</div>', first, re.DOTALL)
    assert legend is not None
    assert "A legend with <strong>bold</strong> text,\nin two lines." in legend[1]
    assert "<li><p>and a list</p>" in legend[1]
    assert "Note: there is no caption." in second


def test_notes_are_closed_above_the_legend(built: Built) -> None:
    second = figures(built)[1]
    assert second.count('class="legend"') == 1
    assert second.index('<details class="torchrecorder-about">') < second.rindex("numpy") < second.index("there is no")
    assert "torchrecorder-remark" not in second, "its author gave the inputs"


def test_sizes_of_picture_and_figure(built: Built) -> None:
    first, second, third, fourth, _ = figures(built)
    assert "width:auto;max-width:100%;height:200px" in first
    assert re.search(r'class="torchrecorder broad align-default"[^>]*style="width: calc\(200px \* [\d.]+\)"', first)
    natural = re.search(r"max-width:(\d+)px", built.svgs("fences.html")[0])
    half = re.search(r'style="width: ([\d.]+)px"', fourth)
    assert natural is not None
    assert half is not None
    assert abs(float(half[1]) - int(natural[1]) / 2) <= 1
    assert "width:100%;max-width:100%;height:auto" in fourth
    assert 'style="width: 30em"' in second
    assert "<svg" not in third
    assert re.search(r'<img [^>]*loading="lazy" src="_images/torchrecorder-\w+.svg" style="width: 120px;"', third)


def test_a_picture_in_a_file_keeps_its_table(built: Built) -> None:
    assert built.text("figures.html").count('<table class="torchrecorder-layers') == 1


def test_an_option_of_the_look_that_is_wrong_does_not_cost_the_diagram(built: Built) -> None:
    assert "<svg" in figures(built)[-1]
    (warning,) = [text for text in built.warnings.split("figures.rst:") if "dpeth" in text]
    assert warning.startswith("35: WARNING: unknown option 'dpeth', did you mean depth?")
    assert "width: 'broad' is not a valid width" in warning
    assert "the diagram is drawn without them [torchrecorder.option]" in warning


def test_the_table_alone(built: Built) -> None:
    page = built.text("tables.html")
    assert "<svg" not in page
    whole, model = re.findall(r'<table class="torchrecorder-layers.*?</table>', page, re.DOTALL)
    assert re.search(r'class="torchrecorder-layers[^"]*striped[^"]*" id="layers"', whole)
    assert "Table 1 " in whole
    assert "The <em>layers</em>" in whole
    assert re.findall(r"<td><p>(1-\d)</p></td>", whole) == ["1-1", "1-2"]
    assert "<td><p>32</p></td>" in whole
    assert model.count("<tr") == 2
    assert page.index("Below the table.") > page.index("</table>")
    assert re.search(r'href="#layers"><span class="std std-numref">Table 1<', page)
    assert "_static/torchrecorder.css" in page


def test_what_was_guessed_is_said_behind_the_table(built: Built) -> None:
    page = built.text("tables.html")
    assert re.search(r'</table>\s*<p class="torchrecorder-remark">', page)


def test_a_table_that_fails_is_a_box_with_its_name(built: Built) -> None:
    page = built.text("tables.html")
    assert re.search(r'<div class="[^"]*torchrecorder-error[^"]*" id="missing">', page)
    assert "tables.rst:16: WARNING: cannot find nets.Nett" in built.warnings


def test_markdown_has_them_too(built: Built) -> None:
    page = built.text("fences.html")
    assert "A legend of <em>Markdown</em>" in page
    assert page.count('<table class="torchrecorder-layers') == 1


def test_latex_prints_no_table_over_a_picture_at_the_side(project: Project) -> None:
    project.write(
        "docs/side.rst", ":orphan:\n\nSide\n====\n\n.. torchrecorder:: nets.Net\n   :align: right\n   :table:\n"
    )
    project.write("docs/free.rst", ":orphan:\n\nFree\n====\n\n.. torchrecorder:: nets.Net\n   :align: right\n")
    project.configure('latex_documents = [(n, n + ".tex", n, "", "howto") for n in ("side", "free")]')
    built = project.build("latex")
    assert "wrapfigure" in built.text("free.tex")
    side = built.text("side.tex")
    assert "wrapfigure" not in side
    assert side.index("includegraphics") < side.index("tabul")
