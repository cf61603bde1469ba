"""On which edges a picture says the shape: where it is news."""

from __future__ import annotations

from collections.abc import Collection

from torchrecorder.drawing.labels import units
from torchrecorder.view import View


def edge_shapes(view: View, show: Collection[str] = ()) -> dict[tuple[int, int], str]:
    """The text of each edge that has one, by tail and head.

    An edge says the shape if it differs from the shape that its tail got, once for each end and shape, and once for
    steps alike in a box, such as those that turn queries and keys. Inputs, outputs and constants say their shape
    themselves.
    """
    got: dict[int, str] = {}
    said: set[tuple[object, ...]] = set()
    found: dict[tuple[int, int], str] = {}
    for edge in sorted(view.edges, key=lambda edge: (edge.head, edge.tail)):
        got.setdefault(edge.head, _said(view, edge.value, show))
    for edge in sorted(view.edges, key=lambda edge: (edge.tail, edge.skip, edge.head)):
        shape = _said(view, edge.value, show)
        own = _own(view, edge.tail, show)
        is_known = _without_ones(shape) == _without_ones(own) if own else shape == got.get(edge.tail)
        if is_known or not shape or view.nodes[edge.head].kind == "output":
            continue
        news = {("tail", edge.tail, shape), ("head", edge.head, shape)}
        alike = (*_step(view, edge.tail), got.get(edge.tail), shape)
        if not news & said and alike not in said:
            found[edge.tail, edge.head] = shape
            said |= {*news, alike}
    return found


def _without_ones(shape: str) -> str:
    """The shape without axes of one, which broadcasting adds."""
    return "×".join(size for size in shape.split("×") if size != "1")


def _step(view: View, tail: int) -> tuple[object, ...]:
    """What a node does and where: its box, and the name of its op or the class of its layer."""
    node = view.nodes[tail]
    if node.kind == "op" and node.op is not None:
        return node.box, view.graph.ops[node.op].name
    module = view.graph.modules.get(view.graph.calls[node.calls[0]].module) if node.kind == "call" else None
    return node.box, module.cls if module else tail


def _own(view: View, node: int, show: Collection[str]) -> str:
    """The shape that a node shows itself."""
    values = view.nodes[node].values
    return _said(view, values[0], show) if len(values) == 1 else ""


def _said(view: View, value: int, show: Collection[str]) -> str:
    return units.tensor(view.graph.values[value].meta, show)
