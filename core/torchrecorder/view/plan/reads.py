"""Which node reads what: data that another node made, or that comes from outside, and whether a picture says so.

A layer's own weights are part of the layer. Shown are: the inputs; parameters and buffers that an op or a call gets as
data (a class token, a position table); and constants that ops made from nothing but constants, such as a mask or
positions, drawn as one small node instead of the five ops that built it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchrecorder.graph.model import Op, Value
from torchrecorder.view import tuning
from torchrecorder.view.model import NodeKind
from torchrecorder.view.op_families import RANDOM, SHAPED_LIKE, WEIGHTED
from torchrecorder.view.plan.loops import Turns
from torchrecorder.view.plan.plan import Plan
from torchrecorder.view.tree import Item


@dataclass(frozen=True, slots=True)
class Read:
    head: int
    """Position of the node in the plan."""
    tail: int | None
    """Position of the node that made the value; None if it comes from outside."""
    value: int
    """The value as it is read."""
    origin: int
    """The value whose data it is."""
    op: Op
    """The op that reads it."""
    repeated: bool
    """Whether it is read in a call that is drawn as a repeat of another, or in a later turn of a loop."""
    is_back: bool = False
    """Whether an earlier turn of a loop made it."""


class Reads:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.graph = plan, plan.tree.graph
        self.span = range(plan.root, plan.tree.end[plan.root])
        tree, is_solid = plan.tree, plan.tree.is_solid(plan.root)
        ids = tree.ops_of(plan.root) if is_solid else (op.id for op in self.graph.ops if op.call in self.span)
        self.ops = [self.graph.ops[id_] for id_ in ids]
        """Those of the call that is shown."""
        self.holder: list[int | None] = [None] * len(self.graph.calls)
        """For each call the node call it is in, if any."""
        self.is_repeat = [False] * len(self.graph.calls)
        self.twin_of: dict[int, int] = {}
        """For each call in a repeat of a given run the first call of the run."""
        for call in self.span:
            parent = self.graph.calls[call].parent if call != plan.root else None
            above = None if parent is None else self.holder[parent]
            self.holder[call] = above if above is not None or plan.states[call] in ("box", "open") else call
            is_again = any(plan.turns.get(call, {}).values())
            self.is_repeat[call] = is_again or (parent is not None and self.is_repeat[parent])
            twin = plan.again.get(call) if parent is None or parent not in self.twin_of else self.twin_of[parent]
            if twin is not None:
                self.twin_of[call] = twin
        self.contracted = [False] * len(self.graph.ops)
        self.origin = [*range(len(self.graph.values))]
        """For each value the one whose data it is; a value that no contracted op made is its own origin."""
        self.twins: dict[int, int] = {}
        """For each value that a repeat of a given run makes, the one that the first call of the run makes there."""
        self._find_origins()
        self._drawn_for = [*range(len(self.graph.ops))]
        """For each op the one that is drawn for it, which is the same op in the first call of the run."""
        for call, head in plan.run_head.items():
            shift = plan.tree.first_op[call] - plan.tree.first_op[head]
            for again in plan.tree.ops_of(call):
                self._drawn_for[again] = again - shift
        self.turn_of: dict[int, dict[int, int]] = {}
        """By op in which turn of each loop it ran, by the number of the loop."""
        for number, (turns, _) in enumerate(plan.loops):
            self._note_turns(number, turns)
        for again, drawn in enumerate(self._drawn_for if plan.run_head or plan.loops else ()):  # a run in a run
            self._drawn_for[again] = self._drawn_for[drawn]
            if drawn != again and drawn in self.turn_of:
                self.turn_of[again] = self.turn_of[drawn] | self.turn_of.get(again, {})

    def _note_turns(self, number: int, turns: Turns) -> None:
        for i, turn in enumerate(turns.turns):
            for item, first in zip(turn, turns.turns[0], strict=True):
                ops, drawn = self._ops_in(item), self._ops_in(first)
                is_alike = len(ops) == len(drawn)
                for position, op in enumerate(ops):
                    self.turn_of.setdefault(op, {})[number] = i
                    if i and drawn:
                        self._drawn_for[op] = drawn[position if is_alike else 0]

    def _ops_in(self, item: Item) -> Sequence[int]:
        return self.plan.tree.all_ops_of(item.id) if item.is_call else (item.id,)

    def _find_origins(self) -> None:
        for call, head in self.plan.again.items():
            self.twins.update(self._twins(call, head))
        for op in self.ops:
            if not op.inputs:
                continue
            holder = self.holder[op.call]
            gone = op.inputs[0] if holder is not None and self.plan.states[holder] == "gone" else None
            source = self.plan.visible.handed[op.id] if holder is None else gone
            if source is not None:
                self.contracted[op.id] = True
                for value in op.outputs:
                    if value not in self.twins:
                        self.origin[value] = self.origin[source]
            elif holder is not None and (passed := self.plan.visible.passed(holder)):
                for value in (value for value in op.outputs if value in passed):
                    self.origin[value] = self.origin[passed[value]]

    def _twins(self, call: int, head: int) -> dict[int, int]:
        """By value of a repeat the one that the drawn call makes in its place."""
        tree, rows = self.plan.tree, self.graph.calls
        if tree.n_ops[call] == tree.n_ops[head] and tree.is_solid(call) and tree.is_solid(head):
            pairs = zip(tree.ops_of(call), tree.ops_of(head), strict=True)
            outputs = [(self.graph.ops[x].outputs, self.graph.ops[y].outputs) for x, y in pairs]
            if all(len(xs) == len(ys) for xs, ys in outputs):
                return {x: y for xs, ys in outputs for x, y in zip(xs, ys, strict=True)}
        there, made = rows[head].outputs, tree.ops_of(call)
        given = ((value, there[path]) for path, value in rows[call].outputs.items() if path in there)
        return {value: twin for value, twin in given if self.graph.values[value].producer in made}

    def __iter__(self) -> Iterator[Read]:
        for op in self.ops:
            if self.contracted[op.id] or op.call in self.twin_of:
                continue
            head, repeated = self._node_of(op.id), self.is_repeat[op.call] or any(self.turn_of.get(op.id, {}).values())
            for value in op.inputs:
                tail, origin = self.node_of_value(value), self.origin[value]
                if tail is not None and self.turn_of and self._is_back(origin, op.id):
                    yield Read(head, tail, value, origin, op, repeated, is_back=True)
                elif tail is None or (tail != head and not self._is_inner(origin, op)):
                    yield Read(head, tail, value, origin, op, repeated)

    def node_of_value(self, value: int) -> int | None:
        """Position of the node that made the value; None if it comes from outside."""
        origin = self.origin[value]
        while origin in self.twins:
            origin = self.origin[self.twins[origin]]
        producer = self.graph.values[origin].producer
        if producer is None or self.graph.ops[producer].call not in self.span:
            return None
        return self._node_of(producer)

    def constant_ops(self) -> set[int]:
        """The drawn ops that depend on nothing but constants and buffers; their values are constants too."""
        constant = self._constant_ops(set())
        varying: set[int] = set()
        while more := {self._drawn_for[op] for op in self.turn_of if op not in constant} - varying:
            varying |= more  # in another turn it depends on data
            constant = self._constant_ops(varying)
        return constant

    def _constant_ops(self, varying: set[int]) -> set[int]:
        constant: set[int] = set()
        for op in self.ops:
            if self.contracted[op.id] or self.holder[op.call] is not None or op.call in self.twin_of:
                continue
            if self.plan.nodes[self._node_of(op.id)].kind == "gap":
                continue
            inputs = (self.graph.values[self.origin[value]] for value in op.inputs)
            is_constant = all(value.kind in ("const", "buffer") or value.producer in constant for value in inputs)
            if is_constant and not op.name.startswith(RANDOM) and self._drawn_for[op.id] not in varying:
                constant.add(op.id)
        return constant

    def _node_of(self, op: int) -> int:
        twin = self.twin_of.get(self.graph.ops[op].call)
        if twin is not None:  # what a repeat makes, and neither gives back nor makes where the first call does
            drawn_ops = (id_ for id_ in reversed(self.plan.tree.ops_of(twin)) if not self.contracted[id_])
            return self._node_of(next(drawn_ops))
        drawn = self._drawn_for[op]
        holder = self.holder[self.graph.ops[drawn].call]
        return self.plan.node_of_op[drawn] if holder is None else self.plan.node_of_call[holder]

    def _is_back(self, origin: int, reader: int) -> bool:
        producer = self.graph.values[origin].producer
        made, read = self.turn_of.get(-1 if producer is None else producer, {}), self.turn_of.get(reader, {})
        return any(turn < read.get(loop, 0) for loop, turn in made.items())

    def _is_inner(self, origin: int, reader: Op) -> bool:
        """Whether the edge leads from one repeat to another or repeats an edge of the call that is drawn."""
        producer = self.graph.values[origin].producer
        if not self.plan.turns or producer is None:
            return False
        # the calls around both that have one parent, or the call that is around both
        calls, level = self.graph.calls, self.plan.tree.level
        x, y = self.graph.ops[producer].call, reader.call
        while x != y and calls[x].parent != calls[y].parent:
            deeper_x = level[x] >= level[y]
            deeper_y = level[y] >= level[x]
            x = calls[x].parent or 0 if deeper_x else x
            y = calls[y].parent or 0 if deeper_y else y
        if x == y:
            return self.is_repeat[x]
        # one run holds both, and not in its first turn, which is drawn
        turns_x, turns_y = self.plan.turns.get(x, {}), self.plan.turns.get(y, {})
        if any(max(n, turns_y[run]) > 0 for run, n in turns_x.items() if run in turns_y):
            return True
        parent = self.graph.calls[x].parent
        return parent is not None and self.is_repeat[parent]


@dataclass(frozen=True, slots=True)
class Source:
    """Origin of a read; reads with equal ones share a node."""

    kind: NodeKind
    name: str
    op: int | None = None
    """The op that made it, for a constant that ops made."""
    value: int | None = None
    """Tells constants without a name apart."""


class Sources:
    def __init__(self, reads: Reads, constant: set[int]) -> None:
        self.reads, self.plan, self.graph = reads, reads.plan, reads.graph
        self.constant = constant
        """The ops that make constants."""
        root = self.plan.root
        paths = self.graph.inputs if root == 0 else self.graph.calls[root].inputs
        self.names: dict[int, str] = {}
        """By value that the root gets, its path."""
        for path, value in paths.items():
            self.names.setdefault(value, path)
        self.groups = grouped([*self.names.values()])

    def of(self, read: Read) -> Source | None:
        """The source of a read that no drawn node feeds; None if it is not drawn."""
        value = self.graph.values[read.origin]
        if value.producer in self.constant:
            return self._constant(value, read)
        if value.kind in ("input", "op") or (value.kind == "param" and self.plan.root and read.origin in self.names):
            name = self.names.get(read.origin) or self.names.get(read.value) or value.name or ""
            return Source("input", self.groups.get(name, name))
        if read.repeated or not self._is_data(read, value):
            return None
        return self._constant(value, read) if value.kind == "const" else Source(value.kind, value.name or "")

    def _constant(self, value: Value, read: Read) -> Source | None:
        if read.repeated or value.meta is None or not value.meta.shape or 0 in value.meta.shape:
            return None
        # the buffer that it was cut from, such as positions up to the length of the text; zeros take its type alone
        made = None if value.producer is None else self.graph.ops[value.producer]
        read_by = () if made is None or made.name in SHAPED_LIKE else made.inputs
        inputs = [self.graph.values[self.reads.origin[id_]] for id_ in read_by]
        buffer = inputs[0].name if len(inputs) == 1 and inputs[0].kind == "buffer" else None
        return Source("const", buffer or "", value.producer, None if buffer else value.id)

    def _is_data(self, read: Read, value: Value) -> bool:
        node = self.plan.nodes[read.head]
        if node.kind == "gap":
            return False
        asked = "weights" in self.plan.visible.options.show and value.kind == "param"
        if asked and not (node.calls and self.plan.tree.children[node.calls[0]]):
            return True  # the weights of a layer, not all those inside one that is closed
        if node.kind == "call":
            given = self.graph.calls[node.calls[0]].inputs.values()
            return read.value in given or read.origin in given
        is_first = bool(read.op.inputs) and self.reads.origin[read.op.inputs[0]] == value.id
        return read.op.name not in WEIGHTED or not read.op.inputs or is_first


def grouped(paths: list[str]) -> dict[str, str]:
    """By path the name of the node that stands for it: long tuples and lists are one node."""
    members: dict[str, list[str]] = {}
    for path in dict.fromkeys(paths):
        head, dot, _ = path.partition(".")
        members.setdefault(head if dot else "" if path.isdigit() else path, []).append(path)
    return {path: key if len(of) > tuning.MAX_LISTED else path for key, of in members.items() for path in of}
