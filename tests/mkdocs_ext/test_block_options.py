"""What a block `::: pkg.Net` of mkdocstrings says of the pictures of its classes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mkdocs_ext.site import Built, Site

PACKAGE = '''
"""Nets."""
from torch import nn


class Net(nn.Module):
    """A net.

    :torchrecorder: {own}
    """

    def __init__(self, width=8):
        super().__init__()
        self.first, self.second = nn.Linear(3, width), nn.Linear(width, 1)

    def forward(self, x):
        return self.second(self.first(x))


class Other(Net):
    """Another net."""


class Kind(Exception):
    """No module."""
'''


def built(site: Site, text: str, autodoc: object = True, *, own: str = "depth=2", extra: Any = None) -> Built:
    source = site.folder / "src"
    source.mkdir(exist_ok=True)
    (source / "blocknets.py").write_text(PACKAGE.replace("{own}", own))
    site.settings |= {"path": [str(source)], "autodoc": autodoc}
    site.write("index.md", text)
    options = {"show_source": False, "heading_level": 2} | ({"extra": extra} if extra else {})
    handler = {"paths": [str(source)], "options": options}
    return site.build(plugins=["search", "autorefs", {"mkdocstrings": {"handlers": {"python": handler}}}])


def block(name: str, said: str) -> str:
    return f"::: {name}\n    options:\n      extra:\n        torchrecorder: {said}\n"


def drawn(page: str) -> list[bool]:
    """Whether each class of the page has a picture, in their order."""
    return ["<svg" in part for part in page.split('<div class="doc doc-object doc-class">')[1:]]


def said_by_us(site: Built) -> list[str]:
    return [text for text in site.warnings if "torchrecorder" in text]


@pytest.mark.parametrize("autodoc", [True, False, {"blocknets.*": {"arguments": "width=4", "shape": "9,3"}}])
def test_a_block_says_how_its_class_is_drawn(site: Site, autodoc: object) -> None:
    site_built = built(site, block("blocknets.Net", "{shape: [7, 3], arguments: {width: 5}, caption: My net}"), autodoc)
    page = site_built.page()
    assert said_by_us(site_built) == []
    assert "Linear 3→5" in page
    assert "My net" in page
    assert page.count("<svg") == 1
    assert "torchrecorder-automatic" not in page


def test_a_block_completes_what_the_settings_say(site: Site) -> None:
    page = built(site, block("blocknets.Other", "{shape: '7,3'}"), {"blocknets.*": {"arguments": "width=4"}}).page()
    assert "Linear 3→4" in page


def test_the_same_class_is_drawn_as_each_block_says(site: Site) -> None:
    both = block("blocknets.Net", "{arguments: width=5}") + "\n" + block("blocknets.Net", "{arguments: width=6}")
    page = built(site, f"{both}\n{block('blocknets.Net', 'false')}").page()
    assert drawn(page) == [True, True, False]
    assert ("Linear 3→5" in page, "Linear 3→6" in page) == (True, True)


def test_a_block_forbids_what_the_settings_and_the_docstring_ask_for(site: Site) -> None:
    assert drawn(built(site, block("blocknets.Net", "false")).page()) == [False]


def test_a_block_asks_for_what_the_settings_and_the_docstring_forbid(site: Site) -> None:
    assert drawn(built(site, block("blocknets.Net", "true"), {"blocknets.*": False}, own="no").page()) == [True]


def test_a_block_of_a_package_is_for_each_of_its_classes(site: Site) -> None:
    page = built(site, block("blocknets", "{arguments: width=5}"), autodoc=False).page()
    assert drawn(page) == [False, True, True]
    assert page.count("Linear 3→5") >= 2
    assert drawn(built(site, block("blocknets", "no")).page()) == [False, False, False]


def test_options_of_the_handler_are_for_all_blocks(site: Site) -> None:
    text = f"::: blocknets.Other\n\n{block('blocknets.Net', '{arguments: width=6}')}"
    page = built(site, text, extra={"torchrecorder": {"arguments": "width=5"}}).page()
    assert ("Linear 3→5" in page, "Linear 3→6" in page) == (True, True)


def test_without_options_nothing_changes_where_no_diagrams_are_asked_for(site: Site) -> None:
    page = built(site, "::: blocknets\n", autodoc=False).page()
    assert drawn(page) == [False, False, False]
    assert "torchrecorder" not in page.split("<body")[1].split("<script")[0]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("{dept: 2}", "unknown option 'dept', did you mean depth?"),
        ("{shape: [1, x]}", "shape: "),
        ("{arguments: 'width=='}", "arguments: "),
        ("[1, 3]", "[1, 3] is not valid: write True, False, or options"),
        ("{shape: [1, 5]}", "the forward of Net failed in layer first"),
    ],
    ids=["option", "value", "arguments", "kind", "misfit"],
)
def test_what_is_wrong_in_a_block_is_said_with_its_line(site: Site, said: str, sentence: str) -> None:
    site_built = built(site, f"---\ntitle: T\n---\n\n# API\n\n{block('blocknets.Net', said)}")
    (warning,) = said_by_us(site_built)
    assert warning.startswith("index.md:10: ")
    assert sentence in warning


def test_what_is_wrong_in_a_block_of_a_package_is_said_once(site: Site) -> None:
    (warning,) = said_by_us(built(site, block("blocknets", "{dept: 2, depth: 1}")))
    assert warning.startswith("index.md:4: ")
    assert "did you mean depth?" in warning
