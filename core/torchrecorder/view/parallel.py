"""Layers of one class side by side, of any sizes, that read and feed the same: drawn once with their number."""

from __future__ import annotations

from dataclasses import replace

from torchrecorder.view.draft import Draft
from torchrecorder.view.model import Node, View
from torchrecorder.view.repeats import ROW


def side_by_side(view: View) -> View:
    """The View with more than a row of such layers as one node, and what each has of its own before it."""
    draft = Draft(view)
    groups: dict[tuple[object, ...], list[Node]] = {}
    for node in view.nodes:
        row = view.graph.calls[node.calls[0]] if node.kind == "call" and node.repeat == 1 and not node.parts else None
        module = view.graph.modules.get(row.module) if row is not None and row.kind == "module" else None
        if module is not None and draft.tails[node.id] and draft.heads[node.id]:
            ends = (*sorted(draft.tails[node.id]), -1, *sorted(draft.heads[node.id]))
            groups.setdefault((node.box, module.cls, ends), []).append(node)
    for group in groups.values():
        if len(group) > ROW:
            calls = tuple(node.calls[0] for node in group)
            draft.merge([node.id for node in group], replace(group[0], calls=calls, repetition="parallel"))
    return draft.view()
