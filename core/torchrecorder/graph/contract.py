"""What a reader of a picture does not want to see as a node: changes of shape, copies and modules that do nothing.

Such ops hand on the data of their first argument. A picture draws the edge as if they were not there; the shape at
its head tells what they did. They are contracted only where they would be nodes of their own: an `nn.Flatten` is a
layer that somebody put into the model, so it stays.
"""

from __future__ import annotations

from torchrecorder.graph.model import Graph, Op
from torchrecorder.graph.opsets import SHAPING, names
from torchrecorder.graph.tree import CallTree

_DROPOUTS = names("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout")


def hands_on(op: Op) -> bool:
    """Whether the op only gives the data of its first argument another shape, type or place."""
    return op.name in SHAPING and bool(op.inputs) and not op.mutates


def does_nothing(tree: CallTree, call: int) -> bool:
    """Whether the call of a native leaf gives back its argument: an `Identity`, or a dropout of nothing."""
    module = tree.module(call)
    if module is None or not module.native or tree.children[call]:
        return False
    cls = module.cls.rpartition(".")[2]
    return cls == "Identity" or (cls in _DROPOUTS and module.extra_repr.startswith(("p=0.0,", "p=0,")))


def origins(graph: Graph, handing_on: list[bool]) -> list[int]:
    """For each value the one whose data it is.

    Args:
        graph: The Graph.
        handing_on: For each op whether it is contracted.

    Returns:
        A value id by value id; a value that no contracted op made is its own origin.
    """
    origin = list(range(len(graph.values)))
    for op in graph.ops:
        if handing_on[op.id] and op.inputs:
            for value in op.outputs:
                origin[value] = origin[op.inputs[0]]
    return origin
