"""A user's own look: what a styler gets to see of a picture, the class it may start from, and how it is asked."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torchrecorder.labels.labels import Labels
from torchrecorder.view import Box, Node, View


@dataclass(frozen=True, slots=True)
class StyledNode:
    """A node or a box of a picture, as a styler sees it."""

    kind: str
    """What it is drawn as: `conv`, `linear`, `norm`, `act`, `pool`, `attention`, `io`, `op`, `block`, `data`, `link`;
    `box` for a layer that is drawn around others."""
    label: str
    """Its words, one or two lines."""
    path: str = ""
    """The path of the layer in the model, `layer1.0.conv1`; empty for the model, an op and a value."""
    cls: str = ""
    """The class of the layer with its module, `torch.nn.modules.conv.Conv2d`; empty for an op and a value."""
    op: str = ""
    """The full name of the operation, `torch.cat`; empty for a layer and a value."""
    params: int = 0
    """Number of parameters in the layer."""
    repeat: int = 1
    """The N of `×N`."""
    shape: tuple[int | str, ...] = ()
    """The shape of what it gives, as far as it is one tensor."""


class Styler:
    """Styles the nodes, boxes and edges of a picture. A subclass overrides what it wants to change.

    Both methods return attributes by Graphviz's names, as `GraphvizStyler` of torchrecorder 1.0.3 did; what is not
    named stays as the theme has it. Nodes and boxes take `label`, `fillcolor`, `color` (of the line), `fontcolor`,
    `penwidth` (points, up to 6) and `style` (`solid`, `dashed`, `dotted`); edges take `color`, `penwidth` and `style`.
    A colour is `#rrggbb` or a name such as `orange`. A styler need not be a subclass: one of the methods is enough.
    """

    def style_node(self, node: StyledNode) -> Mapping[str, object]:
        """The attributes of a node or box; none if it stays as it is."""
        return {}

    def style_edge(self, tail: StyledNode, head: StyledNode) -> Mapping[str, object]:
        """The attributes of the edge from one node to another; none if it stays as it is."""
        return {}


@dataclass(frozen=True, slots=True)
class StylerInput:
    nodes: tuple[StyledNode, ...]
    boxes: tuple[StyledNode, ...]
    edges: tuple[tuple[int, int], ...]
    """Positions of tail and head among the nodes."""

    @staticmethod
    def of(view: View, labels: Labels) -> StylerInput:
        nodes = []
        for node in view.nodes:
            label, kind = labels.node(node), labels.kind(node)
            text = "\n".join(filter(None, (label.name, label.line)))
            if node.kind == "call":
                nodes.append(_layer(view, kind, text, node))
                continue
            op = view.graph.ops[node.op] if node.kind == "op" and node.op is not None else None
            shape = _shape(view, node.values if op is None else op.outputs)
            name = node.name if node.kind == "function" else "" if op is None else op.target
            nodes.append(StyledNode(kind, text, op=name, shape=shape))
        boxes = tuple(_layer(view, "box", labels.box(box), box) for box in view.boxes)
        return StylerInput(tuple(nodes), boxes, tuple((edge.tail, edge.head) for edge in view.edges))


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


class StylerRaised(Exception):
    """A styler raised an exception, or is not a styler."""

    def __init__(self, reason: str, trace: str = "") -> None:
        super().__init__(reason)
        self.reason, self.trace = reason, trace

    @staticmethod
    def by(doing: str, error: Exception) -> StylerRaised:
        trace = "".join(traceback.format_exception(error))
        return StylerRaised(f"{doing} raised {type(error).__name__}: {error}", trace)


def run_styler(styler: object, given: StylerInput) -> dict[str, list[object]]:
    """What the styler answers for each node, box and edge, unchecked."""
    styler = _guarded("creating it", styler) if isinstance(styler, type) else styler
    of_node, of_edge = (getattr(styler, name, None) for name in ("style_node", "style_edge"))
    if not callable(of_node) and not callable(of_edge):
        raise StylerRaised(f"{type(styler).__name__} has no method style_node or style_edge")
    pairs = [(given.nodes[tail], given.nodes[head]) for tail, head in given.edges]
    return {
        "nodes": [_guarded(f"style_node for {node.label!r}", of_node, node) for node in given.nodes],
        "boxes": [_guarded(f"style_node for {box.label!r}", of_node, box) for box in given.boxes],
        "edges": [_guarded(f"style_edge from {a.label!r} to {b.label!r}", of_edge, a, b) for a, b in pairs],
    }


def _guarded(doing: str, method: Callable[..., object] | None, *arguments: StyledNode) -> object:
    try:
        return method(*arguments) if callable(method) else {}
    except Exception as error:
        raise StylerRaised.by(doing, error) from error
