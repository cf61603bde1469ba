"""The style sheet of the figures. The pictures do without: it is for what stands around them."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

STYLE = "torchrecorder.css"


def setup(app: Sphinx) -> None:
    """Have the style sheet copied and linked; Sphinx gives its address a check sum, so no browser keeps an old one."""
    app.connect("config-inited", _add_folder)
    app.add_css_file(STYLE)


def _add_folder(app: Sphinx, config: Config) -> None:
    """Our folder comes first: a project's own `torchrecorder.css` is copied over ours."""
    config.html_static_path = [str(Path(__file__).with_name("assets")), *config.html_static_path]
