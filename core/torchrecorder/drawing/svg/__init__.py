"""From an engine's layout to the picture in a page: read as numbers and words, arranged, and written."""

from torchrecorder.drawing.links import classes, link
from torchrecorder.drawing.svg.finish import FinishedSvg, finish, fixed
from torchrecorder.drawing.svg.foot import foot, footed, sides
from torchrecorder.drawing.svg.safe import is_safe

__all__ = ["FinishedSvg", "classes", "finish", "fixed", "foot", "footed", "is_safe", "link", "sides"]
