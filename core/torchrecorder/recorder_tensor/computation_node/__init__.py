"""The nodes of a recorded graph."""

from torchrecorder.recorder_tensor.computation_node.base_node import Node
from torchrecorder.recorder_tensor.computation_node.compute_node import FunctionNode, ModuleNode, TensorNode, shape_of
from torchrecorder.recorder_tensor.ordered_set import NodeContainer

__all__ = ["FunctionNode", "ModuleNode", "Node", "NodeContainer", "TensorNode", "shape_of"]
