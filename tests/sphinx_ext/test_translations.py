"""What we say in a page is said in its language."""

from __future__ import annotations

import html
import json
import re

from tests.sphinx_ext.project import Project


def test_a_german_site(project: Project) -> None:
    project.configure('language = "de"')
    project.write(
        "docs/index.rst",
        """
        Netz
        ====

        .. torchrecorder:: nets.Net
           :shape: 4,3
           :depth: 0-1
           :table:
           :zoom: no

        .. torchrecorder:: nets.Net
           :shape: 4,3

        .. torchrecorder:: nets.Net

        .. torchrecorder:: nets.Net
           :shape: 4,5

        .. torchrecorder:: nets.Nett
        """,
    )
    built = project.build()
    page = built.text("index.html")
    assert "<legend>Tiefe</legend>" in page
    assert ">Tiefe 1</p>" in page
    assert "<summary>Schichten als Tabelle</summary>" in page
    assert '<th scope="col">Schicht</th>' in page
    assert "Kein Diagramm von nets.Nett" in page
    assert re.search(r'class="torchrecorder-remark">Dieses Diagramm ist unvollständig: the forward of Net failed', page)
    assert re.search(r'class="torchrecorder-remark">Größen für eine Beispieleingabe: x N×3<', page)
    assert re.search(r"<summary>Über dieses Bild</summary>.*>[^<]*Schicht[^<]*1,3, aus enter \(Linear\)</div>", page)
    assert "<strong>N</strong> der Batch" in page
    (said,) = re.findall(r"data-words='([^']*)'", page)
    assert json.loads(html.unescape(said))["Zoom in"] == "Vergrößern"
    assert "Kein Diagramm von nets.Nett" in project.build("text").text("index.txt")


def test_an_english_page_brings_no_words(project: Project) -> None:
    project.write("docs/index.rst", "Net\n===\n\n.. torchrecorder:: nets.Net\n   :shape: 4,3\n")
    assert "data-words" not in project.build().ok().text("index.html")
