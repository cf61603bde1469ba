"""From a Graph to what one picture of it shows: which calls are boxes, which are nodes, what is drawn once for many."""

from torchrecorder.view.amount import AUTO_NODES
from torchrecorder.view.model import Box, Edge, Node, NodeKind, View
from torchrecorder.view.select import Depth, make_view

__all__ = ["AUTO_NODES", "Box", "Depth", "Edge", "Node", "NodeKind", "View", "make_view"]
