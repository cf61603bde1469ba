"""From an engine's layout to the picture in a page: read as numbers and words, arranged, and written."""

from torchrecorder.renderer.links import classes, link
from torchrecorder.renderer.svg.finish import Picture, finish
from torchrecorder.renderer.svg.fixed import fixed
from torchrecorder.renderer.svg.safe import is_safe

__all__ = ["Picture", "classes", "finish", "fixed", "is_safe", "link"]
