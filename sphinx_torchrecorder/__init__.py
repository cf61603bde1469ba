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
    try:
        from sphinx_torchrecorder.extension import setup_extension
    except ImportError as error:
        from importlib.util import find_spec
        from pathlib import Path
        from runpy import run_path

        from sphinx.errors import ConfigError

        # Of a package that cannot be imported, the one file that needs no other knows what happened to it.
        package = find_spec("torchrecorder")
        files = [Path(folder, "installation.py") for folder in (package and package.submodule_search_locations) or ()]
        text = next((str(run_path(str(file))["broken_install_message"]()) for file in files if file.is_file()), "")
        if not text:
            raise
        raise ConfigError(f"sphinx_torchrecorder: {text}") from error
    return setup_extension(app)
