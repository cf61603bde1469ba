"""View to picture: text for a layout engine, the engine's process, the finished SVG, and words in its place."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrecorder.drawing.labels.alt import describe as describe
    from torchrecorder.drawing.styles import StyledNode as StyledNode
    from torchrecorder.drawing.styles import Styler as Styler

REVISION = 11
"""Raised when the same View is drawn in another way; a part of the key of a stored picture."""

_HOMES = {"StyledNode": "styles", "Styler": "styles", "describe": "labels.alt"}

__all__ = ["REVISION", "StyledNode", "Styler", "describe"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
