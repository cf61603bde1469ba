"""Which node shows each op, by what a View claims: nodes stand for ops, a first turn for those of the others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from torchrecorder.proof.facts import Fault, GraphFacts
from torchrecorder.view.model import Box, Node, View, boxes_around


class Coverage:
    """The drawn thing for each op of the shown call."""

    def __init__(self, view: View, facts: GraphFacts) -> None:
        self.view, self.facts, self.graph = view, facts, facts.graph
        self.root = self.root_of(view)
        """The call that is shown."""
        self.ops = sorted(facts.ops_of([self.root]))
        self.faults: list[Fault] = []
        self.twin: dict[int, int] = {}
        """By op of a later turn the one of the first turn that is drawn for it."""
        self.twin_calls: dict[int, int] = {}
        """Likewise by call."""
        self.turns: dict[int, dict[int, int]] = {}
        """By op in which turn of each box it ran, by the box's id."""
        for box in view.boxes:
            self._note_turns(box)
        self.nodes: dict[int, list[int]] = {}
        """By op the nodes that stand for it: one, but for an op that made a constant."""
        self.calls: dict[int, list[tuple[int, int]]] = {}
        """By op of nodes that are drawn once for many calls, the node and the position of the call in it."""
        for node in view.nodes:
            for op in self._ops_of(node):
                here = self.nodes.setdefault(op, [])
                if node.id not in here:
                    here.append(node.id)
            for part in (node.parts or (node,)) if node.repeat > 1 else ():
                insides = [facts.ops_of([call]) for call in part.calls] or [[op] for op in part.ops]
                for position, ops in enumerate(insides):
                    for op in ops:
                        self.calls.setdefault(op, []).append((node.id, position))
        self._own, self._drawn_op = {*self.nodes}, dict[int, int]()
        self._resolve()

    @staticmethod
    def root_of(view: View) -> int:
        calls = view.boxes[0].calls if view.boxes else next((n.calls for n in view.nodes if n.calls), (0,))
        return calls[0]

    def _resolve(self) -> None:
        nodes: dict[int, list[int]] = {}
        turns: dict[int, dict[int, int]] = {}
        for op in self.twin:
            *between, self._drawn_op[op] = self.with_twins(op)
            if between:
                nodes[op] = self.nodes.get(self._drawn_op[op], [])
                turns[op] = {**self.turns.get(self._drawn_op[op], {})}
                for twin in reversed(between):
                    turns[op] |= self.turns.get(twin, {})
        self.nodes |= nodes
        self.turns |= turns

    def with_twins(self, op: int) -> Iterator[int]:
        """An op, and those of first turns that are drawn for it."""
        yield op
        while op in self.twin and op not in self._own:
            op = self.twin[op]
            yield op

    def drawn_op(self, op: int) -> int:
        return self._drawn_op.get(op, op)

    def uncovered(self) -> Iterator[int]:
        """The ops that no node shows; faults are noted where several do."""
        for op in self.ops:
            nodes = self.nodes.get(op, ())
            if not nodes:
                yield op
            elif len(nodes) > 1 and any(self.view.nodes[node].kind != "const" for node in nodes):
                name, call = self.graph.ops[op].name, self.graph.ops[op].call
                self.faults.append(Fault("coverage", f"{name} of call {call} is drawn {len(nodes)} times", (call,)))

    def _ops_of(self, node: Node) -> Iterator[int]:
        if node.parts:
            for part in node.parts:
                yield from self._ops_of(part)
            return
        yield from self.facts.ops_of(node.calls if node.kind in ("call", "gap") else ())
        yield from node.ops or (() if node.op is None else (node.op,))

    def _note_turns(self, box: Box) -> None:
        if box.repeat < 2:
            return
        size, length = box.period, len(box.ops) // box.repeat
        if len(box.calls) % box.repeat or len(box.ops) % box.repeat:
            self.faults.append(Fault("counts", f"{len(box.calls)} calls are not {box.repeat} turns", box.calls[:1]))
            return
        for turn in range(box.repeat):
            calls, ops = box.calls[turn * size : (turn + 1) * size], box.ops[turn * length : (turn + 1) * length]
            inside = [*self.facts.ops_of(calls), *ops]
            for op in inside:
                self.turns.setdefault(op, {})[box.id] = turn
            if turn:
                for call, first in zip(calls, box.calls[:size], strict=True):
                    matched = self.facts.match(call, first)
                    self.twin.update(matched.ops)
                    self.twin_calls.update(matched.calls)
                self.twin.update(zip(ops, box.ops[:length], strict=True))

    @cached_property
    def again(self) -> dict[int, list[int]]:
        again: dict[int, list[int]] = {}
        for op in self.twin:
            again.setdefault(self.drawn_op(op), []).append(op)
        return again

    @cached_property
    def repeated(self) -> dict[int, list[int]]:
        """By node the ops in it that are drawn for those of later turns."""
        repeated: dict[int, list[int]] = {}
        for op in sorted(self.again):
            for node in self.nodes.get(op, ()):
                repeated.setdefault(node, []).append(op)
        return repeated

    def drawn_call(self, call: int) -> int:
        while call in self.twin_calls:
            call = self.twin_calls[call]
        return call

    def around(self, node: Node) -> tuple[int, ...]:
        """The calls in whose box a node stands."""
        around = boxes_around(self.view.boxes, node.box)
        return next((box.calls for box in around if not box.around), (self.root,))
