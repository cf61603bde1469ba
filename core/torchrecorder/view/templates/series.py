"""Folding neighbours of one kind into one node: each reads the one before, and nothing else differs around them.

What lies between the first and the last must not matter to anything else: all read the same of what is around (the
skips of a U-Net keep its blocks apart), and if something reads the inner ones, it reads all of them. Blocks with
different sizes are one series, but for a change of resolution, which readers look for; unless each of many changes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from torchrecorder.graph.model import Graph
from torchrecorder.view.model import Edge, Node, View, in_order
from torchrecorder.view.plan.repeats import sizes
from torchrecorder.view.templates.kinds import Kinds, entry, without_numbers

_MANY_STEPS = 4
"""If more in a row than this change the resolution one after another, they are one series."""
_SOURCES = ("param", "buffer", "const")
_LONG = 14
"""In a view of more nodes equal layers of torch with unequal sizes are one series."""


def series_with_outputs(view: View, kinds: Kinds) -> dict[int, tuple[int, ...]]:
    """The calls of each series of which more than the last gives an output, by the first."""
    outputs = {node.id for node in view.nodes if node.kind == "output"}
    series = _Series(view, kinds, aside=outputs)
    found = (stretch for stretch in series.found() if any(series.gives_output(node) for node in stretch[:-1]))
    return {stretch[0].calls[0]: tuple(call for node in stretch for call in node.calls) for stretch in found}


class Wiring:
    """Who feeds whom in a view, by node id."""

    def __init__(self, view: View) -> None:
        self.before: list[set[int]] = [set() for _ in view.nodes]
        self.after: list[set[int]] = [set() for _ in view.nodes]
        self.looped: set[int] = set()
        """The nodes that give data to the next turn of a loop, or get it."""
        for edge in view.edges:
            if edge.back:
                self.looped |= {edge.tail, edge.head}
                continue
            self.before[edge.head].add(edge.tail)
            self.after[edge.tail].add(edge.head)


def in_series(view: View, kinds: Kinds) -> View:
    """The View with each series as one node."""
    series = _Series(view, kinds)
    merged: dict[int, int] = {}
    nodes: dict[int, Node] = {}
    for stretch in series.found():
        first = stretch[0]
        nodes[first.id] = _folded(stretch, series.wiring, view.graph)
        merged.update((node.id, first.id) for node in stretch[1:])
        merged.update(series.copies_before(stretch))
    return regrouped(view, merged, nodes) if merged else view


def regrouped(view: View, merged: dict[int, int], changed: dict[int, Node]) -> View:
    """The View with some nodes drawn as others: by id the one that stands for it, and nodes in place of those."""
    kept = [changed.get(node.id, node) for node in view.nodes if node.id not in merged]
    new = {node.id: position for position, node in enumerate(kept)}
    at = [new[merged.get(node.id, node.id)] for node in view.nodes]
    edges: dict[tuple[int, int], Edge] = {}
    backs = [replace(edge, tail=at[edge.tail], head=at[edge.head]) for edge in view.edges if edge.back]
    for edge in (edge for edge in view.edges if not edge.back):
        pair = at[edge.tail], at[edge.head]
        if pair[0] == pair[1] or (edge.tail in merged and pair[1] <= pair[0]):
            continue
        known = edges.get(pair)
        # the last of a series gives what others read of it, the first reads what all read
        if known is None or edge.tail in merged:
            edges[pair] = replace(edge, tail=pair[0], head=pair[1], skip=edge.skip and (not known or known.skip))
    nodes = (replace(n, id=i, links=tuple(at[link] for link in n.links)) for i, n in enumerate(kept))
    return replace(view, nodes=tuple(nodes), edges=in_order((*edges.values(), *backs)))


class _Series:
    def __init__(self, view: View, kinds: Kinds, *, aside: Collection[int] = ()) -> None:
        self.view, self.kinds = view, kinds
        self.graph, self.tree = view.graph, kinds.tree
        self._aside = aside
        """Readers that do not matter."""
        self.wiring = Wiring(view)
        self._sources = {node.id: (node.kind, node.name, node.values) for node in view.nodes if node.kind in _SOURCES}
        self.is_long = len(view.nodes) > _LONG

    def found(self) -> Iterator[list[Node]]:
        by_box: dict[int | None, list[Node]] = {}
        for node in self.view.nodes:
            by_box.setdefault(node.box, []).append(node)
        for nodes in by_box.values():
            at = 0
            while at < len(nodes):
                stretch = self._stretch(nodes, at)
                if len(stretch) > 1:
                    yield stretch
                at += len(stretch)

    def gives_output(self, node: Node) -> bool:
        return not self.wiring.after[node.id].isdisjoint(self._aside)

    def copies_before(self, stretch: Sequence[Node]) -> Iterator[tuple[int, int]]:
        """What all read and stands beside each of them, such as the queries of a decoder: each copy, and the first."""
        first, *others = ([n for n in self.wiring.before[node.id] if n in self._sources] for node in stretch)
        beside = {self._sources[node]: node for node in first}
        for node in (node for nodes in others for node in nodes):
            if beside[self._sources[node]] != node:
                yield node, beside[self._sources[node]]

    def _stretch(self, nodes: Sequence[Node], at: int) -> list[Node]:
        """The longest series that begins with the node at this position; the node alone if there is none."""
        stop = at + 1
        while stop < len(nodes) and self._continues(nodes[stop - 1], nodes[stop]):
            stop += 1
        stretch = [*nodes[at:stop]]
        stretch = stretch[: self._to_step(stretch)]
        while len(stretch) > 1 and not (self._is_closed(stretch) and self._is_told(stretch)):
            stretch.pop()
        return stretch

    def _is_told(self, stretch: Sequence[Node]) -> bool:
        """Whether few words say in what they differ from the first, and from the model of their kind."""
        calls = [call for node in stretch for call in node.calls]
        models = {calls[0], self.kinds.models[self.kinds.of[calls[0]]]} if not stretch[0].parts else ()
        return all(self.kinds.in_words(calls, model) is not None for model in models)

    def _continues(self, one: Node, two: Node) -> bool:
        is_looped = not self.wiring.looped.isdisjoint((one.id, two.id))
        if is_looped or two.id not in self.wiring.after[one.id] or one.kind != "call" or two.kind != "call":
            return False
        if one.repetition != "series" or two.repetition != "series" or len(one.parts) != len(two.parts):
            return False
        pairs = [*zip(one.parts, two.parts, strict=True)] or [(one, two)]
        return all(self._alike(x, y) for x, y in pairs)

    def _alike(self, one: Node, two: Node) -> bool:
        if one.kind != two.kind or one.kind != "call":
            return one.kind == two.kind == "op" and self._op_name(one) == self._op_name(two)
        a, b = one.calls[-1], two.calls[0]
        paths = [self.graph.calls[call].module for call in (a, b)]
        modules = [self.tree.module(call) for call in (a, b)]
        if paths[0] == paths[1] or modules[0] is None or modules[1] is None or modules[0].cls != modules[1].cls:
            return False
        if self.kinds.visible.is_block(a):
            # `encoder_layer_0` and `encoder_layer_1`, but not `self_attention` and `cross_attention`
            is_solid = self.tree.is_solid(a) and self.tree.is_solid(b)
            around = self.graph.calls[a].parent
            if not self.kinds.visible.strict.isdisjoint((a, b, -1 if around is None else around)):
                is_solid &= self.kinds.structure[a] == self.kinds.structure[b]
            return is_solid and self.kinds.of[a] == self.kinds.of[b] and entry(paths[0]) == entry(paths[1])
        is_same_size = self.is_long or modules[0].extra_repr == modules[1].extra_repr
        return is_same_size and without_numbers(paths[0]) == without_numbers(paths[1])

    def _op_name(self, node: Node) -> str:
        return "" if node.op is None else self.graph.ops[node.op].name

    def _is_read_alike(self, one: int, two: int) -> bool:
        """Whether what both calls get is the same argument of both: attention may exchange its query and its key."""
        here, there = self.graph.calls[one].inputs, self.graph.calls[two].inputs
        both = {*here.values()} & {*there.values()}
        return all(here.get(path) == value for path, value in there.items() if value in both)

    def _to_step(self, stretch: Sequence[Node]) -> int:
        """How many of them give the same resolution as the first."""
        if len(stretch) == 1:
            return 1
        sizes = [resolution(self.graph, node.calls[-1]) for node in stretch]
        steps = [a != b for a, b in pairwise(sizes)]
        if not any(steps) or (all(steps) and len(stretch) > _MANY_STEPS):
            return len(stretch)
        return steps.index(True) + 1

    def _is_closed(self, stretch: Sequence[Node]) -> bool:
        members = {node.id for node in stretch}
        before = [
            {self._sources.get(other, other) for other in self.wiring.before[node.id] - members} for node in stretch
        ]
        after = [self.wiring.after[node.id] - members - {*self._aside} for node in stretch]
        same = all(others == before[1] for others in before[1:]) and before[1] <= before[0]
        same &= all(self._is_read_alike(one.calls[-1], two.calls[0]) for one, two in pairwise(stretch))
        return same and (not any(after[:-1]) or all(others == after[-1] for others in after[:-1]))


def resolution(graph: Graph, call: int) -> tuple[int | str, ...]:
    """The last two axes of what a call gives, if it is a batch of images; else nothing."""
    metas = [graph.values[value].meta for value in graph.calls[call].outputs.values()]
    shape = metas[0].shape if metas and metas[0] is not None else ()
    return shape[-2:] if len(shape) > 3 else ()


def _channels(graph: Graph, calls: Sequence[int]) -> Iterator[str]:
    """`64→2`: the first size that changes from one of the calls to the next."""
    for text in sizes(graph, calls):
        first, _, last = text.partition("→")
        pairs = zip(first.split("×"), last.split("×"), strict=True)
        yield next(f"{a}→{b}" for a, b in pairs if a != b) if first != last else text


def _ops(node: Node) -> tuple[int, ...]:
    return node.ops or (() if node.op is None else (node.op,))


def _folded(stretch: Sequence[Node], wiring: Wiring, graph: Graph) -> Node:
    first, members = stretch[0], {node.id for node in stretch}
    calls = tuple(call for node in stretch for call in node.calls)
    is_dense = all(len(wiring.after[n.id] & members) == len(stretch) - 1 - i for i, n in enumerate(stretch))
    differs = ("densely connected",) if is_dense and len(stretch) > 2 else ()
    if not differs and wiring.after[first.id] - members:
        differs = (f"outputs ×{len(stretch)}",)
    parts = tuple(
        replace(
            part,
            calls=tuple(call for node in stretch for call in node.parts[i].calls),
            ops=tuple(op for node in stretch for op in _ops(node.parts[i])),
        )
        for i, part in enumerate(first.parts)
    )
    ops = tuple(op for node in stretch for op in node.ops)
    return replace(first, calls=calls, parts=parts, ops=ops, differs=(*_channels(graph, calls), *differs))
