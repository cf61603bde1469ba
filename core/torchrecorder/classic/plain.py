"""A classic recording as plain nodes and edges, for the picture that torchrecorder 1.0.3 would have drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from torchrecorder.graph import ClassicNode, ClassicNodes
from torchrecorder.graph.model import ClassicKind
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, TensorNode

if TYPE_CHECKING:
    from torchrecorder.recorder import Recorder

_KINDS: tuple[tuple[type[BaseNode], ClassicKind], ...] = (
    (LayerNode, "layer"),
    (ParamNode, "param"),
    (TensorNode, "tensor"),
    (OpNode, "op"),
)


def classic_nodes(rec: Recorder, paths: Mapping[int, str]) -> ClassicNodes:
    """The nodes of a recorder in its order; `paths` has the paths of modules by `id`."""
    context = rec.nodes.get(None)
    nodes = [node for node in dict.fromkeys(rec.nodes.values()) if node is not context]
    place = {id(node): position for position, node in enumerate(nodes)}
    pairs = {(place[id(rec.nodes[tail])], place[id(rec.nodes[head])]) for tail, head in rec.edges}
    return ClassicNodes(
        tuple(_plain(node, _place_of(node.parent, rec, place), paths) for node in nodes),
        tuple(sorted(pair for pair in pairs if pair[0] != pair[1])),
    )


def _place_of(fn: Any, rec: Recorder, place: Mapping[int, int]) -> int | None:
    return None if fn is None else place.get(id(rec.nodes.get(fn)))


def _plain(node: BaseNode, parent: int | None, paths: Mapping[int, str]) -> ClassicNode:
    kind: ClassicKind = next(kind for cls, kind in _KINDS if isinstance(node, cls))
    about: str | tuple[int, ...] = paths.get(id(node.fn), "") if kind == "layer" else ""
    if isinstance(node, TensorNode) and isinstance(node.fn, Tensor):
        about = tuple(node.fn.shape)
    return ClassicNode(kind, node.name, node.depth, parent, about)
