"""Ops as the function of the user's that they ran in: `apply_rotary_pos_emb` for the sixteen steps of its arithmetic.

A function that calls a layer with parameters is looked through; of functions in one another the outermost stands for
all. One op says more than the name of its function, so a function with one visible op is that op.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from torchrecorder.graph.model import Graph
from torchrecorder.view.draft import Draft
from torchrecorder.view.model import Node, View


def with_functions(view: View, asked: Set[int]) -> View:
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
    opaque = _opaque(graph)
    whole = {box.id for box in view.boxes if not asked.isdisjoint(box.calls)}
    for node in view.nodes:
        for frame in _frames(graph, node):
            if frame in opaque:
                groups.setdefault((node.box, frame), []).append(node)
    ran_in: dict[int, list[int]] = {}
    for op in graph.ops:
        frames, at = _around(graph, op.frame), graph.calls[op.call]
        while at.parent is not None:  # those around the layers that it ran in
            frames += _around(graph, at.frame)
            at = graph.calls[at.parent]
        for frame in frames:
            ran_in.setdefault(frame, []).append(op.id)
    done: set[int] = set()
    for (place, frame), group in sorted(groups.items(), key=lambda item: item[0][1]):  # an outer one before those in it
        ids = [node.id for node in group]
        is_all = place in whole and len(group) == size[place]
        n_ops = sum(node.kind == "op" for node in group)
        if len(group) < 2 or not n_ops or is_all or not done.isdisjoint(ids) or not draft.is_convex(ids):
            continue
        done.update(ids)
        ops = tuple(ran_in[frame])
        name = graph.frames[frame].name.rpartition(".")[2].strip("_")
        decides = any(node.decides for node in group)
        draft.merge(ids, replace(group[0], kind="function", calls=(), op=None, ops=ops, name=name, decides=decides))
    return draft.view()


def _opaque(graph: Graph) -> set[int]:
    """The frames in which no layer with parameters is called."""
    found = {frame.id for frame in graph.frames}
    for call in graph.calls:
        module = graph.modules.get(call.module)
        if call.frame is not None and (module is None or module.params.total):
            found.difference_update(_around(graph, call.frame))
    return found


def _frames(graph: Graph, node: Node) -> list[int]:
    """The functions that an op or a layer ran in, from the innermost."""
    if node.kind == "op" and node.op is not None:
        return _around(graph, graph.ops[node.op].frame)
    return _around(graph, graph.calls[node.calls[0]].frame) if node.kind == "call" and node.repeat == 1 else []


def _around(graph: Graph, frame: int | None) -> list[int]:
    """The frame and those around it in the same call."""
    found = []
    while frame is not None:
        found.append(frame)
        frame = graph.frames[frame].parent
    return found
