"""From a Graph to what one picture of it shows: which calls are boxes, which are nodes, what is drawn once for many."""

from torchrecorder.view.model import Box, Edge, Inset, Mark, Marks, Node, NodeKind, Repetition, Span, View
from torchrecorder.view.select import AUTO_NODES, Views, make_view

__all__ = [
    "AUTO_NODES",
    "Box",
    "Edge",
    "Inset",
    "Mark",
    "Marks",
    "Node",
    "NodeKind",
    "Repetition",
    "Span",
    "View",
    "Views",
    "make_view",
]
