"""Folding layers and ops that take turns: attention, sum, MLP, sum, attention, … is drawn once, with ×N.

They stand in no call of their own, so nothing says that they belong together but their paths: entries of one list,
`layers.0.0`, `layers.0.1`, `layers.1.0`. That condition keeps `norm1` and `norm2` of a block apart, and its self- and
cross-attention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchrecorder.view.model import Box, Edge, Node, View
from torchrecorder.view.op_families import JOINS
from torchrecorder.view.templates.kinds import Kinds, without_numbers
from torchrecorder.view.templates.series import Wiring, resolution

_MAX_PERIOD = 16


def in_turns(view: View, kinds: Kinds) -> View:
    """The View with each stretch that comes again and again as one box."""
    if len(view.nodes) < 4:
        return view
    found = view
    by_box: dict[int | None, list[Node]] = {}
    for node in view.nodes:
        by_box.setdefault(node.box, []).append(node)
    turns = _Turns(view, kinds)
    stretches = []
    for nodes in by_box.values():
        at = 0
        while at < len(nodes):
            period, times = turns.at(nodes, at)
            if times > 1:
                stretches.append((nodes[at : at + period * times], period))
            at += period * times
    for stretch, period in stretches:
        found = _boxed(found, stretch, period)
    return _renumbered(found) if stretches else view


class _Turns:
    def __init__(self, view: View, kinds: Kinds) -> None:
        self.graph, self.kinds = view.graph, kinds
        self.wiring, self.nodes = Wiring(view), view.nodes

    def at(self, nodes: Sequence[Node], at: int) -> tuple[int, int]:
        """How many nodes from a position on make a turn, and how many turns there are; `1, 1` if there are none."""
        op = nodes[at].op
        is_join = nodes[at].kind == "op" and op is not None and self.graph.ops[op].name in JOINS
        if nodes[at].kind != "call" and not is_join:
            return 1, 1
        for period in range(2, min(_MAX_PERIOD, (len(nodes) - at) // 2) + 1):
            stop = at + period
            while stop < len(nodes) and self._alike(nodes[stop - period], nodes[stop]):
                stop += 1
            times = (stop - at) // period
            turns = [nodes[at + period * i : at + period * (i + 1)] for i in range(times)]
            while len(turns) > 1 and not self._is_series(turns):
                turns.pop()
            if len(turns) > 1 and any(node.kind == "call" for node in turns[0]):
                return period, len(turns)
        return 1, 1

    def _alike(self, one: Node, two: Node) -> bool:
        if one.kind != two.kind or len(one.calls) != len(two.calls) or len(one.parts) != len(two.parts):
            return False
        if one.calls[1:]:
            return False
        if one.parts:
            return all(self._alike(x, y) for x, y in zip(one.parts, two.parts, strict=True))
        if one.kind == "op" and one.op is not None and two.op is not None:
            x, y = self.graph.ops[one.op], self.graph.ops[two.op]
            return x.name == y.name and x.attrs == y.attrs
        if one.kind == "function":
            return one.name == two.name
        return one.kind == "call" and self._alike_calls(one.calls[0], two.calls[0])

    def _alike_calls(self, a: int, b: int) -> bool:
        here, there = (self.graph.calls[call].module for call in (a, b))
        modules = [self.kinds.tree.module(call) for call in (a, b)]
        if here == there or without_numbers(here) != without_numbers(there) or not modules[0] or not modules[1]:
            return False
        is_leaf = modules[0].native and not self.kinds.tree.children[a]
        is_same_size = modules[0].extra_repr == modules[1].extra_repr if is_leaf else self._gives_same(a, b)
        return is_same_size and self.kinds.structure[a] == self.kinds.structure[b]

    def _gives_same(self, a: int, b: int) -> bool:
        return resolution(self.graph, a) == resolution(self.graph, b)

    def _is_series(self, turns: Sequence[Sequence[Node]]) -> bool:
        """Whether each turn is wired like the first, reads the one before and the same of what is around."""
        place = {node.id: (i, k) for i, turn in enumerate(turns) for k, node in enumerate(turn)}
        inner, across, around = [], [], []
        for i, turn in enumerate(turns):
            reads = [(k, tail, place.get(tail)) for k, node in enumerate(turn) for tail in self.wiring.before[node.id]]
            inner.append({(at[1], k) for k, _, at in reads if at is not None and at[0] == i})
            across.append({(i - at[0], at[1], k) for k, _, at in reads if at is not None and at[0] != i})
            around.append({(k, self._source(tail)) for k, tail, at in reads if at is None})
            leads_out = any(place.get(head, (-1, 0))[0] < 0 for node in turn for head in self.wiring.after[node.id])
            if leads_out and i < len(turns) - 1:
                return False
        same_inside = all(edges == inner[0] for edges in inner)
        same_steps = all(steps == across[1] for steps in across[1:]) and {step for step, _, _ in across[1]} == {1}
        return same_inside and same_steps and all(reads == around[1] and reads <= around[0] for reads in around[1:])

    def _source(self, tail: int) -> str | int:
        """What a turn reads from outside; entries of one list that the layer gets are one thing."""
        node = self.nodes[tail]
        return without_numbers(node.name) if node.kind == "input" and node.name else tail


def _boxed(view: View, stretch: Sequence[Node], period: int) -> View:
    """The View with the first turn in a box, which keeps the ids of its nodes, and without the others."""
    calls = _calls(stretch)
    box = Box(
        len(view.boxes), stretch[0].box, calls, len(_calls(stretch[:period])), around=True, ops=tuple(_ops(stretch))
    )
    drawn = {node.id: stretch[i % period].id for i, node in enumerate(stretch)}
    last, first = {node.id for node in stretch[-period:]}, {node.id for node in stretch[:period]}
    edges: dict[tuple[int, int], Edge] = {}
    for edge in view.edges:
        pair = drawn.get(edge.tail, edge.tail), drawn.get(edge.head, edge.head)
        within = edge.tail in drawn and edge.head in drawn
        is_drawn = edge.tail in first and edge.head in first if within else edge.tail not in drawn or edge.tail in last
        if is_drawn and (edge.head not in drawn or edge.head in first):
            edges.setdefault(pair, replace(edge, tail=pair[0], head=pair[1]))
    nodes = tuple(
        replace(node, box=box.id) if node.id in first else node
        for node in view.nodes
        if drawn.get(node.id, node.id) == node.id
    )
    return replace(view, boxes=(*view.boxes, box), nodes=nodes, edges=tuple(edges.values()))


def _calls(nodes: Sequence[Node]) -> tuple[int, ...]:
    return tuple(node.calls[0] for node in nodes if node.calls)


def _ops(nodes: Sequence[Node]) -> Iterator[int]:
    """The ids of the ops beside calls."""
    for part in (part for node in nodes for part in node.parts or (node,)):
        yield from part.ops or (() if part.op is None else (part.op,))


def _renumbered(view: View) -> View:
    new = {node.id: position for position, node in enumerate(view.nodes)}
    nodes = (replace(n, id=i, links=tuple(new[link] for link in n.links)) for i, n in enumerate(view.nodes))
    edges = [replace(edge, tail=new[edge.tail], head=new[edge.head]) for edge in view.edges]
    return replace(view, nodes=tuple(nodes), edges=tuple(sorted(edges, key=lambda edge: (edge.tail, edge.head))))
