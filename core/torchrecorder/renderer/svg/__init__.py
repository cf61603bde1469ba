"""From an engine's SVG to the one that stands in a page: read as numbers and words, arranged, and written anew."""

from torchrecorder.renderer.svg.finish import Picture, finish, fixed

__all__ = ["Picture", "finish", "fixed"]
