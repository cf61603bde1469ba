"""What a user asks to have recorded, as plain data that needs no torch.

The room lies below both `recording` and `diagram`, because the two meet only through the worker's pipe and must read
the same words the same way.
"""

from torchrecorder.request.recording import RecordingRequest
from torchrecorder.request.shapes import InputSpec, format_shapes, parse_shapes, shapes_from
from torchrecorder.request.target import Target, parse_target

__all__ = [
    "InputSpec",
    "RecordingRequest",
    "Target",
    "format_shapes",
    "parse_shapes",
    "parse_target",
    "shapes_from",
]
