"""The options of diagrams: declared once, read from text, and what they come to."""

from torchrecorder.diagram.options.declared import OPTIONS, Option
from torchrecorder.diagram.options.reading import one_depth, read_drawing, read_options, read_request, site_options
from torchrecorder.diagram.options.values import DiagramRequest, DrawingOptions, FigureOptions

__all__ = [
    "OPTIONS",
    "DiagramRequest",
    "DrawingOptions",
    "FigureOptions",
    "Option",
    "one_depth",
    "read_drawing",
    "read_options",
    "read_request",
    "site_options",
]
