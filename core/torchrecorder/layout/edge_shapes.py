"""Which lines say a shape, and which one: that of the value that a node gives, as the other one gets it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property

from torchrecorder.graph import symbolic
from torchrecorder.graph.batch import lost
from torchrecorder.labels.names import tensor
from torchrecorder.view import Edge, Node, View
from torchrecorder.view.facts import frames_around
from torchrecorder.view.model import boxes_around
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import JOINS, PIECES, SHAPING
from torchrecorder.view.tree import call_tree

_MOVING = SHAPING | PIECES | {"getitem", "select", "narrow"}

_BETWEEN = re.compile(r"(, | → )")  # shapes on one line
_NAMES = re.compile(r"[\w.–]+(, [\w.–]+)+")  # of several outputs
_FEW = 2  # shapes at most that a line of several tensors says: a third has no room beside it
_LONG_NAMES = 40  # characters of arguments from which on a line does not say which part each is


def edge_shapes(view: View, show: Collection[str] = ()) -> dict[tuple[int, int], str]:
    """The text of each edge that has one, by tail and head.

    An edge says the shape if it differs, in resolution or channels, from what its tail got: once for each end and
    shape, and once for steps alike in a box, such as those of queries and keys. Inputs, outputs and constants say
    theirs themselves; the line into an output says what that is rearranged from. If a layer gets several things by one
    edge, the edge says the names of its arguments instead. Each size that differs in other turns of a box, or in calls
    that an inset is for, too, is written as `…`.
    Where the batch got lost on the way, as in tensors of chosen places, a size may hold it, so
    none is said; nor is one of a single number, which would not be taken for a shape.
    """
    carried = _Carried(view)
    written: set[tuple[object, ...]] = set()
    got: dict[int, list[str]] = {}
    texts: dict[tuple[int, int], str] = {}
    for edge in sorted(view.edges, key=lambda edge: (edge.head, edge.tail)):
        got.setdefault(edge.head, [_shape(view, value, show) for value in carried.known(edge)])
    for edge in sorted(view.edges, key=lambda edge: (edge.skip, edge.tail, edge.head)):  # a skip has no room for one
        if names := carried.names(edge):
            texts[edge.tail, edge.head] = ", ".join(names)
            continue
        if any((tail, edge.head) in view.silent for tail in (edge.tail, *view.nodes[edge.tail].links)):
            continue
        shapes, arriving, is_reshaped = carried.shapes(edge, show)
        shape, (head, values) = ", ".join(shapes), (view.nodes[edge.head], view.nodes[edge.tail].values)
        known = [_shape(view, values[0], show)] if len(values) == 1 else got.get(edge.tail, [])
        is_known = edge.back or shape.isdigit() or _without_examples(shape) in map(_without_examples, known)
        is_known &= edge.back or shape.isdigit() or not _is_between_boxes(view, edge)
        is_own = carried.n_readers[edge.tail] == 1 or edge.part.startswith("[")  # and no word for all of its readers
        is_read = head.kind in ("call", "output") or (head.kind == "op" and is_own)
        is_news = is_reshaped and is_read and not (edge.back or shape.isdigit())
        if not shape or ((is_known or head.kind == "output") and not is_news):
            continue
        if arriving:  # an input says its own
            shape = arriving if len(values) == 1 else f"{shape} → {arriving}"
        if not (shape := _of_all(view, edge, shape, show)):
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


def _is_between_boxes(view: View, edge: Edge) -> bool:
    """Whether an edge leads from one open layer into another, such as what is between an encoder and a decoder."""
    tail, head = ([*boxes_around(view.boxes, view.nodes[end].box)] for end in (edge.tail, edge.head))
    return all(any(not box.around and box not in others for box in own) for own, others in ((tail, head), (head, tail)))


class _Carried:
    """Values that the edges of a View carry, at both of their ends."""

    def __init__(self, view: View) -> None:
        self._view, self._graph = view, view.graph
        self._tree = call_tree(view.graph)
        self._made: dict[int, set[int]] = {}
        self.lost, self.n_readers = lost(view.graph), Counter(edge.tail for edge in view.edges)

    def shapes(self, edge: Edge, show: Collection[str]) -> tuple[list[str], str, bool]:
        """The shapes of what the tail gives; that of what arrives, if views make another one; whether they mix axes.

        What is the same in fewer axes stands for both. Of more things than a few no shapes are known.
        """
        given, read = self.ends(edge)
        values = () if given is None else (given, *self._besides(edge, given))
        names = edge.part.split(", ") if _NAMES.fullmatch(edge.part) else []
        values = self._in_order(edge, values)
        several = [*dict.fromkeys(_shape(self._view, value, show) for value in values)]
        is_doubtful = len(several) > _FEW or (
            len(several) > 1 and not all(text.strip("0123456789") for text in several)
        )
        is_doubtful |= bool(names) and len(several) > 1 and len(names) != len(several)  # which is whose?
        # of several outputs those of a last turn are not known here
        is_doubtful |= len(values) == 1 and (bool(names) or edge.part.endswith(" outputs"))
        if given is None or is_doubtful or self._is_written(given) or not self.lost.isdisjoint((*values, read)):
            return [], "", False
        if len(several) > 1:
            return several, "", False
        head, made = self._view.nodes[edge.head], self._graph.values[read].producer
        is_function = head.kind == "function" and head.op is None
        while read != given and is_function and made in self._made_by(head):  # as the function gets it
            read = self._graph.ops[made].inputs[0]
            made = self._graph.values[read].producer
        arriving = _shape(self._view, read, show)
        sizes = [_without_examples(text) for text in (*several, arriving)]
        is_reshaped = len({*sizes}) > 1
        if self._n_elements(given) != self._n_elements(read):  # an index is of the axes of what is given
            return several, "", False
        is_plain = self.n_readers[edge.tail] == 1 or not is_reshaped or self._view.nodes[edge.tail].kind == "function"
        is_fewer = len(self._graph.values[read].shape) < len(self._graph.values[given].shape)
        if is_fewer and is_plain and head.kind != "output":  # that says its own
            return [arriving], "", False
        is_formula = head.kind == "function" and not is_function
        if is_formula and len({*map(tuple, (sorted(it.split("×")) for it in sizes))}) == 1:  # it has its `kᵀ`
            return several, "", False
        return several, arriving if is_reshaped else "", is_reshaped

    def _in_order(self, edge: Edge, values: Collection[int]) -> tuple[int, ...]:
        """Values in the order of the names on their line: of the arguments of its head, or of what its tail gives."""
        tail, head = self._view.nodes[edge.tail], self._view.nodes[edge.head]
        calls = self._graph.calls
        got = calls[head.calls[0]].inputs.values() if head.kind == "call" else ()
        order = [self.ends(replace(edge, value=it))[0] for it in got]
        order += (it for call in tail.calls for it in calls[call].outputs.values())
        return (*sorted(values, key=lambda it: order.index(it) if it in order else len(order)),)

    def _is_written(self, value: int) -> bool:
        """Whether it was written into a part of something, which a recording has by the shape of the part."""
        made = self._graph.values[value].producer
        op = None if made is None else self._graph.ops[made]
        read = op.inputs[:1] if op is not None and value in op.mutates else ()
        into = (self._graph.values[value].producer for value in read)
        return any(it is not None and self._graph.ops[it].name in PIECES | {"getitem"} for it in into)

    def _besides(self, edge: Edge, given: int) -> Iterator[int]:
        """The other values of the tail that the head reads."""
        tail, head = self._view.nodes[edge.tail], self._view.nodes[edge.head]
        if tail.kind in ("call", "op", "function", "gap") and head.kind != "output":
            made, inside = self._made_by(tail), self._made_by(head)
            for read in dict.fromkeys(value for op in sorted(inside) for value in self._graph.ops[op].inputs):
                other, _ = self.ends(replace(edge, value=read))
                if other not in (None, given) and self._graph.values[other].producer in made - inside:
                    yield other

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
        value = entering = edge.value
        is_whole = True
        tail, head = self._view.nodes[edge.tail], self._view.nodes[edge.head]
        own = self._made_by(head) if head.kind == "function" and head.op is None else ()
        made = self._made_by(self._view.nodes[tail.links[0]] if tail.links else tail)
        while (producer := self._graph.values[value].producer) is not None and producer not in made:
            if value in tail.values:  # what an inside is entered with, which may be a part of something outside
                break
            op = self._graph.ops[producer]
            name = plain(op.name)
            if not op.inputs or not (name in _MOVING or op.kind == "pass"):  # a later turn of what is drawn once
                here = [self._graph.values[it].producer in made for it in op.inputs]
                is_joined = name in JOINS and any(here) and not all(here)  # with what comes on other lines
                is_joined |= bool(tail.values) and self._n_elements(tail.values[0]) != self._n_elements(entering)
                return entering if is_whole and not is_joined else None, edge.value
            is_whole &= name in SHAPING or op.kind == "pass"
            value = op.inputs[0]
            entering = value if producer in own else entering  # as the function gets it
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


def _of_all(view: View, edge: Edge, said: str, show: Collection[str]) -> str:
    """The words of an edge, with `…` for sizes that are others elsewhere; nothing if no size of a shape is left."""
    words = _BETWEEN.split(said)
    for value, *others in edge.elsewhere:
        rows = [_shape(view, it, show).split("×") for it in (value, *others)]
        sizes = ["…" if len({*sizes}) > 1 else sizes[0] for sizes in zip(*rows, strict=False)]
        inner = sizes[len(sizes) > 2 :]  # the first axis is mostly that of examples, and says little if it is alone
        is_told = len({*map(len, rows)}) == 1 and any(size.isdigit() and size != "1" for size in inner)
        words = [("×".join(sizes) if is_told else "") if word == "×".join(rows[0]) else word for word in words]
    is_alike = words[1:2] == [" → "] and words[0] == words[2]
    return "".join(words) if all(words) and not is_alike else ""


def _without_examples(shape: str) -> str:
    """The shape without the batch, and without axes of one, which broadcasting adds: resolution and channels."""
    return "×".join(size for size in shape.split("×") if size not in ("1", "N"))


def _shape(view: View, value: int, show: Collection[str]) -> str:
    return tensor(symbolic(view.graph, value), show)
