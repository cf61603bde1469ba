"""From a View to what a styler is told."""

from __future__ import annotations

from dataclasses import dataclass

from torchrecorder.drawing.labels.labels import Labels
from torchrecorder.drawing.styles.styler import StyledNode
from torchrecorder.view import Box, Node, View


@dataclass(frozen=True, slots=True)
class Picture:
    """The things in a picture, in the order of its View."""

    nodes: tuple[StyledNode, ...]
    boxes: tuple[StyledNode, ...]
    edges: tuple[tuple[int, int], ...]
    """Positions of tail and head among the nodes."""


def picture_of(view: View, labels: Labels) -> Picture:
    """What a styler is told of a View."""
    nodes = tuple(_node(view, labels, node) for node in view.nodes)
    boxes = tuple(_layer(view, "box", labels.box(box), box) for box in view.boxes)
    return Picture(nodes, boxes, tuple((edge.tail, edge.head) for edge in view.edges))


def _node(view: View, labels: Labels, node: Node) -> StyledNode:
    label = labels.node(node)
    text = "\n".join(filter(None, (label.name, label.line)))
    kind = labels.kind(node)
    if node.kind == "call":
        return _layer(view, kind, text, node)
    op = view.graph.ops[node.op] if node.kind == "op" and node.op is not None else None
    values = op.outputs if op is not None else node.values
    return StyledNode(kind, text, op="" if op is None else op.target, shape=_shape(view, tuple(values)))


def _layer(view: View, kind: str, text: str, thing: Node | Box) -> StyledNode:
    call = view.graph.calls[thing.calls[0]]
    module = view.graph.modules.get(call.module) if call.kind == "module" else None
    shape = _shape(view, tuple(call.outputs.values()))
    if module is None:
        return StyledNode(kind, text, op=call.module, repeat=thing.repeat, shape=shape)
    return StyledNode(kind, text, module.fqn, module.cls, "", module.params.total, thing.repeat, shape)


def _shape(view: View, values: tuple[int, ...]) -> tuple[int | str, ...]:
    meta = view.graph.values[values[0]].meta if len(values) == 1 else None
    return () if meta is None else tuple(meta.shape)
