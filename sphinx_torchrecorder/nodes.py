"""The two nodes of a diagram: the placeholder that is kept in doctrees, and the picture in an HTML page."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


class diagram_placeholder(nodes.General, nodes.Element):  # noqa: N801 (docutils names its nodes so)
    """Stands where a diagram will be; its attribute `asked` is the directive. No builder ever sees it."""


class diagram_picture(nodes.General, nodes.Element):  # noqa: N801
    """A picture as HTML, in its attribute `html`.

    Not docutils' `raw`: Sphinx puts the words of raw HTML into the search index, and every label of every layer there
    buries the pages that explain them.
    """


def _visit_picture(translator: HTML5Translator, node: diagram_picture) -> None:
    translator.body.append(node["html"] + "\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Make the nodes known."""
    app.add_node(diagram_placeholder)
    app.add_node(diagram_picture, html=(_visit_picture, None))
