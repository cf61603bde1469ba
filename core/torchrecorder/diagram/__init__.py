"""Everything between the text a user writes and the finished diagram; the one door for front ends.

Loads neither torch nor Graphviz: models are recorded in a process of their own, and pictures are drawn on a miss.
"""

from torchrecorder.diagram.body import Body, read_body
from torchrecorder.diagram.collecting import Collected, collect
from torchrecorder.diagram.freshness import Finding, Verdict
from torchrecorder.diagram.lasting import LastingWorker
from torchrecorder.diagram.markup import ASSETS, SCRIPT, STYLE, Copies, contents
from torchrecorder.diagram.model import Diagram
from torchrecorder.diagram.names import names_of_class
from torchrecorder.diagram.options import (
    OPTIONS,
    DiagramRequest,
    DrawingOptions,
    FigureOptions,
    Option,
    read_drawing,
    read_request,
    site_options,
)
from torchrecorder.diagram.page import concerns_build, message, remarks
from torchrecorder.diagram.pipeline import Outcome, Pipeline, Progress
from torchrecorder.diagram.settings import Settings, place
from torchrecorder.diagram.table import HEAD, cells

__all__ = [
    "ASSETS",
    "HEAD",
    "OPTIONS",
    "SCRIPT",
    "STYLE",
    "Body",
    "Collected",
    "Copies",
    "Diagram",
    "DiagramRequest",
    "DrawingOptions",
    "FigureOptions",
    "Finding",
    "LastingWorker",
    "Option",
    "Outcome",
    "Pipeline",
    "Progress",
    "Settings",
    "Verdict",
    "cells",
    "collect",
    "concerns_build",
    "contents",
    "message",
    "names_of_class",
    "place",
    "read_body",
    "read_drawing",
    "read_request",
    "remarks",
    "site_options",
]
