"""Layers and boxes lead to the pages of their classes, if autorefs knows any."""

from __future__ import annotations

import json
import logging
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from markdown import Markdown
from mkdocs.plugins import BasePlugin, get_plugin_logger

from mkdocs_torchrecorder import TorchRecorderExtension
from mkdocs_torchrecorder.plugin import TorchRecorderConfig
from tests.mkdocs_ext.placements import FENCE
from tests.mkdocs_ext.site import Built, Site

LINEAR = "https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html#torch.nn.Linear"
PAGES = {"nets.Net": "api/#nets.Net", "torch.nn.Linear": LINEAR}

logger = get_plugin_logger(__name__)


class Autorefs(BasePlugin[TorchRecorderConfig]):  # type: ignore[no-untyped-call] # of MkDocs
    """Answers as autorefs 1.4 does."""

    def get_item_url(self, identifier: str, from_url: str | None = None) -> Any:
        logger.warning("Multiple URLs found for '%s'", identifier)
        url = PAGES[identifier]
        return (url if "//" in url else "../" * (from_url or "").count("/") + url), None


class OldAutorefs(Autorefs):  # type: ignore[no-untyped-call] # of MkDocs
    """Answers as autorefs 1.3 does."""

    def get_item_url(self, identifier: str, from_url: str | None = None) -> Any:
        return super().get_item_url(identifier, from_url)[0]


def links(html: str) -> dict[str, str]:
    """The addresses of links in pictures, by their first words."""
    found = re.findall(r'<a xlink:href="([^"]*)" style="color:inherit">.*?<(?:text|tspan)[^>]*>([^<]+)<', html)
    return {word: address for address, word in found}


def build(site: Site, autorefs: object | None, **settings: Any) -> Built:
    return site.build(others={} if autorefs is None else {"autorefs": autorefs}, **settings)


@pytest.mark.parametrize("autorefs", [Autorefs(), OldAutorefs()], ids=["1.4", "1.3"])
def test_links_lead_to_the_pages_of_classes(site: Site, autorefs: Autorefs) -> None:
    site.write("index.md", FENCE)
    site.write("sub/page.md", FENCE)
    built = build(site, autorefs, strict=True)
    assert (built.aborted, built.warnings) == ("", [])
    assert links(built.page()) == {"Net": "api/#nets.Net", "first": LINEAR}
    assert links(built.page("sub/page/index.html")) == {"Net": "../../api/#nets.Net", "first": LINEAR}
    assert 'role="group"' in built.page()
    logger.warning("still heard")
    assert not logging.getLogger(f"mkdocs.plugins.{__name__}").filters


@pytest.mark.parametrize("autorefs", [None, object()], ids=["absent", "something else"])
def test_no_links_without_autorefs(site: Site, autorefs: object | None) -> None:
    site.write("index.md", FENCE)
    page = build(site, autorefs).page()
    assert 'role="img"' in page
    assert links(page) == {}


def test_links_can_be_switched_off(site: Site) -> None:
    site.write("index.md", FENCE.replace(":shape", ":links: no\n:shape"))
    site.write("page.md", "---\ntorchrecorder:\n  links: false\n---\n" + FENCE)
    built = build(site, Autorefs())
    assert (links(built.page()), links(built.page("page/index.html"))) == ({}, {})


def test_an_excerpt_of_a_blog_links_from_where_it_is_shown(site: Site) -> None:
    site.write("index.md", "# Home\n")
    site.write("blog/index.md", "# Blog\n")
    post = "---\ndate: 2026-01-01\n---\n# Post\n\n" + FENCE + "\n<!-- more -->\n\nMore.\n"
    site.write("blog/posts/post.md", post)
    built = build(site, Autorefs(), theme="material", plugins=["search", "blog"])
    assert links(built.page("blog/index.html"))["Net"] == "../api/#nets.Net"
    assert links(built.page("blog/2026/01/01/post/index.html"))["Net"] == "../../../../../api/#nets.Net"


def test_markdown_alone_makes_no_links(site: Site) -> None:
    extension = TorchRecorderExtension(**site.settings)
    assert 'role="img"' in Markdown(extensions=[extension]).convert(FENCE)


def test_mkdocstrings(site: Site) -> None:
    site.write("index.md", FENCE)
    site.write("api.md", "# API\n\n::: nets.Net\n")
    handler = {"handlers": {"python": {"paths": site.settings["path"]}}}
    built = site.build(plugins=["search", {"mkdocstrings": handler}], strict=True)
    assert (built.aborted, built.warnings) == ("", [])
    assert links(built.page()) == {"Net": "api/#nets.Net"}


def test_panels_lead_to_lines_of_code(site: Site, nets: Path) -> None:
    site.write("index.md", FENCE)
    assert "data-code" not in site.build().page()
    site.settings |= {"code": "https://forge.example/{path}#L{line}"}
    root = next((folder for folder in nets.parents if (folder / ".git").exists()), None)
    assert root is None, "the nets lie in no repository, so the folder of the site is the one that counts"
    assert "data-code" not in site.build().page()
    (nets / ".git").mkdir()
    try:
        (found,) = re.findall(r"data-code='([^']*)'", site.build().page())
    finally:
        (nets / ".git").rmdir()
    for source, address in json.loads(unescape(found)).items():
        assert address == f"https://forge.example/{source.replace(':', '#L')}"
