"""Diagrams of PyTorch models in Markdown: a Python-Markdown extension, and a plugin for MkDocs around it.

    ```torchrecorder
    pkg.Net
    :shape: 1,3
    ```

The plugin is loaded on first use, because the extension alone must not need MkDocs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from mkdocs_torchrecorder.extension import TorchRecorderExtension
    from torchrecorder import __version__ as __version__  # the old distribution, which may lie over ours, has none
except ImportError as error:
    import sys
    from importlib.util import find_spec
    from pathlib import Path
    from runpy import run_path

    # Of a package that cannot be imported, the one file that needs no other knows what happened to it.
    package = find_spec("torchrecorder")
    files = [Path(folder, "installation.py") for folder in (package and package.submodule_search_locations) or ()]
    text = next((str(run_path(str(file))["broken_install_message"]()) for file in files if file.is_file()), "")
    if not text:
        raise
    if "mkdocs" not in sys.modules:
        raise ImportError(f"mkdocs_torchrecorder: {text}") from error
    from mkdocs.exceptions import ConfigurationError  # which MkDocs shows without a traceback

    raise ConfigurationError(f"torchrecorder: {text}") from error

if TYPE_CHECKING:
    from mkdocs_torchrecorder.plugin import TorchRecorderPlugin as TorchRecorderPlugin

__all__ = ["TorchRecorderExtension", "TorchRecorderPlugin"]


def __getattr__(name: str) -> Any:
    if name != "TorchRecorderPlugin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mkdocs_torchrecorder.plugin import TorchRecorderPlugin

    return TorchRecorderPlugin
