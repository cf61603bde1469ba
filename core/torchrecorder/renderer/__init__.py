"""Graph to picture: text for a layout engine, the engine's process, the finished SVG, and words in its place.

Beside that, the renderer of torchrecorder 1.0.3, which draws a live recording; it is loaded when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrecorder.renderer.base import BaseRenderer as BaseRenderer
    from torchrecorder.renderer.gv import GraphvizRenderer as GraphvizRenderer
    from torchrecorder.renderer.gv import GraphvizStyler as GraphvizStyler
    from torchrecorder.renderer.styles import StyledNode as StyledNode
    from torchrecorder.renderer.styles import Styler as Styler
    from torchrecorder.renderer.words.alt import describe as describe

REVISION = 11
"""Raised when the same View is drawn in another way; a part of the key of a stored picture."""

_HOMES = {
    "BaseRenderer": "base",
    "GraphvizRenderer": "gv",
    "GraphvizStyler": "gv",
    "StyledNode": "styles",
    "Styler": "styles",
    "describe": "words.alt",
}

__all__ = ["REVISION", "BaseRenderer", "GraphvizRenderer", "GraphvizStyler", "StyledNode", "Styler", "describe"]


def __getattr__(name: str) -> Any:
    if name in ("base", "gv"):
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
