"""The nodes of a recorded graph: tensors, and calls of modules and of functions."""

from torchrecorder.torchview.computation_node.base_node import Node, NodeContainer
from torchrecorder.torchview.computation_node.compute_node import FunctionNode, ModuleNode, TensorNode

__all__ = ["FunctionNode", "ModuleNode", "Node", "NodeContainer", "TensorNode"]
