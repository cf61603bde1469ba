"""What comes into an inset: two things where any of its calls gets two, though the call that is drawn gets one twice.

Attention that is drawn as self-attention reads one tensor as query, key and value; where it stands for cross-attention
too, the inset has an entrance for each of what that gets, with the name of the argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from torchrecorder.view.model import Node, View, in_order
from torchrecorder.view.plan.visibility import Visibility

_Read = tuple[int, int]
"""An op of the call that is drawn, and which of the things that it gets from outside."""


class _Placed(NamedTuple):
    """What a call reads from outside, by the ops at their places in the call that is drawn."""

    call: int
    reads: dict[int, list[int]]

    def value(self, read: _Read, n: int) -> int | None:
        """What the op reads as one of `n` things, which may all be one."""
        values = self.reads.get(read[0], [])
        return values[read[1]] if len(values) == n else values[0] if len(values) == 1 else None


def with_entrances(view: View, calls: Sequence[int], visible: Visibility) -> View:
    """The inside of a call, each of whose inputs is one thing in all of the calls that it stands for."""
    root = view.boxes[0].calls[0]
    others = [_placed(call, root, visible) for call in calls if call != root]
    own = _Placed(root, _reads(root, visible) if others else {})
    slots = {op: max(len(placed.reads.get(op, ())) for placed in (own, *others)) for op in own.reads}
    reader = {op: node.id for node in view.nodes for part in node.parts or (node,) for op in visible.facts.ops_of(part)}
    for source in reversed(view.nodes):  # ids of those before one stay as they are
        if source.kind != "input" or len(source.values) != 1:
            continue
        heads = {edge.head for edge in view.edges if edge.tail == source.id}
        reads = ((op, i) for op, n in slots.items() for i in range(n) if reader.get(op) in heads)
        here = [read for read in reads if own.value(read, slots[read[0]]) in source.values]
        groups = _apart(here, others, slots)
        if len(groups) > 1:
            names = _named(source, groups, others, slots, visible)
            parted = [(name, {reader[op] for op, _ in group}) for name, group in zip(names, groups, strict=True)]
            view, more = _parted(view, source, parted), len(groups) - 1
            reader = {op: node if node <= source.id else node + more for op, node in reader.items()}
    return view


def _reads(call: int, visible: Visibility) -> dict[int, list[int]]:
    """Data from outside that each op in a call reads, as it was before changes of shape."""
    graph, inside, origin = visible.graph, {*visible.tree.all_ops_of(call)}, dict[int, int]()
    given = {*graph.calls[call].inputs.values()}
    reads: dict[int, list[int]] = {}
    for id_ in sorted(inside):
        op, handed = graph.ops[id_], visible.handed[id_]
        if handed is not None:
            origin.update(dict.fromkeys(op.outputs, origin.get(handed, handed)))
            continue
        rows = (graph.values[origin.get(value, value)] for value in op.inputs)
        outside = (row.id for row in rows if row.id in given or (row.kind == "op" and row.producer not in inside))
        if data := [value for value in dict.fromkeys(outside) if value not in visible.facts.aside]:
            reads[id_] = data
    return reads


def _placed(call: int, root: int, visible: Visibility) -> _Placed:
    placed = ((visible.places.op(op, call, root), values) for op, values in _reads(call, visible).items())
    return _Placed(call, {op: values for op, values in placed if op is not None})


def _apart(reads: Sequence[_Read], others: Sequence[_Placed], slots: Mapping[int, int]) -> list[list[_Read]]:
    """The reads of one value in groups, in none of which any call reads two."""
    groups: list[list[_Read]] = []
    known = {read: [placed.value(read, slots[read[0]]) for placed in others] for read in reads}
    for read in reads:
        for group in groups:
            pairs = (pair for other in group for pair in zip(known[read], known[other], strict=True))
            if all(a is None or b is None or a == b for a, b in pairs):
                group.append(read)
                break
        else:
            groups.append([read])
    return groups


def _named(
    source: Node,
    groups: Sequence[Sequence[_Read]],
    others: Sequence[_Placed],
    slots: Mapping[int, int],
    visible: Visibility,
) -> list[str]:
    """Arguments of a call that gets each of the groups as another one; else the name of the source with numbers."""
    for placed in others:
        paths = {value: path for path, value in reversed([*visible.graph.calls[placed.call].inputs.items()])}
        values = ((placed.value(read, slots[read[0]]) for read in group) for group in groups)
        names = [next((paths.get(v, "") for v in of_group if v is not None), "") for of_group in values]
        if all(names) and len({*names}) == len(groups):
            return names
    return [f"{source.name} {i + 1}".strip() for i in range(len(groups))]


def _parted(view: View, source: Node, groups: Sequence[tuple[str, set[int]]]) -> View:
    """The view with an input as several, each with its name and what reads it."""
    new = [node.id if node.id <= source.id else node.id + len(groups) - 1 for node in view.nodes]
    nodes: list[Node] = []
    for node in view.nodes:
        parts = tuple(replace(part, id=new[node.id]) for part in node.parts)
        nodes.append(replace(node, id=new[node.id], parts=parts, links=tuple(new[link] for link in node.links)))
    nodes[source.id : source.id + 1] = [
        replace(source, id=source.id + i, name=name) for i, (name, _) in enumerate(groups)
    ]
    edges = [replace(edge, tail=new[edge.tail], head=new[edge.head]) for edge in view.edges if edge.tail != source.id]
    for edge in view.edges:
        if edge.tail == source.id:
            tails = [i for i, (_, heads) in enumerate(groups) if edge.head in heads] or [0]
            edges += [replace(edge, tail=source.id + i, head=new[edge.head]) for i in tails]
    return replace(view, nodes=tuple(nodes), edges=in_order(edges))
