"""Marking what a View shows of a Graph that holds two models: what is new, gone, changed or moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from torchrecorder.view.model import Box, Edge, Mark, Marks, Node, View

_CHANGED: Mark = "changed"


def marked(view: View, marks: Marks) -> View:
    """The View with the marks on its boxes, nodes and edges, and on those of its insets."""
    marker = _Marker(view, marks)
    nodes = tuple(marker.node(node) for node in view.nodes)
    insets = tuple(replace(inset, view=marked(inset.view, marks)) for inset in view.insets)
    view = replace(view, nodes=nodes, boxes=tuple(map(marker.box, view.boxes)), insets=insets)
    return replace(view, edges=tuple(marker.edge(edge, view.nodes) for edge in view.edges))


class _Marker:
    def __init__(self, view: View, marks: Marks) -> None:
        self.graph, self.marks = view.graph, marks
        self.inside: list[Counter[Mark]] = [Counter() for _ in view.graph.calls]
        """By call the marks of what is in it."""
        for id_, mark in marks.ops.items():
            self.inside[self.graph.ops[id_].call][mark] += 1
        for call in reversed(self.graph.calls):
            if call.parent is not None:
                self.inside[call.parent].update(self.inside[call.id])
                if (own := marks.calls.get((call.module, call.index))) is not None:
                    self.inside[call.parent][own] += 1
        self.readers: dict[int, list[int]] = {}
        """By value the ops that read it."""
        for op in self.graph.ops:
            for value in op.inputs:
                self.readers.setdefault(value, []).append(op.id)

    def box(self, box: Box) -> Box:
        mark, words = self._of_calls(box.calls, box.period)
        return replace(box, mark=mark, differs=(*words, *box.differs))

    def node(self, node: Node) -> Node:
        if node.kind == "call":
            calls = [call for part in node.parts for call in part.calls] or node.calls
            mark, words = self._of_calls(node.calls if len(node.calls) > 1 else calls, 1)
            is_changed = any(self.inside[call] for call in calls)
            return replace(node, mark=mark or ("changed" if is_changed else None), differs=(*words, *node.differs))
        ops = (*node.own_ops, *(op for part in node.parts for op in part.ops))
        of_parts: list[Mark | None] = [self.marks.ops.get(op) for op in ops]
        of_parts.extend(self.marks.values.get(value) for value in node.values)
        if node.kind == "gap":
            of_parts.extend(self._call(call) or (_CHANGED if self.inside[call] else None) for call in node.calls)
        return replace(node, mark=_together(of_parts))

    def edge(self, edge: Edge, nodes: Sequence[Node]) -> Edge:
        tail, head = nodes[edge.tail].mark, nodes[edge.head].mark
        for mark in ("removed", "added"):
            if mark in (tail, head):
                return replace(edge, mark=mark)
        head_node = nodes[edge.head]
        ops = {head_node.op, *head_node.ops}
        calls = {call for part in (head_node, *head_node.parts) for call in part.calls}
        readers = self.readers.get(edge.value, ())
        around = {op: {call.id for call in self.graph.around(self.graph.ops[op].call)} for op in readers}
        reads = [op for op in readers if op in ops or not calls.isdisjoint(around[op])]
        return replace(edge, mark=_together([self.marks.reads.get((edge.value, op)) for op in reads]))

    def _call(self, call: int) -> Mark | None:
        row = self.graph.calls[call]
        return self.marks.calls.get((row.module, row.index))

    def _of_calls(self, calls: Sequence[int], period: int) -> tuple[Mark | None, tuple[str, ...]]:
        of_calls: list[Mark | None] = [self._call(call) for call in calls]
        rows = (self.graph.calls[call] for call in calls)
        said = tuple(filter(None, (self.marks.words.get((row.module, row.index)) for row in rows)))[:1]
        n, came, went = len(calls), of_calls.count("added"), of_calls.count("removed")
        if 0 < came + went < n and (came == 0 or went == 0):
            return "changed", (f"was ×{(n - came) // period}" if came else f"now ×{(n - went) // period}",)
        return _together(of_calls), said


def _together(own: Iterable[Mark | None]) -> Mark | None:
    """The mark of several things as one: theirs if they have one, `changed` if they differ."""
    marks: set[Mark | None] = {*own}
    if len(marks) == 1:
        return next(iter(marks))
    return _CHANGED if marks else None
