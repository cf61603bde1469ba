"""From an engine's layout to the picture in a page: read as numbers and words, arranged, and written."""

from torchrecorder.drawing.links import classes, link
from torchrecorder.drawing.svg.finish import Picture, finish
from torchrecorder.drawing.svg.fixed import fixed
from torchrecorder.drawing.svg.safe import is_safe

__all__ = ["Picture", "classes", "finish", "fixed", "is_safe", "link"]
