"""The two nodes of a diagram: the placeholder that is kept in doctrees, and the picture in an HTML page."""

from __future__ import annotations

from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from sphinx_torchrecorder import links
from torchrecorder.page import Diagram, contents
from torchrecorder.request import FigureOptions


@dataclass(frozen=True, slots=True)
class Picture:
    """A diagram in its place in an HTML page; only its links are not known yet."""

    diagram: Diagram
    copy: int
    """Counts the same picture in a page, for ids that are unique."""
    options: FigureOptions


class diagram_placeholder(nodes.General, nodes.Element):  # noqa: N801 (docutils names its nodes so)
    """Stands where a diagram will be; its attribute `asked` is the directive. No builder ever sees it."""


class diagram_picture(nodes.General, nodes.Element):  # noqa: N801
    """A picture for HTML, in its attribute `picture`; its children are references to the classes it shows.

    Not docutils' `raw`: Sphinx puts the words of raw HTML into the search index, and every label of every layer there
    buries the pages that explain them.
    """


def _visit_picture(translator: HTML5Translator, node: diagram_picture) -> None:
    it: Picture = node["picture"]
    translator.body.append(contents(it.diagram, it.options, copy=it.copy, urls=links.addresses(node)) + "\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Make the nodes known."""
    app.add_node(diagram_placeholder)
    app.add_node(diagram_picture, html=(_visit_picture, None))
