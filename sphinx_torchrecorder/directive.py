"""The directive: keeps what is written and leaves a placeholder.

Nothing is drawn here, nothing even checked: pages are read by several processes at once, in each of which torch would
have to be loaded, and a page that is not read again must not lose its warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sphinx_torchrecorder.environment import Asked
from sphinx_torchrecorder.nodes import diagram_placeholder
from torchrecorder.request import OPTIONS, Body, read_body

NAME = "torchrecorder"


def _as_written(text: str | None) -> str | None:
    return text


class _AnyOption(dict[str, Callable[[str], Any]]):
    """Lets unknown options through: docutils would stop at the first, we report it together with all other problems."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return _as_written


class DiagramDirective(SphinxDirective):
    """`.. torchrecorder:: pkg.Net`, with the options of `torchrecorder.request.OPTIONS`."""

    optional_arguments = 1
    final_argument_whitespace = True  # pkg.Net(width=64, depth=2)
    has_content = True  # a Markdown fence names the model in its first line
    option_spec: ClassVar[dict[str, Callable[[str], Any]] | None] = _AnyOption(
        dict.fromkeys((o.name for o in OPTIONS), _as_written)
    )

    def run(self) -> list[nodes.Node]:
        """A figure, so that `name`, `numfig` and translations work as for any other."""
        body = read_body(self.content, self.arguments[0] if self.arguments else "", self.options)
        self.options = dict(body.options)
        placeholder = diagram_placeholder(asked=self._asked(body))
        figure = nodes.figure("", placeholder)
        figure["classes"].append("torchrecorder")
        self.set_source_info(figure)
        self.set_source_info(placeholder)
        figure += self._caption()
        if self.options.get("name"):
            self.add_name(figure)
        return [figure]

    def _asked(self, body: Body) -> Asked:
        return Asked(self.env.docname, self.get_location(), body.target, tuple(body.options.items()), body.problems)

    def _caption(self) -> list[nodes.Node]:
        text = self.options.get("caption")
        if not text:
            return []
        words, messages = self.parse_inline(text, lineno=self.lineno)
        caption = nodes.caption(text, "", *words)
        self.set_source_info(caption)
        return [caption, *messages]


def setup(app: Sphinx) -> None:
    """Give the directive its name."""
    app.add_directive(NAME, DiagramDirective)
