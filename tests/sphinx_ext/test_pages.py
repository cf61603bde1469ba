"""What readers find in HTML pages, from one build of one project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sphinx_ext.project import Built, Project

PAGES = {
    "index.rst": """
        Index
        =====

        .. toctree::

           first
           sub/second
           third

        See :ref:`the-net`, :numref:`the-net` and :ref:`twice <the-net-again>`.
        """,
    "first.rst": """
        First
        =====

        .. torchrecorder:: nets.Net
           :shape: 4,3
           :name: the-net
           :caption: A net of *two* layers.

        .. torchrecorder:: nets.Net
           :shape: 4,3
           :name: the-net-again
           :caption: Once more, from another side.
           :alt: Two layers & "nothing" else
           :width: 50%
           :align: left
           :class: wide tall

        .. torchrecorder:: nets.Net
           :shape: 4,3
        """,
    "sub/second.rst": """
        Second
        ======

        .. torchrecorder:: nets.Net(width=16)
           :shape: 1,3
           :depth: 0

        .. torchrecorder:: detour.Detour
           :shape: 1,3
        """,
    "third.md": """
        # Third

        ```torchrecorder
        nets.Net
        :shape: 4,3
        ```

        ```torchrecorder
        nets.Net
        shape: 4,3
        caption: Without *colons*,
          in two lines
        ```

        ```{torchrecorder} nets.Net
        :shape: 4,3
        :caption: As a directive
        ```

        ```{torchrecorder} nets.Net
        ---
        shape: "4,3"
        name: yaml-net
        ---
        ```
        """,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Built:
    project = Project(tmp_path_factory.mktemp("pages"), cache).with_pages(PAGES)
    return project.build("html", "-W", "--keep-going").ok()


@pytest.mark.parametrize(("page", "count"), [("index", 0), ("first", 3), ("sub/second", 2), ("third", 4)])
def test_every_directive_and_fence_is_an_inline_picture(built: Built, page: str, count: int) -> None:
    assert len(built.svgs(f"{page}.html")) == count
    assert built.text(f"{page}.html").count('<figure class="') == count


def test_the_building_process_loads_no_torch(built: Built) -> None:
    assert "torch" not in built.builder.modules
    assert "torch" in built.workers[0].modules
    assert len(built.workers) == 1


def test_progress_is_shown(built: Built) -> None:
    assert "recording models... [100%] detour.Detour\n" in built.output
    assert "drawing diagrams... [100%]" in built.output


def test_layers_and_shapes_are_drawn(built: Built) -> None:
    words = re.findall(r"<text[^>]*>([^<]*)</text>", built.svgs("first.html")[0])
    assert {"enter", "leave"} <= set(words)
    assert any("N×8" in word for word in words)
    assert "enter" not in built.svgs("sub/second.html")[0]


def test_ids_of_a_picture_shown_twice_differ(built: Built) -> None:
    ids = re.findall(r'\bid="(tr-[^"]*)"', built.text("first.html"))
    assert len(ids) == len(set(ids)) >= 4
    for svg in built.svgs("first.html"):
        for label in re.findall(r'aria-labelledby="([^"]*)"', svg):
            assert all(f'id="{part}"' in svg for part in label.split())


def test_alt_replaces_the_description(built: Built) -> None:
    svg = built.svgs("first.html")[1]
    assert "aria-label='Two layers &amp; \"nothing\" else'" in svg
    assert "<title" not in svg
    assert "aria-labelledby" not in svg


def test_width_align_and_class(built: Built) -> None:
    page = built.text("first.html")
    assert '<figure class="torchrecorder wide tall align-left" id="the-net-again" style="width: 50%">' in page
    assert 'style="width:100%;max-width:100%;height:auto"' in built.svgs("first.html")[1]


def test_a_named_figure_is_linked_and_numbered(built: Built) -> None:
    page = built.text("index.html")
    assert re.search(r'href="first.html#the-net"><span class="std std-ref">A net of two layers\.', page)
    assert re.search(r'href="first.html#the-net"><span class="std std-numref">Fig. 1<', page)
    assert 'href="first.html#the-net-again"' in page
    assert 'id="yaml-net"' in built.text("third.html")


def test_captions_take_markup(built: Built) -> None:
    assert "A net of <em>two</em> layers." in built.text("first.html")
    assert "Without <em>colons</em>, in two lines" in built.text("third.html")


def test_what_a_picture_does_not_show_is_said_under_it(built: Built) -> None:
    page = built.text("sub/second.html")
    assert re.search(r'<details class="torchrecorder-about"><summary>About this picture</summary>.*numpy', page)


def test_words_of_pictures_stay_out_of_the_search(built: Built) -> None:
    assert "linear" not in built.text("searchindex.js").lower()


def test_the_style_sheet_is_linked_and_alone(built: Built) -> None:
    assert "_static/torchrecorder.css?v=" in built.text("first.html")
    assert [file.name for file in Path(built.folder, "_static").glob("*.py")] == []
