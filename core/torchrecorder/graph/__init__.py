"""What a model did in one forward, as plain data: what recording ends in and drawing starts from."""

from torchrecorder.graph.codec import from_json, to_json
from torchrecorder.graph.model import (
    Call,
    ClassicNode,
    ClassicNodes,
    Failure,
    Frame,
    Graph,
    Info,
    Module,
    Op,
    ParamCount,
    TensorMeta,
    Value,
)

__all__ = [
    "Call",
    "ClassicNode",
    "ClassicNodes",
    "Failure",
    "Frame",
    "Graph",
    "Info",
    "Module",
    "Op",
    "ParamCount",
    "TensorMeta",
    "Value",
    "from_json",
    "to_json",
]
