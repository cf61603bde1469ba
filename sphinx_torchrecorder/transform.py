"""From placeholders to what the builder can show; runs for each page that is written, in the main process."""

from __future__ import annotations

from collections import Counter
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from sphinx_torchrecorder import figure
from sphinx_torchrecorder.environment import Asked, Build, build_of
from sphinx_torchrecorder.nodes import diagram_placeholder
from torchrecorder.diagram import Diagram, FigureOptions, Outcome


class ShowDiagrams(SphinxPostTransform):
    """Fills the figures; before links are resolved (10) and images are collected (100)."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill every figure of a page."""
        build = build_of(self.env)
        copies: Counter[str] = Counter()
        for placeholder in list(self.document.findall(diagram_placeholder)):
            asked: Asked = placeholder["asked"]
            self._fill(placeholder, asked, build, copies)
            build.written.add(asked.docname)

    def _fill(self, placeholder: diagram_placeholder, asked: Asked, build: Build, copies: Counter[str]) -> None:
        result = build.results.get(asked)
        if not isinstance(result, Outcome):
            placeholder.replace_self(figure.missing(asked.target, result) if result else figure.plain(asked.target))
            return
        options = result.request.figure
        frame = placeholder.parent
        figure.dress(frame, options)
        if result.diagram is None:
            placeholder.replace_self(figure.missing(asked.target, result.error))
            return
        placeholder.replace_self(self._shown(result.diagram, options, asked, build, copies))
        figure.add_remarks(frame, result.diagram.notes, result.error)

    def _shown(
        self, diagram: Diagram, options: FigureOptions, asked: Asked, build: Build, copies: Counter[str]
    ) -> nodes.Node:
        if build.form == "inline":
            copies[diagram.svg] += 1
            return figure.inline(diagram, options, copies[diagram.svg])
        if build.form == "image":
            return figure.image(diagram, options, self.env, asked.docname)
        return figure.tree(diagram)


def setup(app: Sphinx) -> None:
    """Have every page pass through."""
    app.add_post_transform(ShowDiagrams)
