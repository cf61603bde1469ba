"""What layout is told besides nodes, boxes and edges: what to put side by side, and where to leave room."""

from __future__ import annotations

from collections.abc import Iterator

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
