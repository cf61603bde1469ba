"""What a model did in one forward, as plain data: what recording ends in and drawing starts from."""

from torchrecorder.graph.batch import batch_size, symbolic
from torchrecorder.graph.codec import from_json, to_json
from torchrecorder.graph.model import (
    AutogradNode,
    Call,
    Decision,
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
    "AutogradNode",
    "Call",
    "Decision",
    "Failure",
    "Frame",
    "Graph",
    "Info",
    "Module",
    "Op",
    "ParamCount",
    "TensorMeta",
    "Value",
    "batch_size",
    "from_json",
    "symbolic",
    "to_json",
]
