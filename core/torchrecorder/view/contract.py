"""What a reader of a picture does not want to see as a node: changes of shape, copies and modules that do nothing.

Such ops hand on the data of one argument. A picture draws the edge as if they were not there; the shape at its head
tells what they did. They are contracted only where they would be nodes of their own: an `nn.Flatten` is a layer that
somebody put into the model, so it stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchrecorder.graph.model import Graph, Op
from torchrecorder.view.opsets import SHAPING, names
from torchrecorder.view.tree import CallTree

_DROPOUTS = names("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout")
_ALL_OF_IT = re.compile(r"\(?(\s*(None|\.\.\.|0?:)\s*,?)+\)?")
"""An index that takes everything, perhaps with new axes: `(..., None)`, `(:, 0:)`."""


def handed_on(graph: Graph, op: Op) -> int | None:
    """The value whose data the op only gives another shape, type or place; None if it does more."""
    if not op.inputs or op.mutates:
        return None
    if op.name in SHAPING or (op.name == "getitem" and _ALL_OF_IT.fullmatch(op.attrs.get("1", ""))):
        return op.inputs[0]
    if op.name in ("cat", "concat"):
        full = [value for value in op.inputs if not _is_empty(graph, value)]
        return full[0] if len(full) == 1 and len(op.outputs) == 1 and _same_size(graph, op, full[0]) else None
    return None


def does_nothing(tree: CallTree, call: int) -> bool:
    """Whether the call of a native leaf gives back its argument: an `Identity`, or a dropout of nothing."""
    module = tree.module(call)
    if module is None or not module.native or tree.children[call]:
        return False
    cls = module.cls.rpartition(".")[2]
    return cls == "Identity" or (cls in _DROPOUTS and module.extra_repr.startswith(("p=0.0,", "p=0,")))


def origins(graph: Graph, handed: Sequence[int | None]) -> list[int]:
    """For each value the one whose data it is.

    Args:
        graph: The Graph.
        handed: For each op the value it hands on; None if the op is not contracted.

    Returns:
        A value id by value id; a value that no contracted op made is its own origin.
    """
    origin = list(range(len(graph.values)))
    for op in graph.ops:
        source = handed[op.id]
        if source is not None:
            for value in op.outputs:
                origin[value] = origin[source]
    return origin


def _is_empty(graph: Graph, value: int) -> bool:
    meta = graph.values[value].meta
    return meta is not None and 0 in meta.shape


def _same_size(graph: Graph, op: Op, value: int) -> bool:
    """Whether joining with nothing left the tensor as it was; the same tensor may be joined with itself."""
    one, two = graph.values[op.outputs[0]].meta, graph.values[value].meta
    return one is not None and two is not None and one.shape == two.shape
