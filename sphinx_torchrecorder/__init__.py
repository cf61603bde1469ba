"""Sphinx extension: `.. torchrecorder:: pkg.Net` becomes a diagram of the model, drawn from its code at every build.

Add `"sphinx_torchrecorder"` to `extensions` in `conf.py`; there is nothing else to set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["setup"]


def setup(app: Sphinx) -> ExtensionMetadata:
    """What Sphinx calls for an extension; everything is imported only now."""
    from sphinx_torchrecorder.extension import setup_extension

    return setup_extension(app)
