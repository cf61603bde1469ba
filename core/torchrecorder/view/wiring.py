"""Finding the edges of a View: which node reads what another made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchrecorder.graph.model import Op
from torchrecorder.view.contract import origins
from torchrecorder.view.plan import Plan


class Read(NamedTuple):
    """A node reads a value."""

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
    """Whether it is read in a call that is drawn as a repeat of another."""


class Wiring:
    """Follows values through contracted ops and folded calls."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.graph = plan.tree.graph
        self.span = range(plan.root, plan.tree.end[plan.root])
        self._holders()
        handed = [self._handed(op) for op in self.graph.ops]
        self.contracted = [value is not None for value in handed]
        self.origin = origins(self.graph, handed)
        self._canonical()

    def reads(self) -> Iterator[Read]:
        """Each read by a node of something that another node, or something outside, made."""
        for op in self.graph.ops:
            if op.call in self.span and not self.contracted[op.id]:
                yield from self._reads_of(op)

    def node_of_value(self, value: int) -> int | None:
        """Position of the node that made the value; None if it comes from outside."""
        producer = self.graph.values[self.origin[value]].producer
        if producer is None or self.graph.ops[producer].call not in self.span:
            return None
        return self._node_of(producer)

    def _reads_of(self, op: Op) -> Iterator[Read]:
        head = self._node_of(op.id)
        repeated = self.is_repeat[op.call]
        for value in op.inputs:
            tail = self.node_of_value(value)
            origin = self.origin[value]
            if tail is None:
                yield Read(head, None, value, origin, op, repeated)
            elif tail != head and not self._is_inner(origin, op):
                yield Read(head, tail, value, origin, op, repeated)

    def _holders(self) -> None:
        """For each call the node call it is in, if any, and whether it belongs to a repeat."""
        states, calls = self.plan.states, self.graph.calls
        self.holder: list[int | None] = [None] * len(calls)
        self.is_repeat = [False] * len(calls)
        for call in self.span:
            parent = calls[call].parent if call != self.plan.root else None
            above = None if parent is None else self.holder[parent]
            self.holder[call] = above if above is not None or states[call] == "box" else call
            is_again = any(self.plan.turns.get(call, {}).values())
            self.is_repeat[call] = is_again or (parent is not None and self.is_repeat[parent])

    def _handed(self, op: Op) -> int | None:
        """The value that a contracted op hands on."""
        if op.call not in self.span or not op.inputs:
            return None
        holder = self.holder[op.call]
        if holder is None:
            return self.plan.handed[op.id]
        return op.inputs[0] if self.plan.states[holder] == "gone" else None

    def _canonical(self) -> None:
        """For each op the one that is drawn for it, which is the same op in the first call of the run."""
        tree = self.plan.tree
        self.canonical = list(range(len(self.graph.ops)))
        for call, head in self.plan.run_head.items():
            shift = tree.first_op[call] - tree.first_op[head]
            for op in tree.ops_of(call):
                self.canonical[op] = op - shift
        for op, drawn in enumerate(self.canonical):
            self.canonical[op] = self.canonical[drawn] if drawn != op else op

    def _node_of(self, op: int) -> int:
        drawn = self.canonical[op]
        holder = self.holder[self.graph.ops[drawn].call]
        return self.plan.node_of_op[drawn] if holder is None else self.plan.node_of_call[holder]

    def _is_inner(self, origin: int, reader: Op) -> bool:
        """Whether the edge leads from one repeat to another or repeats an edge of the call that is drawn."""
        producer = self.graph.values[origin].producer
        if not self.plan.run_head or producer is None:
            return False
        x, y = self._siblings(self.graph.ops[producer].call, reader.call)
        if x == y:
            return self.is_repeat[x]
        parent = self.graph.calls[x].parent
        return self._in_other_turns(x, y) or (parent is not None and self.is_repeat[parent])

    def _in_other_turns(self, x: int, y: int) -> bool:
        """Whether one run holds both, and not in its first turn, which is drawn."""
        before_y = self.plan.turns.get(y, {})
        return any(max(n, before_y[run]) > 0 for run, n in self.plan.turns.get(x, {}).items() if run in before_y)

    def _siblings(self, x: int, y: int) -> tuple[int, int]:
        """The calls around x and y that have one parent, or the call that is around both."""
        calls, level = self.graph.calls, self.plan.tree.level
        while x != y and calls[x].parent != calls[y].parent:
            deeper_x = level[x] >= level[y]
            deeper_y = level[y] >= level[x]
            x = calls[x].parent or 0 if deeper_x else x
            y = calls[y].parent or 0 if deeper_y else y
        return x, y
