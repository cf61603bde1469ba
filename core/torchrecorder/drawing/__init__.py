"""Views to finished drawings: styled, laid out and proved; and the user's styler."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchrecorder.drawing.styler import StyledNode as StyledNode
    from torchrecorder.drawing.styler import Styler as Styler

REVISION = 21
"""Raised when the same View is drawn in another way; a part of the key of a stored picture."""

__all__ = ["REVISION", "StyledNode", "Styler"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torchrecorder.drawing import (
        styler,  # loads all that knows of Views, which a build without a miss does not need
    )

    return getattr(styler, name)
