"""View to picture: text for a layout engine, the engine's process, the finished SVG, and words in its place."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchrecorder.drawing.text import describe as describe
    from torchrecorder.request.stylers import StyledNode as StyledNode
    from torchrecorder.request.stylers import Styler as Styler

REVISION = 21
"""Raised when the same View is drawn in another way; a part of the key of a stored picture."""

_HOMES = {
    "StyledNode": "torchrecorder.request.stylers",
    "Styler": "torchrecorder.request.stylers",
    "describe": "torchrecorder.drawing.text",
}

__all__ = ["REVISION", "StyledNode", "Styler", "describe"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
