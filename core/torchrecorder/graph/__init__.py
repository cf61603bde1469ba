"""The plain data between recording and drawing: what a model did, and what a picture of it shows."""

from torchrecorder.graph.codec import from_json, to_json
from torchrecorder.graph.model import Call, Failure, Graph, Info, Module, Op, ParamCount, TensorMeta, Value

__all__ = [
    "Call",
    "Failure",
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
