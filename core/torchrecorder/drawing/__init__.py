"""Views to finished drawings: styled, laid out and proved; and the user's styler."""

from torchrecorder.request.stylers import StyledNode, Styler

REVISION = 38
"""Raised when the same View is drawn in another way; a part of the key of a stored picture."""

__all__ = ["REVISION", "StyledNode", "Styler"]
