"""What is said where the package `torchrecorder` cannot be imported."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path


def told(error: ImportError) -> Exception:
    """An error that says what happened to the package; the error itself, if that is not known.

    MkDocs shows one of its own without a traceback.
    """
    package = find_spec("torchrecorder")
    files = [Path(folder, "old.py") for folder in (package and package.submodule_search_locations) or ()]
    text = next((str(run_path(str(file))["damage"]()) for file in files if file.is_file()), "")
    if not text:
        return error
    if "mkdocs" not in sys.modules:
        return ImportError(f"mkdocs_torchrecorder: {text}")
    from mkdocs.exceptions import ConfigurationError

    return ConfigurationError(f"torchrecorder: {text}")
