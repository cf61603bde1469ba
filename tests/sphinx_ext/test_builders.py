"""What each builder makes of the same page."""

from __future__ import annotations

import json
import re
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
    project.write("docs/index.rst", "Index\n=====\n\n.. toctree::\n\n   net\n   other\n\nSee :numref:`the-net`.\n")
    directive = "\n.. torchrecorder:: nets.Net\n   :shape: 4,3\n"
    project.write("docs/net.rst", f"Net\n===\n{directive}   :name: the-net\n   :caption: A net\n")
    project.write("docs/other.rst", f"Other\n=====\n{directive}{directive}")
    return project


def test_dirhtml(pages: Project) -> None:
    built = pages.build("dirhtml", "-W").ok()
    assert len(built.svgs("net/index.html")) == 1
    assert 'href="net/#the-net"' in built.text("index.html")


def test_singlehtml_has_unique_ids(pages: Project) -> None:
    built = pages.build("singlehtml", "-W").ok()
    ids = re.findall(r'<title id="([^"]*)"', built.text("index.html"))
    assert len(set(ids)) == len(ids) == 3


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
    assert 'alt="Net' in image[0]
    assert "currentColor" not in picture
    assert "<svg" not in page


@pytest.mark.parametrize(
    ("builder", "name"),
    [
        ("text", "net.txt"),
        ("man", "nets.7"),
        ("latex", "nets.tex"),
        ("texinfo", "nets.texi"),
        ("xml", "net.xml"),
    ],
)
def test_builders_without_svg_show_the_tree_of_modules(pages: Project, builder: str, name: str) -> None:
    page = pages.build(builder, "-W", "--keep-going").ok().text(name)
    assert "enter" in page
    assert "A net" in page


@pytest.mark.parametrize("builder", ["gettext", "linkcheck"])
def test_builders_without_pages_draw_nothing_and_check_options(pages: Project, builder: str) -> None:
    pages.write("docs/wrong.rst", ":orphan:\n\nWrong\n=====\n\n.. torchrecorder:: nets.Net\n   :dpeth: 2\n")
    try:
        built = pages.build(builder)
    finally:
        pages.root.joinpath("docs/wrong.rst").unlink()
    assert "wrong.rst:6: WARNING: unknown option 'dpeth', did you mean depth? [torchrecorder.option]" in built.warnings
    assert (built.status, built.workers) == (0, [])
    assert "drawing" not in built.output


def test_captions_can_be_translated(pages: Project) -> None:
    assert 'msgid "A net"' in pages.build("gettext").ok().text("net.pot")
