"""The style sheet and the script of the figures, which the core keeps; linked by the pages that have figures."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config

from sphinx_torchrecorder.nodes import diagram_picture
from torchrecorder.page import ASSETS, SCRIPT, STYLE


def setup(app: Sphinx) -> None:
    """Have the files copied, and linked where they are needed."""
    app.connect("config-inited", _add_folder)
    app.connect("html-page-context", _link)


def _add_folder(app: Sphinx, config: Config) -> None:
    """Our folder comes first: a project's own `torchrecorder.css` is copied over ours."""
    config.html_static_path = [str(ASSETS), *config.html_static_path]


def _link(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Link them from this page; Sphinx gives their addresses a check sum, so no browser keeps an old one."""
    if doctree is None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    if any("torchrecorder" in figure["classes"] for figure in doctree.findall(nodes.figure)):
        app.add_css_file(STYLE)
    if any(node["picture"].options.zoom for node in doctree.findall(diagram_picture)):
        app.add_js_file(SCRIPT, loading_method="defer")
