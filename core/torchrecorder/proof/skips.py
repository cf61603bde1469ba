"""Whether each orange line is a skip: it and what it leads past join again, and this has the parameters.

Followed over the drawn lines, of which the flow is proved. What comes of something else is none, such as another piece
of a tensor than the one that goes on, or what is left of a difference for what was taken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from math import prod

from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import JOINS, Fault
from torchrecorder.view.model import Node

_SUMS = frozenset(("add", "add_", "sub", "sub_"))
_AXES = 2
"""Axes that the result of a join has at least: a loss, or a number for each example, rates what comes to it."""
_CUTS = frozenset(("chunk", "split", "split_with_sizes", "tensor_split", "unbind", "hsplit", "vsplit", "dsplit"))


class SkipProof:
    def __init__(self, coverage: Coverage) -> None:
        self.coverage, self.facts, self.view, self.graph = coverage, coverage.facts, coverage.view, coverage.graph
        n = len(self.view.nodes)
        self.into: list[dict[int, int]] = [{} for _ in range(n)]
        """For each node the values that lines bring it, by the node that gives them."""
        self.out: list[dict[int, int]] = [{} for _ in range(n)]
        self.skips: dict[tuple[int, int], None] = {}
        for edge in (edge for edge in self.view.edges if not edge.back and self.view.nodes[edge.head].kind != "to"):
            for tail in self.view.nodes[edge.tail].links or (edge.tail,):
                self.into[edge.head][tail] = self.out[tail][edge.head] = edge.value
                self.skips |= {(tail, edge.head): None} if edge.skip else {}

    def faults(self) -> Iterator[Fault]:
        for tail, head in self.skips:
            if why := self._wrong(tail, head):
                words = f"the line from node {tail} to node {head} is drawn as a skip, and {why}"
                yield Fault("skips", words, (self.coverage.root, tail, head))

    def _wrong(self, tail: int, head: int) -> str:
        start, end, chain = tail, head, set[int]()
        while len(self.out[start]) == 1 and (before := [it for it in self.into[start] if (it, start) in self.skips]):
            chain.add(start)
            start = before[0]
        while len(self.into[end]) == len(self.out[end]) == 1 and not self._joins(self.view.nodes[end]):
            chain.add(end)
            end = next(iter(self.out[end]))
        if not self._joins(self.view.nodes[end]):
            return "nothing joins it with what it leads past"
        others = (self._reached(start, end) - chain) & self._leading(end) - {start, end}
        if sum(map(self._size, chain)) > sum(map(self._size, others)) or not any(map(self._size, others)):
            return "what it leads past has less parameters"
        first = min(chain | {end}, key=lambda node: node not in self.out[start])
        own, on = self._pieces(self.out[start][first]), self.out[start].keys() & (others | {end}) - {first}
        ways = [self._pieces(self.out[start][node]) for node in on]
        is_other = bool(ways) and all(any(own.get(op, at) != at for op, at in way.items()) for way in ways)
        return "it carries another piece than what it leads past" if is_other else ""

    def _joins(self, node: Node) -> bool:
        """Whether several tensors come together in it: a sum, a concatenation, a function or a layer of the user's."""
        first = node.parts[0] if node.parts else node
        if len(self.into[node.id]) < 2 or first.kind not in ("op", "function", "call"):
            return False
        module = self.graph.modules.get(self.graph.calls[first.calls[0]].module) if first.calls else None
        is_leaf = module is not None and module.native and not self.facts.children[first.calls[0]]
        axes = [len(self.graph.values[value].shape) for value in self.out[node.id].values()]
        if first.kind != "op" and axes and max(axes) < _AXES:
            return False
        return not is_leaf and (first.kind != "op" or self.graph.ops[first.op or 0].name in JOINS | _SUMS)

    def _reached(self, start: int, end: int) -> Set[int]:
        """The nodes that data of one comes to, but for what it is only taken off on the way to the end."""
        reached, pending = set[int](), [start]
        while pending:
            node = pending.pop()
            on = {head for head in self.out[node] if head == end or not self._is_taken_off(node, head)} - reached
            reached |= on
            pending += on
        return reached

    def _leading(self, end: int) -> Set[int]:
        leading, pending = set[int](), [end]
        while pending:
            before = self.into[pending.pop()].keys() - leading
            leading |= before
            pending += before
        return leading

    def _is_taken_off(self, tail: int, head: int) -> bool:
        first = (*self.view.nodes[head].parts, self.view.nodes[head])[0]
        op = self.graph.ops[first.op] if first.kind == "op" and first.op is not None else None
        return op is not None and op.name in ("sub", "sub_") and op.inputs[1:] == (self.into[head][tail],)

    def _size(self, node: int) -> int:
        """The numbers in the parameters of what a node shows."""
        parts = (self.view.nodes[node], *self.view.nodes[node].parts)
        paths = {self.graph.calls[call].module for part in parts for call in part.calls}
        ops = (self.graph.ops[op] for part in parts for op in part.own_ops)
        values = (self.graph.values[value] for op in ops for value in op.inputs)
        read = {it.name: prod(n for n in it.shape if isinstance(n, int)) for it in values if it.kind == "param"}
        return sum(read.values()) + sum(self.graph.modules[it].params.total for it in paths if it in self.graph.modules)

    def _pieces(self, value: int) -> dict[int, int]:
        """By op that gives a tensor in pieces the position of that which a value is, or is moved from."""
        pieces, same = dict[int, int](), range(len(self.graph.values))
        while (made := self.graph.values[value].producer) is not None:
            op = self.graph.ops[made]
            if not op.inputs or not self.facts.is_move(op, same):
                break
            if op.name in _CUTS:
                pieces[made] = self.graph.values[value].index
            value = op.inputs[0]
        return pieces
