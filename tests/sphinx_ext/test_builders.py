"""What each builder makes of the same page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.sphinx_ext.project import Project


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Project:
    project = Project(tmp_path_factory.mktemp("builders"), cache)
    project.configure(
        """
        project = "Nets"
        copyright = "nobody"
        version = "1"
        numfig = True
        gettext_compact = False
        man_pages = [("index", "nets", "Nets", ["nobody"], 7)]
        texinfo_documents = [("index", "nets", "Nets", "nobody", "nets", "Nets of ours.", "Misc")]
        """
    )
    project.write(
        "docs/index.rst", "Index\n=====\n\n.. toctree::\n\n   net\n   other\n   more\n\nSee :numref:`the-net`.\n"
    )
    directive = "\n.. torchrecorder:: nets.Net\n   :shape: 4,3\n"
    project.write("docs/net.rst", f"Net\n===\n{directive}   :name: the-net\n   :caption: A net\n")
    project.write("docs/other.rst", f"Other\n=====\n{directive}{directive}")
    options = "   :depth: 0-2\n   :table:\n"
    project.write("docs/more.rst", f"More\n====\n{directive}{options}   :caption: A switch\n{directive}   :zoom: no\n")
    return project


def test_dirhtml(pages: Project) -> None:
    built = pages.build("dirhtml", "-W").ok()
    assert len(built.svgs("net/index.html")) == 1
    assert 'href="net/#the-net"' in built.text("index.html")


def test_singlehtml_has_unique_ids(pages: Project) -> None:
    built = pages.build("singlehtml", "-W").ok()
    ids = re.findall(r'<title id="([^"]*)"', built.text("index.html"))
    assert len(set(ids)) == len(ids) == 6
    assert len(re.findall(r'<script[^>]*src="_static/torchrecorder.js', built.text("index.html"))) == 1


def test_pages_link_the_script_and_the_style_sheet_if_they_need_them(pages: Project) -> None:
    built = pages.build("dirhtml", "-W").ok()
    for page, has_figure in (("index.html", False), ("net/index.html", True), ("more/index.html", True)):
        assert ("torchrecorder.css?v=" in built.text(page)) == has_figure
        assert ("torchrecorder.js?v=" in built.text(page)) == has_figure
    assert 'src="../_static/torchrecorder.js' in built.text("net/index.html")


def test_html_has_a_switch_and_a_table(pages: Project) -> None:
    page = pages.build("html", "-W").ok().text("more.html")
    assert page.count('type="radio"') == 2  # the net has two depths; a third would show the same
    assert page.count("<table>") == 1
    assert page.count("torchrecorder-zoom") == 1  # around the pictures of both depths
    assert "Linear" not in pages.build("html").ok().text("searchindex.js")


def test_json_pages_hold_inline_pictures(pages: Project) -> None:
    built = pages.build("json", "-W").ok()
    assert "<svg" in json.loads(built.text("net.fjson"))["body"]


def test_epub_shows_a_picture_with_colours_of_its_own(pages: Project) -> None:
    pages.build("epub", "-W").ok()
    built = pages.build("epub", "-W").ok()
    with zipfile.ZipFile(next(built.folder.glob("*.epub"))) as book:
        page = book.read("net.xhtml").decode()
        image = re.search(r'<img[^>]*src="(_images/torchrecorder-[^"]*\.svg)"[^>]*>', page)
        assert image is not None
        picture = book.read(image[1]).decode()
        more = book.read("more.xhtml").decode()
        assert not [name for name in book.namelist() if name.endswith("torchrecorder.js") and name in page + more]
    assert "<script" not in page
    assert more.count("<table") == 1
    assert "radio" not in more
    assert 'alt="Net' in image[0]
    assert "currentColor" not in picture
    assert "<svg" not in page


@pytest.mark.parametrize(
    ("builder", "name"),
    [
        ("text", "net.txt"),
        ("man", "nets.7"),
        ("texinfo", "nets.texi"),
        ("xml", "net.xml"),
    ],
)
def test_builders_without_svg_show_the_tree_of_modules(pages: Project, builder: str, name: str) -> None:
    page = pages.build(builder, "-W", "--keep-going").ok().text(name)
    assert "enter" in page
    assert "A net" in page


@pytest.mark.parametrize(("builder", "name"), [("text", "more.txt"), ("texinfo", "nets.texi"), ("man", "nets.7")])
def test_the_table_of_layers_without_html(pages: Project, builder: str, name: str) -> None:
    page = pages.build(builder, "-W", "--keep-going").ok().text(name)
    assert "Parameters" in page
    assert "2-1" not in page
    assert "1-1" in page.replace("\\-", "-")


def test_latex_shows_the_picture_as_pdf_and_the_table_behind_it(pages: Project) -> None:
    built = pages.build("latex", "-W", "--keep-going").ok()
    source = built.text("nets.tex")
    names = re.findall(r"\\sphinxincludegraphics(?:\[[^]]*\])?\{\{(torchrecorder-\w+)\}\.pdf\}", source)
    assert len(names) == 5
    assert all((built.folder / f"{name}.pdf").read_bytes().startswith(b"%PDF-") for name in names)
    table = source.index("Parameters")
    assert source.rindex("\\end{figure}", 0, table) > source.index("A switch")
    assert source.count("\\begin{figure}") == source.count("\\end{figure}")


def latex_is_there() -> bool:
    """Whether there is a LaTeX with all that Sphinx asks of it."""
    if not shutil.which("kpsewhich"):
        return False
    return not subprocess.run(["kpsewhich", "tgheros.sty", "fncychap.sty"], capture_output=True).returncode


@pytest.mark.skipif(not latex_is_there(), reason="no LaTeX for Sphinx: apt-get install texlive-latex-extra tex-gyre")
def test_latex_takes_our_pictures(pages: Project) -> None:
    built = pages.build("latex").ok()
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "nets.tex"]
    done = subprocess.run(command, cwd=built.folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("builder", ["gettext", "linkcheck"])
def test_builders_without_pages_draw_nothing_and_check_options(pages: Project, builder: str) -> None:
    pages.write("docs/wrong.rst", ":orphan:\n\nWrong\n=====\n\n.. torchrecorder:: nets.Net\n   :dpeth: 2\n")
    try:
        built = pages.build(builder)
    finally:
        pages.root.joinpath("docs/wrong.rst").unlink()
    assert "wrong.rst:6: WARNING: unknown option 'dpeth', did you mean depth?\n" in built.warnings
    assert (built.status, built.workers) == (0, [])
    assert "drawing" not in built.output


def test_captions_can_be_translated(pages: Project) -> None:
    assert 'msgid "A net"' in pages.build("gettext").ok().text("net.pot")


def test_what_is_only_for_another_builder_is_neither_recorded_nor_warned_of(project: Project) -> None:
    project.write(
        "docs/index.rst",
        """
        Nets
        ====

        .. only:: text

           .. torchrecorder:: nets.Missing

        .. only:: html and not wide

           .. torchrecorder:: nets.Net(77)
              :shape: 1,3

           .. only:: latex

              .. torchrecorder:: nets.Net(78)
                 :shape: no
        """,
    )
    built = project.build("html").ok()
    assert len(built.svgs("index.html")) == 1
    assert "nets.Net(77)" in built.output
    text = project.build("text")
    assert "cannot find nets.Missing" in text.warnings
    assert len(project.build("html", "-t", "wide").ok().svgs("index.html")) == 0


def test_latex_shows_the_tree_where_no_font_can_set_a_name(pages: Project) -> None:
    net = "import torch\nclass Hebrew(torch.nn.Sequential):\n    def __init__(self):\n        super().__init__()\n"
    pages.write("hebrew.py", net + '        self.add_module("שלום", torch.nn.Linear(3, 4))\n')
    page = pages.root / "docs/other.rst"
    before = page.read_text()
    page.write_text(f"{before}\n.. torchrecorder:: hebrew.Hebrew\n   :shape: 4,3\n")
    built = pages.build("latex")
    page.write_text(before)
    assert "other.rst:10: WARNING: " in built.warnings
    assert "cannot show" in built.warnings
    assert "Hebrew" in built.text("nets.tex")
