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
from torchrecorder.errors import OptionError


class ShowDiagrams(SphinxPostTransform):
    """Fills the figures; before links are resolved (10) and images are collected (100)."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill every figure of a page."""
        build = build_of(self.env)
        copies: Counter[str] = Counter()
        for placeholder in list(self.document.findall(diagram_placeholder)):
            asked: Asked = placeholder["asked"]
            frame = placeholder.parent
            placeholder.replace_self(self._contents(frame, asked, build, copies))
            if build.form == "text":
                figure.unwrap(frame)
            build.written.add(asked.docname)

    def _contents(self, frame: nodes.Element, asked: Asked, build: Build, copies: Counter[str]) -> nodes.Node:
        result = build.results.get(asked)
        if result is None:
            return figure.plain(asked.target)
        if isinstance(result, OptionError):
            return figure.missing(asked.target, result)
        options, diagram = result.request.figure, result.diagram
        figure.dress(frame, options, build.form)
        if diagram is None:
            return figure.missing(asked.target, result.error)
        figure.add_remarks(frame, diagram.notes, result.error)
        if build.form == "inline":
            copies[diagram.svg] += 1
            return figure.inline(frame, diagram, options, copies[diagram.svg])
        return (
            figure.image(diagram, options, self.env, asked.docname) if build.form == "image" else figure.tree(diagram)
        )


def setup(app: Sphinx) -> None:
    """Have every page pass through."""
    app.add_post_transform(ShowDiagrams)
