"""Ops as the function of the user's that they ran in: `apply_rotary_pos_emb` for the sixteen steps of its arithmetic.

A function that calls a layer with parameters is looked through; of functions in one another the outermost stands for
all. One op says more than the name of its function, so a function with one visible op is that op.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from torchrecorder.graph.model import Graph
from torchrecorder.view.facts import Facts, frames_around
from torchrecorder.view.model import Node, View
from torchrecorder.view.simplified.draft import Draft


def with_functions(view: View, facts: Facts, asked: Set[int]) -> View:
    """The View with such functions as nodes; a box that was asked for is not one function alone."""
    graph = view.graph
    if not graph.frames:
        return view
    draft = Draft(view)
    groups: dict[tuple[int | None, int], list[Node]] = {}
    size: dict[int | None, int] = {}
    for node in view.nodes:
        size[node.box] = size.get(node.box, 0) + 1
    for box in view.boxes:
        size[box.parent] = size.get(box.parent, 0) + 1
    whole = {box.id for box in view.boxes if not asked.isdisjoint(box.calls)}
    for node in view.nodes:
        for frame in _frames(graph, node):
            if frame in facts.opaque:
                groups.setdefault((node.box, frame), []).append(node)
    in_gaps = {op for node in view.nodes if node.kind == "gap" for op in node.ops}
    done: set[int] = set()
    for (place, frame), group in sorted(groups.items(), key=lambda item: item[0][1]):  # an outer one before those in it
        ids = [node.id for node in group]
        is_all = place in whole and len(group) == size[place]
        n_ops = sum(node.kind == "op" for node in group)
        if len(group) < 2 or not n_ops or is_all or not done.isdisjoint(ids) or not draft.is_convex(ids):
            continue
        drawn = {op for node in group for op in _ops(node, facts)}
        ops = tuple(op for op in facts.ran_in[frame] if op in drawn or facts.aside.issuperset(graph.ops[op].outputs))
        if not in_gaps.isdisjoint(ops):
            continue
        done.update(ids)
        name = graph.frames[frame].name.rpartition(".")[2].strip("_")
        decides = any(node.decides for node in group)
        draft.merge(ids, replace(group[0], kind="function", calls=(), op=None, ops=ops, name=name, decides=decides))
    return draft.view()


def _ops(node: Node, facts: Facts) -> list[int]:
    calls = [op for call in node.calls for op in facts.tree.all_ops_of(call)]
    return calls or [*node.ops] or ([] if node.op is None else [node.op])


def _frames(graph: Graph, node: Node) -> list[int]:
    """The functions that an op or a layer ran in, from the innermost."""
    if node.kind == "op" and node.op is not None:
        return frames_around(graph, graph.ops[node.op].frame)
    return frames_around(graph, graph.calls[node.calls[0]].frame) if node.kind == "call" and node.repeat == 1 else []
