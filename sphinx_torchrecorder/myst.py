"""The bare Markdown fence that MkDocs knows, made a directive for MyST: one page of text serves both tools."""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.config import Config

from sphinx_torchrecorder.directive import NAME


def setup(app: Sphinx) -> None:
    """Wait until it is known whether MyST is there."""
    app.connect("config-inited", _add_fence)


def _add_fence(app: Sphinx, config: Config) -> None:
    if "myst_parser" in app.extensions:
        config.myst_fence_as_directive = {*config.myst_fence_as_directive, NAME}
