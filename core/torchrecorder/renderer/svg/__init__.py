"""From an engine's SVG to the one that stands in a page: read as numbers and words, arranged, and written anew."""

from torchrecorder.renderer.svg.finish import Picture, finish, fixed
from torchrecorder.renderer.svg.safe import is_safe

__all__ = ["Picture", "finish", "fixed", "is_safe"]
