"""Which edges are skip connections.

A tensor that one node gives to two others, one after the other, is often not passed by anything: the embedding of a
time step, a position bias, the memory of an encoder. A skip edge ends in a sum, a concatenation or a layer that gets
the same data by another way too, through at least one node. The ways that count are spines: from each node back to the
one that gave its main data, which is the first argument of a call, the first input of an op, and the longest way to a
sum or concatenation. A side branch that is shorter than the spine it leaves, such as a projection, is a skip as well.
Spines form a tree, so each question costs one comparison and the whole is linear.
"""

from __future__ import annotations

from dataclasses import replace

from torchrecorder.view.model import Edge, Node, View
from torchrecorder.view.op_families import JOINS, SUMS
from torchrecorder.view.order import Pair

_FEATURES = 1
"""Data of fewer axes are not features, so not a skip: a scale, a number of steps."""


def with_skips(view: View) -> View:
    """The View with its skip edges marked."""
    found = _Spines(view).skips()
    return replace(view, edges=tuple(replace(e, skip=not e.back and (e.tail, e.head) in found) for e in view.edges))


class _Spines:
    def __init__(self, view: View) -> None:
        self.view, self.graph, n = view, view.graph, len(view.nodes)
        self.into: list[list[Edge]] = [[] for _ in range(n)]
        self.degree = [0] * n
        for edge in (edge for edge in view.edges if not edge.back):
            self.into[edge.head].append(edge)
            self.degree[edge.tail] += 1
        self.main: list[list[Edge]] = []
        """For each node the edges that bring its main data."""
        self.spine, self.rank = [-1] * n, [0] * n
        """For each node the farthest of those that give it main data (-1 at a start), and its distance from there."""
        for node in view.nodes:
            self.main.append(self._main(node))
            for edge in self.main[-1]:
                if self.rank[edge.tail] + 1 > self.rank[node.id]:
                    self.spine[node.id], self.rank[node.id] = edge.tail, self.rank[edge.tail] + 1
        self._number()

    def skips(self) -> set[Pair]:
        found: set[Pair] = set()
        for node in self.view.nodes:
            edges = self.into[node.id]
            if len(edges) < 2 or _first(node).kind not in ("call", "op", "function"):
                continue
            is_sum = self._op_name(node) in SUMS
            is_join = is_sum or self._op_name(node) in JOINS
            if _first(node).kind == "op" and not is_join:
                continue
            others = edges if is_join else self.main[node.id]
            for edge in edges if not is_sum else self.main[node.id]:
                # What nothing is below leads past nothing; a node may have thousands of inputs that are such.
                has_below = self._leave[edge.tail] > self._enter[edge.tail]
                if has_below and any(self._leads_past(edge, other) for other in others):
                    found.add((edge.tail, edge.head))
                elif is_sum:
                    found.update(self._side_branch(edge))
        return found

    def _main(self, node: Node) -> list[Edge]:
        edges, first = self.into[node.id], _first(node)
        if first.kind == "call":
            given = self.graph.calls[first.calls[0]].inputs
            argument = next((path.partition(".")[0] for path, value in given.items() if self._axes(value)), None)
            values = {value for path, value in given.items() if path.partition(".")[0] == argument}
        elif self._op_name(node) in SUMS and first.op is not None:
            shape = self.graph.values[self.graph.ops[first.op].outputs[0]].shape
            values = {edge.value for edge in edges if self.graph.values[edge.value].shape == shape}
        elif self._op_name(node) in JOINS:
            return edges
        else:
            op = first.op if first.kind == "op" else first.ops[0] if first.ops else None
            values = set() if op is None else {*self.graph.ops[op].inputs[:1]}
        return [edge for edge in edges if edge.value in values] or edges

    def _leads_past(self, edge: Edge, other: Edge) -> bool:
        if edge.tail == other.tail or not self._is_above(edge.tail, other.tail):
            return False
        axes = self._axes(edge.value)
        return axes >= _FEATURES and axes == self._axes(other.value)

    def _side_branch(self, edge: Edge) -> list[Pair]:
        """The edges of a chain without forks that ends in a sum and leaves its spine above; else none."""
        tail, head = edge.tail, edge.head
        branch = [(tail, head)]
        if tail == self.spine[head]:
            return []
        while not self._is_above(tail, head):
            if self.degree[tail] != 1 or len(self.into[tail]) != 1:
                return []
            branch.append((self.into[tail][0].tail, tail))
            tail = self.into[tail][0].tail
        return branch if len(branch) < self.rank[head] - self.rank[tail] else []

    def _is_above(self, tail: int, head: int) -> bool:
        return self._enter[tail] < self._enter[head] <= self._leave[tail]

    def _number(self) -> None:
        """Numbers the nodes so that those below a node on spines have consecutive numbers after its own."""
        n = len(self.spine)
        below: list[list[int]] = [[] for _ in range(n)]
        size = [1] * n
        starts = []
        for node in range(n - 1, -1, -1):
            if self.spine[node] < 0:
                starts.append(node)
            else:
                below[self.spine[node]].append(node)
                size[self.spine[node]] += size[node]
        self._enter, at = [0] * n, 0
        for start in starts:
            self._enter[start] = at
            at += size[start]
        for node, nodes in enumerate(below):
            at = self._enter[node] + 1
            for child in nodes:
                self._enter[child] = at
                at += size[child]
        self._leave = [self._enter[node] + size[node] - 1 for node in range(n)]

    def _op_name(self, node: Node) -> str:
        op = _first(node).op
        return self.graph.ops[op].name if _first(node).kind == "op" and op is not None else ""

    def _axes(self, value: int) -> int:
        return len(self.graph.values[value].shape)


def _first(node: Node) -> Node:
    """What data enters: of parts that are drawn as one, the first."""
    return node.parts[0] if node.parts else node
