"""What is asked: targets, shapes, options and settings, read from text. Needs no torch."""

from torchrecorder.request.automatic import (
    AUTOMATIC_SETTINGS,
    DocstringField,
    Rule,
    Rules,
    as_asked,
    has_example,
    read_rules,
    take_field,
)
from torchrecorder.request.options import OPTIONS, Option
from torchrecorder.request.reading import (
    Body,
    one_depth,
    read_body,
    read_drawing,
    read_options,
    read_request,
    read_values,
    site_options,
)
from torchrecorder.request.requests import (
    DiagramRequest,
    DrawingOptions,
    FigureOptions,
    RecordingRequest,
    Target,
    is_pattern,
    parse_target,
)
from torchrecorder.request.settings import SITE_SETTINGS, Settings, SiteSetting, place, site_settings
from torchrecorder.request.shapes import InputSpec, format_shapes, parse_shapes, shapes_from

__all__ = [
    "AUTOMATIC_SETTINGS",
    "OPTIONS",
    "SITE_SETTINGS",
    "Body",
    "DiagramRequest",
    "DocstringField",
    "DrawingOptions",
    "FigureOptions",
    "InputSpec",
    "Option",
    "RecordingRequest",
    "Rule",
    "Rules",
    "Settings",
    "SiteSetting",
    "Target",
    "as_asked",
    "format_shapes",
    "has_example",
    "is_pattern",
    "one_depth",
    "parse_shapes",
    "parse_target",
    "place",
    "read_body",
    "read_drawing",
    "read_options",
    "read_request",
    "read_rules",
    "read_values",
    "shapes_from",
    "site_options",
    "site_settings",
    "take_field",
]
