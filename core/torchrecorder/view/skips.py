"""Which edges are skip connections.

A tensor that several nodes read, such as the embedding of a time step, often passes nothing by. A skip edge ends in a
sum, a concatenation or a layer of the user's that gets the same data by another way too, through at least one layer
with parameters. The ways that count are spines: from each node back to the one that gave its main data, which is the
first argument of a call, the first input of an op or of a difference, and the longest way to a sum; of a call that
gives several tensors, the argument of the same shape, as joint attention has it. From a join, or a product with a gate
as large as the data, a sum may follow the other inputs, too. Of two chains from one tensor to a sum, that with fewer
layers and no more parameters is a skip as well; of as many layers, none is. Spines form a tree, so each question costs
one comparison and the whole is linear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod

from torchrecorder.view import tuning
from torchrecorder.view.draft import Pair
from torchrecorder.view.facts import is_no_feature, sizes
from torchrecorder.view.model import Edge, Node, View, in_order
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import JOINS, PIECES, POINTWISE, SHAPING, SUMS, WEIGHTED
from torchrecorder.view.tree import CallTree, call_tree

_FEATURES = 2
"""Data of fewer axes are not features, so not a skip: a scale, a number of steps, a loss of each example."""
_MOST_WAYS = 32
"""Inputs of joins that are looked at for one edge: nests of joins have ways without end."""


def with_skips(view: View) -> View:
    """The View with its skip edges marked."""
    skips = _Spines(view).skips()
    return replace(view, edges=tuple(replace(e, skip=not e.back and (e.tail, e.head) in skips) for e in view.edges))


class _Spines:
    def __init__(self, view: View) -> None:
        self.view, self.graph, n = view, view.graph, len(view.nodes)
        self.into: list[list[Edge]] = [[] for _ in range(n)]
        self.out: list[list[Edge]] = [[] for _ in range(n)]
        for edge in (edge for edge in view.edges if not edge.back):
            self.into[edge.head].append(edge)
            self.out[edge.tail].append(edge)
        self.main: list[list[Edge]] = []
        """For each node the edges that bring its main data."""
        self.spine, self.rank = [-1] * n, [0] * n
        """For each node the farthest of those that give it main data (-1 at a start), and its distance from there."""
        self.layers = [0] * n
        """For each node the layers with parameters on its spine, itself included."""
        self.sizes = [0] * n
        """Likewise the numbers in their parameters."""
        self.joined = [-1] * n
        """Likewise the last node of its spine that several tensors come to as its main data; -1 if there is none."""
        self.tree = call_tree(self.graph)
        for node in view.nodes:
            self.main.append(self._main(node))
            for edge in self.main[-1]:
                if self.rank[edge.tail] + 1 > self.rank[node.id] and not self._is_taken_off(edge):
                    self.spine[node.id], self.rank[node.id] = edge.tail, self.rank[edge.tail] + 1
            (own, size), before = _layers(self.tree, node), self.spine[node.id]
            self.layers[node.id] = own + (self.layers[before] if before >= 0 else 0)
            self.sizes[node.id] = size + (self.sizes[before] if before >= 0 else 0)
            is_joint = len(self._even(node)) > 1
            self.joined[node.id] = node.id if is_joint else self.joined[before] if before >= 0 else -1
        self._number()

    def skips(self) -> set[Pair]:
        skips: set[Pair] = set()
        for node in self.view.nodes:
            edges = self.into[node.id]
            if len(edges) < 2 or _first(node).kind not in ("call", "op", "function") or self._is_native(node):
                continue
            is_sum = self._op_name(node) in SUMS
            is_join = is_sum or self._op_name(node) in JOINS
            if not is_join and (_first(node).kind == "op" or self._is_rating(node)):
                continue
            others = edges if is_join else self.main[node.id]
            for edge in edges if not is_sum else self.main[node.id]:
                if self._leads_past(edge, others) or (is_sum and self._leads_past_joint(edge, others)):
                    skips.add((edge.tail, edge.head))
                elif is_sum:
                    skips.update(self._side_branch(edge))
        return skips.union(self._of_families())

    def _leads_past(self, edge: Edge, others: Sequence[Edge]) -> bool:
        """Whether another edge into the same node brings what was made of the same data."""
        if self._leave[edge.tail] == self._enter[edge.tail]:
            return False  # of a node nothing is below, which may be one of thousands of inputs
        axes = self._axes(edge.value) if self._is_of_features(edge) else -1
        return any(
            self._is_above(edge.tail, other.tail)
            and self.layers[edge.tail] < self.layers[other.tail]
            and self._is_of_spine(edge, other.tail)
            for other in others
            if axes == self._axes(other.value)
        )

    def _is_of_spine(self, edge: Edge, below: int) -> bool:
        """Whether it brings the tensor that a spine goes on with, or to a layer one that this is made of: of a stage.

        A call may give several.
        """
        calls = self.view.nodes[edge.tail].calls
        given = {it for call in calls for it in self.graph.calls[call].outputs.values()} if calls else set[int]()
        on = [e for e in self.out[edge.tail] if self.spine[e.head] == edge.tail and self._is_above(e.head, below, 0)]
        piece = self._pieces(edge.value)
        if on and all(any(at != piece.get(op, at) for op, at in self._pieces(e.value).items()) for e in on):
            return False
        ways = {self._output(e, given) for e in on} - {-1} if len(given) > 1 else set[int]()
        own = self._output(edge, given) if ways else -1
        if own < 0 or own in ways or _first(self.view.nodes[edge.head]).kind != "call":
            return own < 0 or own in ways
        made, first = {own}, self.graph.values[own].producer or 0
        for op in self.graph.ops[first : max(self.graph.values[it].producer or 0 for it in ways) + 1]:
            made.update(op.outputs if not made.isdisjoint(op.inputs) else ())
        return not made.isdisjoint(ways)

    def _output(self, edge: Edge, given: Collection[int]) -> int:
        """The one of some tensors that an edge brings, perhaps moved; -1 if it is made of them."""
        value, first = edge.value, min(given)
        while value not in given:
            made = self.graph.values[value].producer
            if value < first or made is None or not self.graph.ops[made].inputs:
                return -1
            value = self.graph.ops[made].inputs[0]
        return value

    def _pieces(self, value: int) -> dict[int, int]:
        """By op that gives a tensor in pieces the position of that which a value is a part of."""
        pieces = dict[int, int]()
        while (made := self.graph.values[value].producer) is not None and (op := self.graph.ops[made]).inputs:
            if op.name not in SHAPING | PIECES:
                break
            pieces[made], value = self.graph.values[value].index, op.inputs[0]
        return pieces

    def _is_taken_off(self, edge: Edge) -> bool:
        """Whether an edge brings the second side of a difference."""
        head = _first(self.view.nodes[edge.head])
        is_difference = self._op_name(head) in ("sub", "sub_") and len(self.into[edge.head]) > 1
        return is_difference and [edge.value] == [*self.graph.ops[head.op or 0].inputs[1:]]

    def _leads_past_joint(self, edge: Edge, others: Sequence[Edge]) -> bool:
        """Whether another edge brings what this data has a part in by another input of something joint."""
        size = self._sizes(edge)
        beside = [it.tail for it in others if self._is_of_features(edge) and self._sizes(it) == size and it != edge]
        ways = [way for it in beside for way in self._joint_ways(it, 0)]
        for node, layers in ways:
            if self._is_above(edge.tail, node, 0) and layers + self.layers[node] > self.layers[edge.tail]:
                return True
            ways += self._joint_ways(node, layers) if len(ways) < _MOST_WAYS else []
        return False

    def _joint_ways(self, node: int, layers: int) -> list[tuple[int, int]]:
        """The data that come to the last joint node above a node, each with the layers from there on."""
        if (joint := self.joined[node]) < 0:
            return []
        before = self.layers[self.spine[joint]] if self.spine[joint] >= 0 else 0
        return [(tail, layers + self.layers[node] - before) for tail in self._even(self.view.nodes[joint])]

    def _even(self, node: Node) -> list[int]:
        """The data that come to a concatenation, or to a call or a product in the size of what that gives."""
        first, edges, name = _first(node), self.into[node.id], self._op_name(node).removesuffix("_")
        values = [*self.graph.calls[first.calls[0]].outputs.values()] if first.calls else list[int]()
        values = values if values[1:] else [*self.graph.ops[first.op or 0].outputs] if name == "mul" else []
        shapes = [self.graph.values[value].shape for value in values]
        return [edge.tail for edge in edges if name in JOINS or self._sizes(edge) in shapes]

    def _sizes(self, edge: Edge) -> tuple[int | str, ...]:
        return self.graph.values[edge.value].shape

    def _is_rating(self, node: Node) -> bool:
        """Whether all that it gives are losses or numbers of each example, which rate what comes to it."""
        return bool(edges := self.out[node.id]) and all(self._axes(edge.value) < _FEATURES for edge in edges)

    def _is_native(self, node: Node) -> bool:
        """Whether it is a layer of torch, such as a cell that gets its state back."""
        calls = _first(node).calls
        return bool(calls) and self.tree.is_leaf(calls[0])

    def _of_families(self) -> Iterator[Pair]:
        """Edges into one argument of layers of one class, if those into two of them lead past something."""
        families: dict[tuple[str, str], list[Edge]] = defaultdict(list)
        for node in self.view.nodes:
            calls = _first(node).calls if len(self.into[node.id]) > 1 else ()
            row = self.graph.calls[calls[0]] if calls else None
            if row is None or (module := self.graph.modules.get(row.module)) is None or module.native:
                continue
            by_value = {value: path.partition(".")[0] for path, value in row.inputs.items()}
            for edge in self.into[node.id]:
                families[module.cls, by_value.get(edge.value, "")].append(edge)
        for edges in families.values():
            past = [edge.head for edge in edges if self._leads_past(edge, self.into[edge.head])]
            if len({*past}) > 1:
                yield from ((edge.tail, edge.head) for edge in edges)

    def _main(self, node: Node) -> list[Edge]:
        edges, first = self.into[node.id], _first(node)
        if first.kind == "call":
            given = self.graph.calls[first.calls[0]].inputs
            argument = next((path.partition(".")[0] for path, value in given.items() if self._axes(value)), None)
            values = {value for path, value in given.items() if path.partition(".")[0] == argument}
        elif self._op_name(node) in JOINS:
            return edges
        else:
            ops = (first.op,) if first.kind == "op" and first.op is not None else first.ops
            values = {*self.graph.ops[ops[0]].inputs[:1]} if ops else set()
            if ops and (first.kind == "function" or self._op_name(node).removesuffix("_") in POINTWISE):
                shape = self.graph.values[self.graph.ops[ops[-1]].outputs[0]].shape
                whole = {edge.value for edge in edges if self.graph.values[edge.value].shape == shape}
                values = whole if self._op_name(node) in SUMS else values & whole or whole  # not a scale
        return [edge for edge in edges if edge.value in values] or edges

    def _side_branch(self, edge: Edge) -> list[Pair]:
        """Of a chain without forks that ends in a sum, and the spine that it leaves above, the edges with less layers.

        None if they have as many, or more parameters, or what it leaves has forks.
        """
        head, main = edge.head, self.spine[edge.head]
        if edge.tail == main or not self._is_of_features(edge):
            return []
        tail, branch, n_layers, size = self._chain(edge.tail, head)
        if not self._is_above(tail, head) or tail == edge.tail:
            return []
        past, size_past = self.layers[main] - self.layers[tail], self.sizes[main] - self.sizes[tail]
        if n_layers > past and size >= size_past:
            start, branch, *_ = self._chain(main, head)
            return branch if start == tail else []
        return branch if n_layers < past and size <= size_past else []

    def _chain(self, tail: int, head: int) -> tuple[int, list[Pair], int, int]:
        """The start of a chain without forks, its edges, its layers, and the numbers in their parameters."""
        edges, n_layers, size = [(tail, head)], 0, 0
        while len(self.out[tail]) == len(self.into[tail]) == 1:
            before = self.into[tail][0].tail
            n_layers += self.layers[tail] - self.layers[before]
            size += self.sizes[tail] - self.sizes[before]
            edges.append((before, tail))
            tail = before
        return tail, edges, n_layers, size

    def _is_above(self, tail: int, head: int, least: int = 1) -> bool:
        return self._enter[tail] + least <= self._enter[head] <= self._leave[tail]

    def _number(self) -> None:
        """Number the nodes so that those below a node on spines have consecutive numbers after its own."""
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

    def _is_of_features(self, edge: Edge) -> bool:
        return self._axes(edge.value) >= _FEATURES and not is_no_feature(self.graph, edge.value)

    def _axes(self, value: int) -> int:
        return len(self.graph.values[value].shape)


def _layers(tree: CallTree, node: Node) -> tuple[int, int]:
    """The number of ops of a node that compute with parameters, and the size of these.

    A layer that has parameters and no ops that are known counts as one op.
    """
    parts = node.parts or (node,)
    calls = {call for part in parts for call in part.calls}
    ops = [op for call in calls for op in tree.all_ops_of(call)] + [op for part in parts for op in part.own_ops]
    rows, values = map(tree.graph.ops.__getitem__, ops), tree.graph.values
    n = sum(plain(op.name) in WEIGHTED or any(values[it].kind == "param" for it in op.inputs) for op in rows)
    read = {values[it] for part in parts for op in part.own_ops for it in tree.graph.ops[op].inputs}
    own = sum(prod(sizes(tree.graph, row.id)) for row in read if row.kind == "param")
    size = own + sum(tree.n_params(call) for call in calls)
    return n or int(size > 0), size


def _first(node: Node) -> Node:
    """The part that data enters."""
    return node.parts[0] if node.parts else node


# The cost of a layout follows the sum of the spans of the edges: one mask that feeds every block of a deep model turns
# half a second into a minute. A far edge ends in a small node that names where the data goes, and begins again at
# another one that names where it comes from.


def shortened(view: View) -> View:
    """The View with its far edges cut; itself if there are none."""
    rank = ranks(len(view.nodes), view.edges)
    far = [edge for edge in view.edges if not edge.back and rank[edge.head] - rank[edge.tail] > tuning.FAR]
    return _cut(view, far) if far else view


def ranks(n: int, edges: Iterable[Edge]) -> list[int]:
    """About the row of each node in a layout: as far down as its inputs ask, but a mask is beside its first reader."""
    before: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for edge in (edge for edge in edges if not edge.back):
        before[edge.head].append(edge.tail)
        below[edge.tail].append(edge.head)
    rank = [0] * n
    for node in range(n):
        rank[node] = max((rank[tail] + 1 for tail in before[node]), default=0)
    for node in range(n - 1, -1, -1):
        if below[node] and len(before[node]) <= len(below[node]):
            rank[node] = min(rank[head] for head in below[node]) - 1
    return rank


def _cut(view: View, far: Sequence[Edge]) -> View:
    edges = {(edge.tail, edge.head): edge for edge in view.edges if not edge.back}
    backs = [edge for edge in view.edges if edge.back]
    order = [(2 * node.id, node) for node in view.nodes]
    for edge in far:
        id_ = len(order)
        order.append((2 * edge.head - 1, Node(id_, "from", view.nodes[edge.head].box, links=(edge.tail,))))
        del edges[edge.tail, edge.head]
        edges[id_, edge.head] = replace(edge, tail=id_)
    marked: dict[int, list[Edge]] = {}
    # by tail the far edges whose beginning is marked; an input or a constant stands under its own name again
    for edge in far:
        if view.nodes[edge.tail].kind in ("call", "op"):
            marked.setdefault(edge.tail, []).append(edge)
    for tail, group in marked.items():
        id_ = len(order)
        heads = tuple(edge.head for edge in group)
        order.append((2 * tail + 1, Node(id_, "to", view.nodes[tail].box, links=heads)))
        edges[tail, id_] = replace(group[0], head=id_)
    # ids count up in the order of things again
    nodes = [node for _, node in sorted(order, key=lambda pair: (pair[0], pair[1].id))]
    new = {node.id: position for position, node in enumerate(nodes)}
    moved = [replace(edge, tail=new[edge.tail], head=new[edge.head]) for edge in (*edges.values(), *backs)]
    return replace(
        view,
        nodes=tuple(replace(n, id=new[n.id], links=tuple(new[link] for link in n.links)) for n in nodes),
        edges=in_order(moved),
    )
