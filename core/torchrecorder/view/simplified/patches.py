"""Patches of arithmetic, drawn as one: ops without parameters that follow from one another in a range of lines."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from torchrecorder.graph.model import Graph, Op
from torchrecorder.view import tuning
from torchrecorder.view.draft import Draft
from torchrecorder.view.facts import Facts
from torchrecorder.view.model import Node
from torchrecorder.view.node_kinds import op_kind, plain
from torchrecorder.view.op_families import IDEAS, JOINS

_LAYERS = ("conv", "linear", "pool", "attention")
"""Kinds of ops that stand for layers."""


def merge_patches(draft: Draft, facts: Facts, *, is_roomy: bool) -> None:
    """Draw a connected patch of many ops as one node, named by its function or by its last op.

    Nothing leads out of a patch and back into it. It has one end, and at most one more op that something else reads.
    """
    if len(draft.nodes) > tuning.MAX_ASKED:  # time grows with the square of a patch
        return
    steps = (node.box for node in draft.nodes.values() if node.kind in ("call", "op", "function"))
    size = Counter([*steps, *(box.parent for box in draft.boxes.values())])
    for group in _Patches(draft, facts).all():
        nodes = [draft.nodes[id_] for id_ in sorted(group)]
        ends = [node for node in nodes if group.isdisjoint(draft.heads[node.id])]
        read = sum(not group.issuperset(draft.heads[node.id]) for node in nodes)
        if len(nodes) <= tuning.LARGE_PATCH or len(ends) > 1 or read > tuning.RESULTS:
            continue
        if len(nodes) == size[nodes[0].box]:  # a reader who opens a box of arithmetic wants to see it
            continue
        ops = tuple(sorted(op for node in nodes for part in (node.parts or (node,)) for op in facts.ops_of(part)))
        if is_roomy and any(plain(draft.graph.ops[op].name) in IDEAS for op in ops):
            continue
        op = draft.graph.ops[facts.ops_of((ends[0].parts or ends)[-1])[-1]]
        name = _name(draft.graph, op)
        whole = replace(nodes[0], kind="function", op=op.id, ops=ops, parts=(), name=name)
        draft.merge([node.id for node in nodes], replace(whole, decides=any(node.decides for node in nodes)))


def _name(graph: Graph, op: Op) -> str:
    """The function that an op ran in, the variable that gets it, unless that is a letter, or its own name."""
    function = "" if op.frame is None else graph.frames[op.frame].short
    return function or (graph.variable(op) if len(graph.variable(op)) > 1 else plain(op.name))


class _Patches:
    def __init__(self, draft: Draft, facts: Facts) -> None:
        self.draft, self.graph = draft, draft.graph
        calls = (call for node in draft.nodes.values() for part in (node, *node.parts) for call in part.calls)
        self._layers = sorted(facts.tree.first_op[call] for call in calls)
        """The first ops of the layers that are drawn."""
        self._patch: dict[int, set[int]] = {}

    def all(self) -> Iterator[set[int]]:
        for node in self.draft.nodes.values():
            if node.kind != "op" or node.op is None or not self._is_arithmetic(node):
                continue
            self._patch[node.id] = {node.id}
            for tail in sorted(self.draft.tails[node.id], reverse=True):
                self._unite(node, self.draft.nodes[tail])
        yield from {id(group): group for group in self._patch.values()}.values()

    def _unite(self, node: Node, tail: Node) -> None:
        group, other = self._patch[node.id], self._patch.get(tail.id)
        if other is None or other is group or node.box != tail.box or not self._are_together(node, tail):
            return
        if self.draft.is_convex(group | other):
            group |= other
            self._patch.update(dict.fromkeys(group, group))

    def _is_arithmetic(self, node: Node) -> bool:
        if any(part.kind not in ("op", "buffer", "const") for part in node.parts):
            return False
        name = plain(self.graph.ops[node.op or 0].name)
        if name in JOINS:  # of what layers give
            return not self._patch.keys().isdisjoint(self.draft.tails[node.id])
        return op_kind(name) not in _LAYERS or name == "einsum"

    def _are_together(self, node: Node, tail: Node) -> bool:
        """Whether they are of one function, and no layer ran between them."""
        x, y = self.graph.ops[node.op or 0], self.graph.ops[tail.op or 0]
        is_near = bisect(self._layers, x.id) == bisect(self._layers, y.id)
        return is_near and (x.call, x.frame) == (y.call, y.frame)
