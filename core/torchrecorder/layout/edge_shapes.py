"""Which lines say a shape, and which one: that of the value that a node gives, as the other one gets it."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property

from torchrecorder.graph import symbolic
from torchrecorder.graph.batch import lost
from torchrecorder.labels.names import tensor
from torchrecorder.view import Edge, Node, View
from torchrecorder.view.facts import frames_around
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import PIECES, SHAPING
from torchrecorder.view.tree import call_tree

_MOVING = SHAPING | PIECES | {"getitem", "select", "narrow"}

_LONG_NAMES = 40
"""Characters of arguments from which on a line does not say which part each is."""


def edge_shapes(view: View, show: Collection[str] = ()) -> dict[tuple[int, int], str]:
    """The text of each edge that has one, by tail and head.

    An edge says the shape if it differs, in resolution or channels, from what its tail got: once for each end and
    shape, and once for steps alike in a box, such as those of queries and keys. Inputs, outputs and constants say
    theirs themselves. If a layer gets several things by one edge, the edge says the names of its arguments instead.
    Where the batch got lost on the way, as in tensors of chosen places, a size may hold it, so
    none is said; nor is one of a single number, which would not be taken for a shape.
    """
    carried = _Carried(view)
    written: set[tuple[object, ...]] = set()
    got: dict[int, list[str]] = {}
    texts: dict[tuple[int, int], str] = {}
    for edge in sorted(view.edges, key=lambda edge: (edge.head, edge.tail)):
        got.setdefault(edge.head, [_shape(view, value, show) for value in carried.known(edge)])
    for edge in sorted(view.edges, key=lambda edge: (edge.tail, edge.skip, edge.head)):
        if names := carried.names(edge):
            texts[edge.tail, edge.head] = ", ".join(names)
            continue
        value = carried.value(edge)
        shape = "" if value is None or value in carried.lost else _shape(view, value, show)
        values = view.nodes[edge.tail].values
        known = [_shape(view, values[0], show)] if len(values) == 1 else got.get(edge.tail, [])
        is_known = edge.back or shape.isdigit() or _without_examples(shape) in map(_without_examples, known)
        if is_known or not shape or view.nodes[edge.head].kind == "output" or _gives_several(view, edge.tail):
            continue
        news = {("tail", edge.tail, shape), ("head", edge.head, shape)}
        node = view.nodes[edge.tail]
        step: str | int = edge.tail  # what the node does: the name of its op, or the class of its layer
        if node.kind == "op" and node.op is not None:
            step = view.graph.ops[node.op].name
        elif node.kind == "call" and (module := view.graph.modules.get(view.graph.calls[node.calls[0]].module)):
            step = module.cls
        alike = (node.box, step, *got.get(edge.tail, ()), shape)
        if not news & written and alike not in written:
            texts[edge.tail, edge.head] = shape
            written |= {*news, alike}
    return texts


class _Carried:
    """Values that the edges of a View carry, at both of their ends."""

    def __init__(self, view: View) -> None:
        self._view, self._graph = view, view.graph
        self._tree = call_tree(view.graph)
        self._made: dict[int, set[int]] = {}
        self.lost = lost(view.graph)

    def value(self, edge: Edge) -> int | None:
        """The value whose shape is said: what the tail gives, or what the head gets, if that is it in fewer axes."""
        given, read = self.ends(edge)
        if given is None or len(self._graph.values[read].shape) >= len(self._graph.values[given].shape):
            return given
        return read if self._n_elements(given) == self._n_elements(read) else given

    def known(self, edge: Edge) -> list[int]:
        """The values that the head gets: one, and perhaps all of it with other axes."""
        given, read = self.ends(edge)
        is_whole = given is not None and self._n_elements(given) == self._n_elements(read)
        return [value for value in {given, read if is_whole or given is None else None} if value is not None]

    def names(self, edge: Edge) -> list[str]:
        """The arguments of a layer that an edge carries, if they are several; entries of one list are one."""
        head, tail = self._view.nodes[edge.head], self._view.nodes[edge.tail]
        if edge.back or head.kind != "call" or head.parts or tail.kind not in ("call", "op", "function"):
            return []
        made, names, loose = self._made_by(tail), dict[int, list[str]](), set[str]()
        for path, value in self._graph.calls[head.calls[0]].inputs.items():
            meta, argument = self._graph.values[value].meta, path.partition(".")[0]
            given, _ = self.ends(replace(edge, value=value))
            if given is None or self._graph.values[given].producer not in made:
                loose.add(argument)  # a list of which others give a part, as a cache
            elif meta is not None and meta.dtype != "bool":
                is_whole = self._n_elements(given) == self._n_elements(value)  # the same thing in another shape
                names.setdefault(given if is_whole else value, []).append(argument)
        read = {value: [name for name in own if name not in loose] for value, own in names.items()}
        several = [*dict.fromkeys(name for own in read.values() for name in own)]
        if sum(map(bool, read.values())) < 2 or len(several) < 2 or any(name.isdigit() for name in several):
            return []
        parts = [*dict.fromkeys(name + self._part(value, made) for value, own in read.items() for name in own)]
        return parts if sum(map(len, parts)) < _LONG_NAMES else several

    def _part(self, value: int, made: Collection[int]) -> str:
        """The part of what a node gives that a layer gets: ` [:, 1:]`."""
        while (producer := self._graph.values[value].producer) is not None and producer not in made:
            op = self._graph.ops[producer]
            if op.name == "getitem" and len(op.inputs) == 1:
                return f" [{op.attrs.get('1', '').removeprefix('(').removesuffix(')')}]"
            value = op.inputs[0]
        return ""

    def _n_elements(self, value: int) -> int:
        return math.prod(size for size in self._graph.values[value].shape if isinstance(size, int))

    def ends(self, edge: Edge) -> tuple[int | None, int]:
        """The value that the tail gives, if it is known, and the one that the head reads: perhaps a part of it."""
        value, is_whole = edge.value, True
        tail = self._view.nodes[edge.tail]
        made = self._made_by(self._view.nodes[tail.links[0]] if tail.links else tail)
        while (producer := self._graph.values[value].producer) is not None and producer not in made:
            if value in tail.values:  # what an inside is entered with, which may be a part of something outside
                break
            op = self._graph.ops[producer]
            name = plain(op.name)
            if not op.inputs or not (name in _MOVING or op.kind == "pass"):  # a later turn of what is drawn once
                return edge.value if is_whole else None, edge.value
            is_whole &= name in SHAPING or op.kind == "pass"
            value = op.inputs[0]
        return value, edge.value

    @cached_property
    def _ops_of(self) -> dict[int, list[int]]:
        """By function the ops that ran in it, but for those in functions that it called."""
        ops: dict[int, list[int]] = {frame.id: [] for frame in self._graph.frames}
        for op in self._graph.ops:
            if op.frame is not None:
                ops[op.frame].append(op.id)
        return ops

    def _made_by(self, node: Node) -> set[int]:
        if node.id not in self._made:
            calls = [call for part in (node, *node.parts) for call in part.calls]
            ops = {op for part in (node, *node.parts) for op in part.own_ops}
            if node.kind == "function":  # what it gives is in the shape that it returns it in
                frames = {frame for op in ops for frame in frames_around(self._graph, self._graph.ops[op].frame)}
                ops.update(*(self._ops_of[at] for at in frames if self._graph.frames[at].short == node.name))
            self._made[node.id] = ops.union(*map(self._tree.all_ops_of, calls))
        return self._made[node.id]


def _gives_several(view: View, node: int) -> bool:
    """Whether columns that are drawn as one node give tensors of several shapes."""
    row = view.nodes[node]
    last = row.parts[-1] if row.parts else row
    calls, ops = (view.graph.calls[call] for call in last.calls), (view.graph.ops[op] for op in last.ops)
    given = [
        *(value for call in calls for value in call.outputs.values()),
        *(op.outputs[0] for op in ops if op.outputs),
    ]
    return row.repetition == "parallel" and len({view.graph.values[value].shape for value in given}) > 1


def _without_examples(shape: str) -> str:
    """The shape without the batch, and without axes of one, which broadcasting adds: resolution and channels."""
    return "×".join(size for size in shape.split("×") if size not in ("1", "N"))


def _shape(view: View, value: int, show: Collection[str]) -> str:
    return tensor(symbolic(view.graph, value), show)
