"""Layers and boxes lead to the pages of their classes, whatever the builder and wherever the page."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path

import pytest
import sphinx

from tests.sphinx_ext.project import Built, Project
from tests.sphinx_ext.test_rebuild import pages, written

NETS = '''
from torch import nn


class Block(nn.Module):
    """Documented where it is offered."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(3, 3)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.enter(x))


class Net(nn.Module):
    """Documented where it is defined."""

    def __init__(self):
        super().__init__()
        self.block = Block()
        self.hidden = Hidden()
        self.old = old.Block()

    def forward(self, x):
        return self.old(self.hidden(self.block(x)))


class Hidden(Block):
    """Not documented."""


from pkg import old
'''
OLD = "from pkg import nets\n\n\nclass Block(nets.Block):\n    pass\n"
TORCH = "https://docs.pytorch.org/docs/stable/"
LINEAR = f"{TORCH}generated/torch.nn.Linear.html#torch.nn.Linear"
INVENTORY = "torch.nn.Linear py:class 1 generated/torch.nn.Linear.html#$ -\n"
CONF = """
import os, sys
sys.path.insert(0, os.path.abspath("../src"))
extensions += ["sphinx.ext.autodoc", "sphinx.ext.intersphinx"]
intersphinx_mapping = {"torch": ("%s", "torch.inv")}
nitpick_ignore = [("py:class", "Module")]
"""
DIAGRAM = ".. torchrecorder:: pkg.nets.Net\n   :shape: 1,3\n   :expand: **\n"
NET = ".. autoclass:: pkg.nets.Net\n"


@pytest.fixture
def linked(project: Project) -> Project:
    project.configure(CONF % TORCH)
    project.write("src/pkg/__init__.py", "from pkg.nets import Block\n")
    project.write("src/pkg/nets.py", NETS)
    project.write("src/pkg/old.py", OLD)
    inventory = b"# Sphinx inventory version 2\n# Project: PyTorch\n# Version: 2.13\n# zlib\n"
    project.root.joinpath("docs/torch.inv").write_bytes(inventory + zlib.compress(INVENTORY.encode()))
    project.write("docs/index.rst", "Index\n=====\n\n.. toctree::\n\n   sub/net\n   sub/api\n   other\n")
    project.write("docs/sub/net.rst", f"Net\n===\n\n{DIAGRAM}")
    project.write("docs/sub/api.rst", f"API\n===\n\n{NET}\n.. autoclass:: pkg.Block\n\n{DIAGRAM}")
    project.write("docs/other.rst", f"Other\n=====\n\n{DIAGRAM}   :links: no\n")
    return project


def links(built: Built, page: str, nth: int = 0) -> dict[str, str]:
    """The addresses of links in a picture, by their first words."""
    found = re.findall(r'<a xlink:href="([^"]*)"[^>]*>.*?<(?:text|tspan)[^>]*>([^<]+)<', built.svgs(page)[nth])
    return {word: address for address, word in found}


def expected(api: str) -> dict[str, str]:
    """`hidden` and `old` have no page of their own, though `pkg.old.Block` could be taken for `pkg.Block`."""
    return {"Net": f"{api}#pkg.nets.Net", "block": f"{api}#pkg.Block", "enter": LINEAR}


@pytest.mark.parametrize(
    ("builder", "page", "address", "same"),
    [
        ("html", "sub/{}.html", "api.html", ""),
        ("dirhtml", "sub/{}/index.html", "../api/", ""),
    ],
)
def test_links_lead_to_the_pages_of_classes(linked: Project, builder: str, page: str, address: str, same: str) -> None:
    built = linked.build(builder, "-n", "-W", "--keep-going").ok()
    assert links(built, page.format("net")) == expected(address)
    assert links(built, page.format("api")) == expected(same)


def test_links_of_a_single_page(linked: Project) -> None:
    built = linked.build("singlehtml", "-n", "-W", "--keep-going").ok()
    # The page is named in older ones, where a link leads to what was a page of its own; either leads to the same place.
    from_another = "" if sphinx.version_info >= (8,) else "index.html"
    assert [links(built, "index.html", nth) for nth in range(3)] == [expected(from_another), expected(""), {}]
    assert 'id="pkg.Block"' in built.text("index.html")


def test_several_processes_and_one_cache(linked: Project) -> None:
    linked.build("dirhtml").ok()
    built = linked.build("html", "-n", "-W", "--keep-going", "-j2").ok()
    assert links(built, "sub/net.html") == expected("api.html")
    assert links(built, "sub/api.html") == expected("")


def test_a_picture_without_links_is_an_image(linked: Project) -> None:
    built = linked.build("html").ok()
    linked_svg, bare = built.svgs("sub/net.html")[0], built.svgs("other.html")[0]
    assert ('role="group"' in linked_svg, 'role="img"' in bare, "<a " in bare) == (True, True, False)


def test_references_are_no_words_for_the_search(linked: Project) -> None:
    index = json.loads(linked.build("html").ok().text("searchindex.js").removeprefix("Search.setIndex(").rstrip(")"))
    assert "linear" not in {word.lower() for word in index["terms"]}


def test_pages_follow_what_they_link_to(linked: Project) -> None:
    before = pages(linked.build("html").ok())
    assert written(before, linked.build("html").ok()) == set()

    linked.write("docs/sub/api.rst", "API\n===\n\n.. autoclass:: pkg.Block\n")
    gone = linked.build("html").ok()
    assert written(before, gone) == {"sub/api.html", "sub/net.html"}
    assert "Net" not in links(gone, "sub/net.html")

    linked.write("docs/other.rst", f"Other\n=====\n\n{NET}")
    assert links(linked.build("html").ok(), "sub/net.html")["Net"] == "../other.html#pkg.nets.Net"


@pytest.mark.parametrize("builder", ["epub", "latex", "text"])
def test_other_builders_have_pictures_or_trees_without_links(linked: Project, builder: str) -> None:
    linked.configure('copyright = "nobody"\nversion = "1"')
    built = linked.build(builder, "-n", "-W", "--keep-going").ok()
    made = list(Path(built.folder).rglob("torchrecorder-*.svg"))
    assert len(made) == (1 if builder == "epub" else 0)
    assert all("<a " not in file.read_text(encoding="utf-8") for file in made)
