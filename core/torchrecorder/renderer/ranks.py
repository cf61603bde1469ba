"""Which nodes should stand side by side."""

from __future__ import annotations

from torchrecorder.graph import View


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
