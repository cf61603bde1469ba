"""Graph to picture: text for a layout engine, the engine's process, the finished SVG, and words in its place."""

from torchrecorder.renderer.words.alt import describe

REVISION = 5
"""Raised when the same View is drawn in another way; a part of the key of a stored picture."""

__all__ = ["REVISION", "describe"]
