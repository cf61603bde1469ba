"""The parts of the extension, put together.

directive    text of a page      -> placeholder in a figure; loads no torch, starts no process, writes no file
environment  placeholder         -> what each document asks for, which survives until the next build
batch        all documents       -> diagrams, in one go, after reading and before writing
transform    placeholder         -> picture, image or text, as the builder can show it
links        classes of pictures -> addresses of their pages, where Sphinx or intersphinx knows any
assets       pages with figures  -> links to the style sheet and the script
"""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from sphinx_torchrecorder import assets, batch, config, directive, environment, links, myst, nodes, transform
from torchrecorder import __version__

ENV_VERSION = 1
"""Raised when what is kept in Sphinx's environment or in its doctrees changes; all pages are then read again."""


def setup_extension(app: Sphinx) -> ExtensionMetadata:
    """Connect every part."""
    for part in (config, nodes, directive, environment, batch, transform, links, assets, myst):
        part.setup(app)
    return {
        "version": __version__,
        "env_version": ENV_VERSION,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
