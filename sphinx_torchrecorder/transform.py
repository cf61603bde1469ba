"""From placeholders to what the builder can show; runs for each page that is written, in the main process."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from sphinx_torchrecorder import figure
from sphinx_torchrecorder.environment import Asked, Build, build_of
from sphinx_torchrecorder.nodes import diagram_placeholder
from sphinx_torchrecorder.report import warn
from torchrecorder.errors import OptionError
from torchrecorder.page import Copies, Outcome, message


class ShowDiagrams(SphinxPostTransform):
    """Fills the figures; before links are resolved (10) and images are collected (100)."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill every figure of a page."""
        build = build_of(self.env)
        copies = Copies()
        for placeholder in list(self.document.findall(diagram_placeholder)):
            asked: Asked = placeholder["asked"]
            frame = placeholder.parent
            placeholder.replace_self(self._contents(frame, asked, build, copies))
            if table := self._table(asked, build):
                frame.parent.insert(frame.parent.index(frame) + 1, table)
            if build.form == "text":
                figure.unwrap(frame)
            build.written.add(asked.docname)

    def _table(self, asked: Asked, build: Build) -> nodes.Node | None:
        """The table of layers; behind the figure, because a figure floats on paper and a long table does not."""
        result = build.results.get(asked)
        if not isinstance(result, Outcome) or result.diagram is None or not result.request.drawing.table:
            return None
        return None if build.form == "inline" else figure.table(result.diagram)

    def _contents(self, frame: nodes.Element, asked: Asked, build: Build, copies: Copies) -> nodes.Node:
        result = build.results.get(asked)
        if result is None:
            return figure.plain(asked.target)
        if isinstance(result, OptionError):
            return figure.missing(asked.target, result)
        result = build.results[asked] = _at_hand(result, asked)
        figure.dress(frame, result.request.figure, build.form)
        if result.diagram is None:
            return figure.missing(asked.target, result.error)
        figure.add_remarks(frame, result)
        if build.form == "text":
            return figure.tree(result.diagram)
        if build.form == "image" and build.image_type:
            return figure.image(result.diagram, result.request.figure, self.env, asked.docname, build.image_type)
        copy = copies.add(result.diagram)
        return figure.inline(frame, result.diagram, result.request.figure, asked.docname, copy, build.linked)


def _at_hand(outcome: Outcome, asked: Asked) -> Outcome:
    """The outcome with its pictures read; warns if they went meanwhile and cannot be made again."""
    found = outcome.at_hand()
    if found.error is not None and found.error is not outcome.error:
        warn(found.error, message(found.error), asked.location)
    return found


def setup(app: Sphinx) -> None:
    """Have every page pass through."""
    app.add_post_transform(ShowDiagrams)
