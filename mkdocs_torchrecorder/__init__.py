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
except ImportError as error:
    import sys
    from importlib.util import find_spec
    from runpy import run_path

    kind: type[Exception] = ImportError
    if "mkdocs" in sys.modules:
        from mkdocs.exceptions import ConfigurationError

        kind = ConfigurationError  # which MkDocs shows without a traceback
    package = find_spec("torchrecorder")
    for folder in (package and package.submodule_search_locations) or ():  # one file of it needs no other
        run_path(f"{folder}/installation.py")["explain"](error, kind, "mkdocs_torchrecorder")
    raise

if TYPE_CHECKING:
    from mkdocs_torchrecorder.plugin import TorchRecorderPlugin as TorchRecorderPlugin

__all__ = ["TorchRecorderExtension", "TorchRecorderPlugin"]


def __getattr__(name: str) -> Any:
    if name != "TorchRecorderPlugin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mkdocs_torchrecorder.plugin import TorchRecorderPlugin

    return TorchRecorderPlugin
