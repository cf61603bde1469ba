"""torchview's recorder tensor and `draw_graph`, written anew.

A tensor that records the modules and functions it goes through, and the drawing that torchview makes of it, in the same
text of DOT. The modules have torchview's own names: code written for it changes its imports, and nothing else.
"""

from torchrecorder.torchview.computation_graph import ComputationGraph
from torchrecorder.torchview.computation_node import FunctionNode, ModuleNode, Node, TensorNode
from torchrecorder.torchview.recorder_tensor import RecorderTensor
from torchrecorder.torchview.torchview import draw_graph

__all__ = ["ComputationGraph", "FunctionNode", "ModuleNode", "Node", "RecorderTensor", "TensorNode", "draw_graph"]
__version__ = "0.2.7"
"""The release of torchview whose names and drawings these are."""
