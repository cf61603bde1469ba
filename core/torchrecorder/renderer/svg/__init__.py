"""From an engine's layout to the picture in a page: read as numbers and words, arranged, and written."""

from torchrecorder.renderer.svg.finish import Picture, finish
from torchrecorder.renderer.svg.fixed import fixed
from torchrecorder.renderer.svg.links import classes, link

__all__ = ["Picture", "classes", "finish", "fixed", "link"]
