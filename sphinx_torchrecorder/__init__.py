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
    """Entry point of the extension; everything is imported only now."""
    try:
        from sphinx_torchrecorder.extension import setup_extension
    except ImportError as error:
        from importlib.util import find_spec
        from runpy import run_path

        from sphinx.errors import ConfigError

        package = find_spec("torchrecorder")
        for folder in (package and package.submodule_search_locations) or ():  # one file of it needs no other
            run_path(f"{folder}/installation.py")["explain"](error, ConfigError, "sphinx_torchrecorder")
        raise
    return setup_extension(app)
