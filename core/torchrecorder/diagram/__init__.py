"""Everything between the text a user writes and the finished diagram; the one door for front ends.

Loads neither torch nor Graphviz: models are recorded in a process of their own, and pictures are drawn on a miss.
"""

from torchrecorder.diagram.body import Body, read_body
from torchrecorder.diagram.collecting import Collected, collect
from torchrecorder.diagram.freshness import Finding, Verdict
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

__all__ = [
    "OPTIONS",
    "Body",
    "Collected",
    "Diagram",
    "DiagramRequest",
    "DrawingOptions",
    "FigureOptions",
    "Finding",
    "Option",
    "Outcome",
    "Pipeline",
    "Progress",
    "Settings",
    "Verdict",
    "collect",
    "concerns_build",
    "message",
    "names_of_class",
    "place",
    "read_body",
    "read_drawing",
    "read_request",
    "remarks",
    "site_options",
]
