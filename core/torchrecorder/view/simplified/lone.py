"""Boxes around exactly one closed node: the node stands for both, under the joined path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import replace

from torchrecorder.view.model import Box, Node, View
from torchrecorder.view.simplified.draft import Draft


def without_lone_boxes(view: View, asked: Set[int]) -> View:
    """The View without boxes around one node, but for the model's own and those that a reader asked to see inside."""
    inside = Counter(node.box for node in view.nodes)
    inside.update(box.parent for box in view.boxes)
    if not any(inside[box.id] == 1 and box.parent is not None for box in view.boxes):
        return view
    draft = Draft(view)
    held = {node.box: node for node in view.nodes}
    for box in reversed(view.boxes):  # what is in a box stands behind it
        node = held.get(box.id)
        is_loop = box.around and box.repetition == "loop"
        if box.parent is None or is_loop or inside[box.id] != 1 or node is None or not asked.isdisjoint(box.calls):
            continue
        alone = _joined(view, box, draft.nodes[node.id])
        if alone is None:
            continue
        draft.nodes[node.id] = held[box.parent] = alone
        del draft.boxes[box.id]
    return draft.view()


def _joined(view: View, box: Box, node: Node) -> Node | None:
    """The node in the place of the box; None if no node says as much."""
    if node.kind not in ("call", "op", "function") or not view.graph.calls[box.calls[0]].ok:
        return None
    if node.kind == "call" and (not node.parts or all(part.kind == "call" for part in node.parts)):
        if box.repeat > 1 and node.repeat > 1:
            return None
        path = view.graph.calls[box.calls[0]].module if node.parts and box.repeat == 1 else ""
        return replace(_repeated(box, node), box=box.parent, name=path if box.repeat > 1 else path or node.name)
    if box.around:
        return None
    if node.parts:  # an op with what it reads says more than the class of the layer
        return replace(node, box=box.parent) if box.repeat == 1 else None
    whole = Node(node.id, "call", box.parent, box.calls, decides=node.decides)
    return replace(whole, repetition=box.repetition, differs=(*box.differs, *node.differs))


def _repeated(box: Box, node: Node) -> Node:
    """The node with what it is in each of the repeats of the box; equal calls have their inner calls at like places."""
    if box.repeat == 1:
        return node
    turn = box.calls[: box.period]

    def again(one: Node) -> Node:
        places = [(call, max(i for i, first in enumerate(turn) if first <= call)) for call in one.calls]
        later = [[call + other - turn[i] for other in box.calls[i :: box.period]] for call, i in places]
        calls = tuple(call for turns in zip(*later, strict=True) for call in turns)
        return replace(one, calls=calls, repetition=box.repetition)

    parts = tuple(again(part) for part in node.parts)
    return replace(again(node), parts=parts, differs=(*box.differs, *node.differs))
