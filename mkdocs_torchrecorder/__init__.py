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
    from mkdocs_torchrecorder.damage import told

    raise told(error) from error

if TYPE_CHECKING:
    from mkdocs_torchrecorder.plugin import TorchRecorderPlugin as TorchRecorderPlugin

__all__ = ["TorchRecorderExtension", "TorchRecorderPlugin"]


def __getattr__(name: str) -> Any:
    if name != "TorchRecorderPlugin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mkdocs_torchrecorder.plugin import TorchRecorderPlugin

    return TorchRecorderPlugin
