"""A tensor that is scaled and shifted by two parts of what one node gives, as a condition does in a diffusion model.

`norm(x) * (1 + scale) + shift` is three nodes and two edges to each of them; authors write `scale, shift`.
"""

from __future__ import annotations

from dataclasses import replace

from torchrecorder.graph.model import Graph
from torchrecorder.view.model import Node, View
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.simplified.draft import Draft


def scaled_and_shifted(view: View) -> View:
    """The View with such sums and products as one node each."""
    products = [node for node in view.nodes if _name(view.graph, node) == "mul"]
    if not products:
        return view
    draft = Draft(view)
    for node in products:
        found = _affine(draft, node)
        if found:
            ops = tuple(node.op for node in found[:-1] if node.op is not None)
            parts = replace(found[-2], ops=ops), found[-1]
            draft.merge([one.id for one in found], replace(found[-2], parts=parts))
    return draft.view()


def is_affine(graph: Graph, node: Node) -> bool:
    """Whether a node is a product and a sum."""
    return [_name(graph, part) for part in node.parts] == ["mul", "add"]


def _affine(draft: Draft, product: Node) -> tuple[Node, ...]:
    """The nodes from `1 +` to the sum, if there is such a product; else none."""
    graph = draft.graph
    if len(draft.heads[product.id]) != 1 or len(draft.tails[product.id]) != 2:
        return ()
    total = draft.nodes[next(iter(draft.heads[product.id]))]
    if _name(graph, total) != "add" or total.box != product.box or len(draft.tails[total.id]) != 2:
        return ()
    (shift,) = draft.tails[total.id].keys() - {product.id}
    for tail in draft.tails[product.id]:
        one = draft.nodes[tail]
        if tail == shift:
            return product, total
        is_alone = _name(graph, one) == "add" and one.box == product.box and len(draft.heads[tail]) == 1
        if is_alone and draft.tails[tail].keys() == {shift}:
            return one, product, total
    return ()


def _name(graph: Graph, node: Node) -> str:
    is_plain = node.kind == "op" and node.op is not None and not node.parts
    return plain(graph.ops[node.op].name) if is_plain and node.op is not None else ""
