"""What leaves the spine of a picture: constants, masks and positions, and outputs that are lists of a second kind.

A value is *aside* if it comes from constants, buffers and inputs of integers or truth values only, and no op with
weights was between. What makes such values is drawn only where something reads nothing but them, as an embedding does,
or takes them as an index, as a graph network takes its edges. What is left out is counted in a note, and drawn at
`depth: all`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

from torchrecorder.graph.model import Graph, Op
from torchrecorder.view.facts import Facts, is_no_feature
from torchrecorder.view.model import Node, View
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import INDEXING
from torchrecorder.view.plan.reads import lists
from torchrecorder.view.simplified.draft import Draft


def without_asides(view: View, facts: Facts) -> View:
    """The View without what only shapes, masks and positions need; itself if nothing would be left."""
    draft, asides = Draft(view), _Asides(view, facts)
    dropped = asides.clear(draft)
    if not any(node.kind in ("call", "op", "gap", "function") for node in draft.nodes.values()):
        return view
    if dropped:
        inputs = (value for node in reversed(dropped) if node.kind == "input" for value in node.values)
        return replace(draft.view(), aside=(*view.aside, *inputs))
    return view


class _Asides:
    def __init__(self, view: View, facts: Facts) -> None:
        self.view, self.graph = view, view.graph
        self.tree, self.aside, self._by_lot = facts.tree, facts.aside, facts.drawn_by_lot
        self._blank = facts.blank
        self._known: dict[int, bool] = dict.fromkeys(_fed_back(view), False)

    def clear(self, draft: Draft) -> list[Node]:
        """Takes nodes out, from the end, and gives those."""
        outputs = {node.id for node in self.view.nodes if node.kind == "output"}
        secondary = {node.id for node in self.view.nodes if self._is_list(node)}
        has_data = any(not self._is_aside(self.view.nodes[tail]) for id_ in outputs for tail in draft.tails[id_])
        read = {edge.tail for edge in self.view.edges}
        dropped = []
        for node in reversed(self.view.nodes):
            is_unread = bool(outputs) and not draft.is_read(node.id) and self._is_dead(node)
            is_idle = is_unread or (node.id in read and not draft.is_read(node.id) and not self._has_weights(node))
            if node.kind == "output":  # such as the lengths that were given
                is_idle = has_data and all(self._is_aside(self.view.nodes[tail]) for tail in draft.tails[node.id])
                is_idle |= has_data and all(value in self._by_lot for value in node.values)
            if node.id in secondary or is_idle or self._is_constant(draft, node):
                dropped.append(node)
                draft.drop(node.id)
                continue
            for tail in [*draft.tails[node.id]]:
                if self._is_aside(self.view.nodes[tail]) and not self._needs(draft, node, tail):
                    draft.part(tail, node.id)
        return dropped

    def _is_dead(self, node: Node) -> bool:
        """Whether these are ops that lead to nothing: no output, no branch of the code, nothing that they change."""
        if node.kind not in ("op", "function") or node.decides or self.graph.info.failure is not None:
            return False
        return not any(self._must_be_seen(self.graph.ops[op]) for op in self._ops(node))

    def _has_weights(self, node: Node) -> bool:
        return any(
            self.graph.values[value].kind == "param" for op in self._ops(node) for value in self.graph.ops[op].inputs
        )

    def _must_be_seen(self, op: Op) -> bool:
        """Whether it changes something, or has parameters."""
        return bool(op.mutates) or any(self.graph.values[value].kind == "param" for value in op.inputs)

    def _is_constant(self, draft: Draft, node: Node) -> bool:
        """Whether it is a constant that no op is named with."""
        is_named = bool(node.name) and any(draft.nodes[head].kind == "op" for head in draft.heads[node.id])
        is_number = node.kind == "buffer" and all(is_no_feature(self.graph, value) for value in node.values)
        return (node.kind == "const" or is_number) and not is_named

    def _is_list(self, node: Node) -> bool:
        if node.kind != "output":
            return False
        return node.name.partition(".")[0] in self._lists

    @cached_property
    def _lists(self) -> set[str]:
        is_whole = bool(self.view.boxes) and self.view.boxes[0].calls == (0,)
        return lists(self.graph, self.graph.outputs) if is_whole else set()

    def _is_aside(self, node: Node) -> bool:
        """Whether all that the node gives is aside; asked once for each of its readers."""
        if node.id not in self._known:
            self._known[node.id] = self._has_asides(node)
        return self._known[node.id]

    def _has_asides(self, node: Node) -> bool:
        if node.kind in ("call", "op", "function"):
            given = [value for op in self._ops(node) for value in self.graph.ops[op].outputs]
            return bool(given) and self.aside.issuperset(given)
        return node.kind in ("input", "const") and self.aside.issuperset(node.values)

    def _needs(self, draft: Draft, node: Node, tail: int) -> bool:
        """Whether the node cannot be understood without the aside value that it reads."""
        if self._is_blank(tail) and not all(self._is_blank(other) for other in draft.tails[node.id]):
            return False
        if self._is_aside(node) or all(self._is_aside(self.view.nodes[t]) for t in draft.tails[node.id]):
            return True
        return draft.tails[node.id][tail] in self._used_in(node) or any(
            value in self._used_in(node) for value in self.view.nodes[tail].values
        )

    def _is_blank(self, node: int) -> bool:
        given = [value for op in self._ops(self.view.nodes[node]) for value in self.graph.ops[op].outputs]
        return bool(given) and self._blank.issuperset(given)

    def _used_in(self, node: Node) -> set[int]:
        """The aside values that an op within the node takes as an index, or has nothing else than."""
        used: set[int] = set()
        for id_ in reversed(self._ops(node)):
            op = self.graph.ops[id_]
            if all(value in self.aside for value in op.outputs):
                if used.intersection(op.outputs):
                    used.update(op.inputs)
            elif plain(op.name) in INDEXING or self._has_only_asides(op):
                used.update(value for value in op.inputs if value in self.aside)
        return used

    def _has_only_asides(self, op: Op) -> bool:
        return all(value in self.aside or self.graph.values[value].kind == "param" for value in op.inputs)

    def _ops(self, node: Node) -> list[int]:
        if node.kind in ("op", "function"):
            return [*node.ops] or ([] if node.op is None else [node.op])
        return [op for call in node.calls for op in self.tree.all_ops_of(call)]


def _fed_back(view: View) -> set[int]:
    """The nodes that depend on what an earlier turn of a loop gave: in the first turn it may be a constant."""
    below: dict[int, list[int]] = {}
    for edge in view.edges:
        below.setdefault(edge.tail, []).append(edge.head)
    pending = [edge.head for edge in view.edges if edge.back]
    found = {*pending}
    while pending:
        new = [head for head in below.get(pending.pop(), ()) if head not in found]
        found.update(new)
        pending += new
    return found


def named_in_readers(view: View) -> View:
    """The View with tables and tokens named in the op that reads them: `+ pos_embedding`, `cat class_token`."""
    draft = Draft(view)
    n_steps = Counter(node.box for node in view.nodes if node.kind in ("call", "op", "function"))
    n_steps.update(box.parent for box in view.boxes)
    with_weights: set[int] = set()
    for node in view.nodes:
        is_data = node.kind in ("param", "buffer") or (node.kind == "const" and bool(node.name))
        is_table = node.kind == "call" and not draft.tails[node.id] and node.repeat == 1
        is_table &= not draft.is_looped(node.id)
        if not (is_data or is_table) or len(draft.heads[node.id]) != 1:
            continue
        reader = draft.nodes[next(iter(draft.heads[node.id]))]
        if _is_part(view.graph, reader) and len(draft.tails[reader.id]) == len(draft.heads[reader.id]) == 1:
            head, value = next(iter(draft.heads[reader.id].items()))
            node = replace(node, ops=(*node.ops, *(() if reader.op is None else (reader.op,))))
            draft.nodes[node.id] = node
            draft.drop(reader.id)
            draft.join(node.id, head, value)
            reader = draft.nodes[head]
        if reader.kind in ("op", "function") and len(draft.tails[reader.id]) > 1:
            read = sum(draft.nodes[tail].kind == node.kind for tail in draft.tails[reader.id])
            draft.drop(node.id)
            if reader.kind == "function" and (n_steps[reader.box] == 1 or read > 1 or reader.id in with_weights):
                with_weights.add(reader.id)
                draft.nodes[reader.id] = replace(reader, ops=(*reader.ops, *node.ops))
                continue  # the weights of a layer whose forward is this function, or all but is
            parts = reader.parts or (reader,)
            draft.nodes[reader.id] = replace(reader, parts=(*parts, node))
    return draft.view()


def _is_part(graph: Graph, node: Node) -> bool:
    """Whether it takes a part of a table, such as the positions up to the length of a text."""
    return node.kind == "op" and node.op is not None and plain(graph.ops[node.op].name) in ("getitem", "narrow")
