"""What a page shows of one model: the finished diagram, its figure in HTML, and the text around it."""

from torchrecorder.page.diagram import Diagram, Outcome
from torchrecorder.page.figure import ASSETS, SCRIPT, STYLE, Copies, contents
from torchrecorder.page.names import names_of_class
from torchrecorder.page.remarks import concerns_build, message, remarks
from torchrecorder.page.table import HEAD, cells

__all__ = [
    "ASSETS",
    "HEAD",
    "SCRIPT",
    "STYLE",
    "Copies",
    "Diagram",
    "Outcome",
    "cells",
    "concerns_build",
    "contents",
    "message",
    "names_of_class",
    "remarks",
]
