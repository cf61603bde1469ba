"""What is asked: targets, shapes, options and settings, declared and read from text. Needs no torch."""

from torchrecorder.request.automatic import DocstringField, Rules, completed, why_class_not_tried, why_not_tried
from torchrecorder.request.options import Option
from torchrecorder.request.reading import Body, one_depth, read_drawing, read_request, read_values, site_options
from torchrecorder.request.requests import OPTIONS, DiagramRequest, DrawingOptions, FigureOptions, RecordingRequest
from torchrecorder.request.settings import SETTINGS, Settings, SiteSetting, place, read_settings
from torchrecorder.request.shapes import InputSpec, format_shapes, parse_shapes, shapes_from
from torchrecorder.request.targets import Target, is_pattern, parse_target

__all__ = [
    "OPTIONS",
    "SETTINGS",
    "Body",
    "DiagramRequest",
    "DocstringField",
    "DrawingOptions",
    "FigureOptions",
    "InputSpec",
    "Option",
    "RecordingRequest",
    "Rules",
    "Settings",
    "SiteSetting",
    "Target",
    "completed",
    "format_shapes",
    "is_pattern",
    "one_depth",
    "parse_shapes",
    "parse_target",
    "place",
    "read_drawing",
    "read_request",
    "read_settings",
    "read_values",
    "shapes_from",
    "site_options",
    "why_class_not_tried",
    "why_not_tried",
]
