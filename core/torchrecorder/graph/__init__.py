"""The plain data between recording and drawing: what a model did, and what a picture of it shows."""

from torchrecorder.graph.codec import from_json, to_json
from torchrecorder.graph.model import (
    Call,
    ClassicNode,
    ClassicNodes,
    Failure,
    Graph,
    Info,
    Module,
    Op,
    ParamCount,
    TensorMeta,
    Value,
)
from torchrecorder.graph.views import Box, Edge, Node, View, make_view

__all__ = [
    "Box",
    "Call",
    "ClassicNode",
    "ClassicNodes",
    "Edge",
    "Failure",
    "Graph",
    "Info",
    "Module",
    "Node",
    "Op",
    "ParamCount",
    "TensorMeta",
    "Value",
    "View",
    "from_json",
    "make_view",
    "to_json",
]
