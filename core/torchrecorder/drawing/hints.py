"""What DOT says besides nodes, boxes and edges: what stands side by side, where to leave room, shapes on edges."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from torchrecorder.drawing.names import tensor
from torchrecorder.view import View


def same_rank(view: View) -> list[list[int]]:
    """Groups of nodes in one box that one and the same tensor feeds, and nothing else: query, key and value.

    Layout would else place each as near to its reader as it can. Only calls of one class are grouped, so a shortcut
    does not stand beside the first layer it leads past.
    """
    tails: dict[int, list[int]] = {}
    for edge in view.edges:
        if view.nodes[edge.tail].kind not in ("param", "buffer", "const"):
            tails.setdefault(edge.head, []).append(edge.tail)
    groups: dict[tuple[object, ...], list[int]] = {}
    for node in view.nodes:
        fed_by = tails.get(node.id, [])
        if node.kind == "call" and len(fed_by) == 1:
            module = view.graph.modules.get(view.graph.calls[node.calls[0]].module)
            groups.setdefault((node.box, fed_by[0], module.cls if module else ""), []).append(node.id)
    return [nodes for nodes in groups.values() if len(nodes) > 1]


def passed_inside(view: View) -> set[int]:
    """Boxes that a skip enters or leaves in the middle, so that it runs beside what else is in them.

    Layout reckons with its ends only: without more room there, the skip would run on the border of the box.
    """
    parents = {box.id: box.parent for box in view.boxes}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for node in view.nodes:
        for box in _around(node.box, parents):
            first.setdefault(box, node.id)
            last[box] = node.id
    found: set[int] = set()
    for edge in view.edges:
        if edge.skip:
            tails, heads = ([*_around(view.nodes[end].box, parents)] for end in (edge.tail, edge.head))
            for ends, others, outermost, at in ((heads, tails, first, edge.head), (tails, heads, last, edge.tail)):
                for box in ends:
                    if box in others:
                        break
                    if outermost[box] != at:
                        found.add(box)
                    at = outermost[box]
    return found


def _around(box: int | None, parents: dict[int, int | None]) -> Iterator[int]:
    while box is not None:
        yield box
        box = parents[box]


def edge_shapes(view: View, show: Collection[str] = ()) -> dict[tuple[int, int], str]:
    """The text of each edge that has one, by tail and head.

    An edge says the shape if it differs from the shape that its tail got, once for each end and shape, and once for
    steps alike in a box, such as those that turn queries and keys. Inputs, outputs and constants say their shape
    themselves.
    """
    got: dict[int, str] = {}
    written: set[tuple[object, ...]] = set()
    found: dict[tuple[int, int], str] = {}
    for edge in sorted(view.edges, key=lambda edge: (edge.head, edge.tail)):
        got.setdefault(edge.head, _shape(view, edge.value, show))
    for edge in sorted(view.edges, key=lambda edge: (edge.tail, edge.skip, edge.head)):
        shape = _shape(view, edge.value, show)
        values = view.nodes[edge.tail].values
        own = _shape(view, values[0], show) if len(values) == 1 else ""
        is_known = _without_ones(shape) == _without_ones(own) if own else shape == got.get(edge.tail)
        if is_known or not shape or view.nodes[edge.head].kind == "output":
            continue
        news = {("tail", edge.tail, shape), ("head", edge.head, shape)}
        node = view.nodes[edge.tail]
        step: str | int = edge.tail  # what the node does: the name of its op, or the class of its layer
        if node.kind == "op" and node.op is not None:
            step = view.graph.ops[node.op].name
        elif node.kind == "call" and (module := view.graph.modules.get(view.graph.calls[node.calls[0]].module)):
            step = module.cls
        alike = (node.box, step, got.get(edge.tail), shape)
        if not news & written and alike not in written:
            found[edge.tail, edge.head] = shape
            written |= {*news, alike}
    return found


def _without_ones(shape: str) -> str:
    """The shape without axes of one, which broadcasting adds."""
    return "×".join(size for size in shape.split("×") if size != "1")


def _shape(view: View, value: int, show: Collection[str]) -> str:
    return tensor(view.graph.values[value].meta, show)
