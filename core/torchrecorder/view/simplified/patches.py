"""Patches of arithmetic, drawn as one: ops without parameters that follow from one another in a range of lines."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from torchrecorder.view import tuning
from torchrecorder.view.draft import Draft
from torchrecorder.view.facts import Facts
from torchrecorder.view.model import Node
from torchrecorder.view.node_kinds import op_kind, plain
from torchrecorder.view.op_families import IDEAS, JOINS

Folding = Literal["roomy", "usual", "full", "tight"]
"""Which patches of arithmetic are one node: large ones, but line by line those that weigh, gate or gather; large ones;
small ones, but large ones as in `roomy`; small ones as well."""
_BY_LINE = ("roomy", "full")
_LAYERS = ("conv", "linear", "pool", "attention")
"""Kinds of ops that stand for layers."""


def merge_patches(draft: Draft, facts: Facts, how: Folding, *, shows_weights: bool) -> None:
    """Draw a connected patch of many ops as one node, named by its function or by its last op.

    Nothing leads out of a patch and back into it. Only its end is read by something else: of two results no line could
    say which it brings, so what leads to both is one patch, and the rest are others. If the room is wanted, a few ops
    are a patch as well.
    """
    if len(draft.nodes) > tuning.MAX_ASKED:  # time grows with the square of a patch
        return
    steps = (node.box for node in draft.nodes.values() if node.kind in ("call", "op", "function"))
    size = Counter([*steps, *(box.parent for box in draft.boxes.values())])
    for group in [*_groups(draft, facts, how)]:
        nodes = [draft.nodes[id_] for id_ in sorted(group)]
        if len(nodes) == size[nodes[0].box]:  # a reader who opens a box of arithmetic wants to see it
            continue
        ops = tuple(sorted(op for node in nodes for part in (node.parts or (node,)) for op in facts.ops_of(part)))
        end = next(node for node in nodes if group.isdisjoint(draft.heads[node.id]))
        op = draft.graph.ops[max(op for part in (end.parts or (end,)) for op in facts.ops_of(part))]
        # the function without layers that it ran in, the variable that gets it, unless that is a letter, or its own
        function = "" if op.frame is None else draft.graph.frames[op.frame].short
        variable = draft.graph.variable(op) if len(draft.graph.variable(op)) > 1 else ""
        names = (function, variable) if op.frame in facts.opaque and how not in _BY_LINE else (variable, function)
        name = next(filter(None, names), plain(op.name))
        whole = replace(nodes[0], kind="function", op=op.id, ops=ops, parts=(), name=name)
        draft.merge([node.id for node in nodes], replace(whole, decides=any(node.decides for node in nodes)))
        for tail in [*draft.tails[nodes[0].id]]:
            is_named = draft.nodes[tail].kind in ("param", "buffer") and not draft.is_looped(tail)
            if is_named and draft.heads[tail].keys() == {nodes[0].id} and not shows_weights:  # the formula has its name
                draft.drop(tail)


def _groups(draft: Draft, facts: Facts, how: Folding) -> Iterator[set[int]]:
    """The patches that are one node, or the lines of the code in them."""
    lines = [*_Patches(draft, facts, by_line=True).all()] if how in _BY_LINE else []
    is_small = how in ("full", "tight")
    for patch in _Patches(draft, facts).all():
        drawn = (part for id_ in patch for part in (draft.nodes[id_].parts or (draft.nodes[id_],)))
        ran = {plain(draft.graph.ops[op].name) for part in drawn for op in facts.ops_of(part)}
        tells = how in _BY_LINE and not ran.isdisjoint(IDEAS) and not (is_small and len(patch) <= tuning.LARGE_PATCH)
        for part in (line for line in lines if line <= patch) if tells else (patch,):
            yield from _cut(draft, part, tuning.SMALL_PATCH if tells or is_small else tuning.LARGE_PATCH)


def _cut(draft: Draft, patch: set[int], least: int) -> Iterator[set[int]]:
    """The patch if it can be one node, or its parts that can."""
    if len(patch) <= least:
        return
    read = {node for node in patch if not patch.issuperset(draft.heads[node])}
    read |= {tail for tail, _ in draft.backs if tail in patch}  # by the next turn
    if len(read) < 2 and sum(patch.isdisjoint(draft.heads[node]) for node in patch) == 1:
        yield patch
    elif len(read) > 1:
        leads_to: dict[int, frozenset[int]] = {}
        for node in sorted(patch, reverse=True):
            below = (leads_to[head] for head in draft.heads[node] if head in patch)
            leads_to[node] = frozenset((node,) if node in read else ()).union(*below)
        for ends in {*leads_to.values()}:
            yield from _cut(draft, {node for node in patch if leads_to[node] == ends}, least)


class _Patches:
    def __init__(self, draft: Draft, facts: Facts, *, by_line: bool = False) -> None:
        self.draft, self.graph, self._by_line = draft, draft.graph, by_line
        calls = (call for node in draft.nodes.values() for part in (node, *node.parts) for call in part.calls)
        self._layers = sorted(facts.tree.first_op[call] for call in calls)
        """The first ops of the layers that are drawn."""
        self._patch: dict[int, set[int]] = {}
        self._again: dict[object, set[int]] = {}
        """By place in the code the nodes of what ran there."""
        for node in draft.nodes.values():
            if node.op is not None:
                self._again.setdefault(self._place(node), set()).add(node.id)

    def _place(self, node: Node) -> object:
        op = self.graph.ops[node.op or 0]
        return op.id if op.source is None else (op.call, op.source, op.offset)

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
        x, y = self.graph.ops[node.op or 0], self.graph.ops[tail.op or 0]
        if other is None or other is group or node.box != tail.box or (x.call, x.frame) != (y.call, y.frame):
            return
        if self._by_line and (x.source is None or x.source != y.source):
            return
        if bisect(self._layers, x.id) != bisect(self._layers, y.id):  # a layer ran between them
            return
        twins = [self._again[self._place(one)] for one in (node, tail)]
        if len({*map(len, twins)}) > 1 and not all(len(of) == 1 or of <= group | other for of in twins):
            return  # only one of several turns
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
