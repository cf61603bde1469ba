"""From what ran to what readers take for one thing: steps that edit one Draft, in the order of `simplified`.

`depth: all` draws what ran, and so does a view without contraction; a classic recording keeps the picture of its time.

A value is *aside* if it comes from constants, buffers and inputs of integers or truth values only, and no op with
weights was between. What makes such values is drawn only where something reads nothing but them, as an embedding does,
or takes them as an index, as a graph network takes its edges. A note counts what is left out. An input that it is made
of leads to what reads it: else it would seem that nothing depends on the input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Set
from dataclasses import replace

from torchrecorder.view.draft import Draft, Pair
from torchrecorder.view.facts import Facts, is_no_feature
from torchrecorder.view.model import Node
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import INDEXING, JOINS, LOSSES, SHAPED_LIKE
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.simplified.columns import merge_asked, merge_columns
from torchrecorder.view.simplified.merged import (
    merge_functions,
    merge_layers,
    merge_scale_and_shift,
    merge_single_boxes,
)
from torchrecorder.view.simplified.patches import Folding, merge_patches


def simplified(draft: Draft, visible: Visibility, asked: Set[int] = frozenset(), folding: Folding = "usual") -> Draft:
    """A Draft with fewer nodes that say as much; `asked` are calls that stay open even around one node."""
    options, facts, info = visible.options, visible.facts, draft.graph.info
    if options.depth == "all" or not visible.contract or info.recorder == "classic" or info.failure is not None:
        return draft
    draft = _without_asides(draft, facts)
    closed = {"tight": facts.light, "usual": facts.opaque}.get(folding, facts.opaque - facts.telling)
    merge_functions(draft, visible, asked, closed)
    draft.settle()
    if "weights" not in options.show:
        _name_in_readers(draft)
        draft.settle()
    merge_scale_and_shift(draft)
    merge_single_boxes(draft, asked)
    merge_layers(draft, facts, fold=bool(options.fold), marks=visible.marks)
    if merge_single_boxes(draft, asked):  # what had boxes of its own may be in series
        merge_layers(draft, facts, fold=bool(options.fold), marks=visible.marks)
    if options.fold:
        merge_asked(draft, facts)
        merge_columns(draft, facts)
        if visible.marks is None:  # in a comparison, each op has a fate of its own
            merge_patches(draft, facts, folding, shows_weights="weights" in options.show)
    draft.settle()
    return draft


def _without_asides(draft: Draft, facts: Facts) -> Draft:
    """The Draft without what only shapes, masks and positions need; itself if nothing would be left."""
    copied = draft.copy()
    dropped = _Asides(copied, facts).clear()
    if not any(node.kind in ("call", "op", "gap", "function") for node in copied.nodes.values()):
        return draft
    copied.aside += tuple(value for node in reversed(dropped) if node.kind == "input" for value in node.values)
    copied.settle()
    return copied


class _Asides:
    def __init__(self, draft: Draft, facts: Facts) -> None:
        self.draft, self.facts, self.graph = draft, facts, draft.graph
        self.nodes = {**draft.nodes}
        """Those of before, since a node is asked about that was taken out."""
        self.read = {tail for tail, heads in draft.heads.items() if heads} | {tail for tail, _ in draft.backs}
        root = next((box.calls[0] for box in draft.boxes.values()), 0)
        self.is_whole = root == 0
        states = facts.states(root)
        fed = [node.id for node in draft.nodes.values() if node.kind == "input" and not states.isdisjoint(node.values)]
        self._known: dict[int, bool] = dict.fromkeys(_reached(draft, [*fed, *(head for _, head in draft.backs)]), False)
        self._inputs = {node.id for node in draft.nodes.values() if node.kind == "input"}
        self._tails = {node: {**tails} for node, tails in draft.tails.items()}

    def clear(self) -> list[Node]:
        outputs = [node.id for node in self.nodes.values() if node.kind == "output"]
        has_data = any(not self._is_aside(tail) for id_ in outputs for tail in self.draft.tails[id_])
        is_part = has_data and not self.is_whole
        dropped, parted, led = list[Node](), list[tuple[int, int, int]](), list[Pair]()
        for node in reversed(self.nodes.values()):
            is_beside = node.kind == "output" and is_part and all(map(self._is_aside, self.draft.tails[node.id]))
            if is_beside or (node.kind != "output" and self._is_idle(node, outputs)) or self._is_constant(node):
                dropped.append(node)
                self.draft.drop(node.id)
                continue
            found = set[int]()
            for tail, value in [*self.draft.tails[node.id].items()]:
                is_kept = self.nodes[tail].kind == "call" and value in self.facts.aside  # a grid of another layer
                is_kept |= self._is_aside(tail) and not self._begins(self.nodes[tail])
                if is_kept and not self._needs(node, tail):
                    self.draft.part(tail, node.id)
                    parted.append((tail, node.id, value))
                    found |= self._behind(tail, value, self._inputs)
            for source in found - self.draft.tails[node.id].keys():  # what something drawn depends on is drawn
                self.draft.join(source, node.id, self.nodes[source].values[0])
                led.append((source, node.id))
        for pair in led:
            self.draft.part(*pair)
        for tail, head, value in parted:
            is_known = tail in self._inputs and tail in self.draft.nodes  # then it leads to all that read it
            for source in {tail} if is_known else self._behind(tail, value, self.draft.nodes):
                self.draft.join(source, head, value)
        return dropped

    def _is_idle(self, node: Node, outputs: list[int]) -> bool:
        """Whether nothing reads it any more, or it leads to no output, no branch of the code, and changes nothing."""
        if self.draft.is_read(node.id):
            return False
        ops = [self.graph.ops[op] for op in self._ops(node)]
        read = (value for op in ops if op.name not in SHAPED_LIKE for value in op.inputs)
        has_weights = any(self.graph.values[value].kind == "param" for value in read)
        if node.id in self.read and not has_weights:
            return True
        is_dead = node.kind in ("op", "function") and not node.decides and bool(outputs)
        return is_dead and not has_weights and not any(op.mutates for op in ops)

    def _is_constant(self, node: Node) -> bool:
        heads = (self.draft.nodes[head] for head in self.draft.heads[node.id])
        is_named = bool(node.name) and any(head.kind == "op" for head in heads)
        is_number = node.kind == "buffer" and all(is_no_feature(self.graph, value) for value in node.values)
        return (node.kind == "const" or is_number) and not is_named and not self._begins(node)

    def _begins(self, node: Node) -> bool:
        """Whether a loop begins with numbers that differ, such as one choice for each future; zeros tell nothing."""
        calls = {call for head in self.draft.heads[node.id] for call in self.draft.nodes[head].calls[:1]}
        is_counted = any(self.graph.ops[op].name == "arange" for op in node.ops)
        return is_counted and any(not self.facts.states(call).isdisjoint(node.values) for call in calls)

    def _is_aside(self, node: int) -> bool:
        if node not in self._known:
            row, given = self.nodes[node], self._given(node)
            given = [*row.values] if row.kind in ("input", "const") else [] if row.kind == "gap" else given
            self._known[node] = bool(given) and self.facts.aside.issuperset(given)
        return self._known[node]

    def _needs(self, node: Node, tail: int) -> bool:
        """Whether the node cannot be understood without the aside value that it reads."""
        tails = self.draft.tails[node.id]
        if self._is_blank(tail) and not all(map(self._is_blank, tails)):
            return False
        if self._is_aside(node.id) or all(map(self._is_aside, tails)) or self._joins(tail):
            return True
        return not self._used_in(node).isdisjoint((tails[tail], *self.nodes[tail].values))

    def _joins(self, node: int) -> bool:
        """Whether it makes one thing of several inputs, which without it would lead on as if apart."""
        op = self.nodes[node].op
        is_join = self.nodes[node].kind == "op" and op is not None and self.graph.ops[op].name in JOINS
        return is_join and len(self._inputs.intersection(self._tails[node])) > 1

    def _behind(self, tail: int, value: int, ends: Collection[int]) -> set[int]:
        """The nearest of some nodes that a value depends on, of the node which gives it and those before."""
        found, seen, pending = set[int](), set[int](), [(tail, value)]
        while pending:
            node, value = pending.pop()
            if value in self.facts.fed and node in ends:
                found.add(node)
            elif value in self.facts.fed and node not in seen:
                seen.add(node)
                pending += self._tails[node].items()
        return found

    def _is_blank(self, node: int) -> bool:
        given = self._given(node)
        return bool(given) and self.facts.blank.issuperset(given)

    def _given(self, node: int) -> list[int]:
        return [value for op in self._ops(self.nodes[node]) for value in self.graph.ops[op].outputs]

    def _used_in(self, node: Node) -> set[int]:
        """Aside values that an op within the node takes as an index or a target, or has nothing else than."""
        used: set[int] = set()
        for id_ in reversed(self._ops(node)):
            op = self.graph.ops[id_]
            if self.facts.aside.issuperset(op.outputs):
                if used.intersection(op.outputs):
                    used.update(op.inputs)
                continue
            asides = [value for value in op.inputs if value in self.facts.aside]
            weights = [value for value in op.inputs if self.graph.values[value].kind == "param"]
            is_loss = any(word in op.name for word in LOSSES)
            if is_loss or plain(op.name) in INDEXING or len({*asides, *weights}) == len(op.inputs):
                used.update(asides)
        return used

    def _ops(self, node: Node) -> list[int]:
        return self.facts.ops_of(node) if node.kind in ("call", "op", "function", "gap") else []


def _reached(draft: Draft, pending: list[int]) -> set[int]:
    """Some nodes and what depends on them: of an earlier turn of a loop, which in the first may be a constant."""
    reached = {*pending}
    while pending:
        new = draft.heads[pending.pop()].keys() - reached
        reached |= new
        pending += new
    return reached


def _name_in_readers(draft: Draft) -> None:
    """Names tables and tokens in the op that reads them: `+ pos_embedding`, `cat class_token`."""
    steps = [node.box for node in draft.nodes.values() if node.kind in ("call", "op", "function")]
    n_steps = Counter([*steps, *(box.parent for box in draft.boxes.values())])
    with_weights: set[int] = set()
    for node in [*draft.nodes.values()]:
        is_table = node.kind in ("param", "buffer") or (node.kind == "const" and bool(node.name))
        is_made = node.kind == "call" and not draft.tails[node.id] and node.repeat == 1 and not draft.is_looped(node.id)
        if not (is_table or is_made) or len(draft.heads[node.id]) != 1:
            continue
        reader = draft.nodes[next(iter(draft.heads[node.id]))]
        if node.box != reader.box and any(head == reader.id for _, head in draft.backs):
            continue  # it stands outside of a loop that only begins with it
        name = draft.graph.ops[reader.op].name if reader.kind == "op" and reader.op is not None else ""
        # a part of a table, such as the positions up to the length of a text
        if plain(name) in ("getitem", "narrow") and len(draft.tails[reader.id]) == len(draft.heads[reader.id]) == 1:
            head, value = next(iter(draft.heads[reader.id].items()))
            node = replace(node, ops=(*node.ops, *reader.own_ops))
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
            draft.nodes[reader.id] = replace(reader, parts=(*(reader.parts or (reader,)), node))
