"""From what ran to what readers take for one thing: a chain of steps from View to View.

`depth: all` draws what ran, and so does a view without contraction; a classic recording keeps the picture of its time.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from torchrecorder.view.model import Node, Repetition, View
from torchrecorder.view.plan.repeats import ROW
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.simplified.affine import scaled_and_shifted
from torchrecorder.view.simplified.asides import named_in_readers, without_asides
from torchrecorder.view.simplified.draft import Draft
from torchrecorder.view.simplified.functions import with_functions
from torchrecorder.view.simplified.fused import fused
from torchrecorder.view.simplified.lone import without_lone_boxes


def simplified(view: View, visible: Visibility, asked: Set[int] = frozenset()) -> View:
    """The View with fewer nodes that say as much; its skip edges are not marked yet.

    Args:
        view: With ids in the order of things.
        visible: What the reader wants of its Graph.
        asked: Calls that are to be open even if there is one node in them.
    """
    options, facts = visible.options, visible.facts
    is_as_before = view.graph.info.recorder == "classic" or view.graph.info.failure is not None
    if options.depth == "all" or not visible.contract or is_as_before:
        return Draft(view).view()
    view = with_functions(without_asides(view, facts), facts, asked)
    if "weights" not in options.show:
        view = named_in_readers(view)
    view = without_lone_boxes(scaled_and_shifted(view), asked)
    view = fused(view, facts, fold=options.fold, marks=visible.marks)
    alone = without_lone_boxes(view, asked)
    if alone is not view:  # what had boxes of its own may be in series
        view = fused(alone, facts, fold=options.fold, marks=visible.marks)
    return _side_by_side(view) if options.fold else view


def _side_by_side(view: View) -> View:
    """The View with more than a row of layers of one class, of any sizes, that read and feed the same as one node."""
    draft = Draft(view)
    groups: dict[tuple[object, ...], list[Node]] = {}
    for node in view.nodes:
        row = view.graph.calls[node.calls[0]] if node.kind == "call" and node.repeat == 1 and not node.parts else None
        module = view.graph.modules.get(row.module) if row is not None and row.kind == "module" else None
        is_between = draft.tails[node.id] and draft.heads[node.id] and not draft.is_looped(node.id)
        if module is not None and is_between:
            ends = (*sorted(draft.tails[node.id]), -1, *sorted(draft.heads[node.id]))
            groups.setdefault((node.box, module.cls, ends), []).append(node)
    for group in groups.values():
        if len(group) > ROW:
            calls = tuple(node.calls[0] for node in group)
            is_one = len({view.graph.calls[call].module for call in calls}) == 1
            repetition: Repetition = "shared" if is_one else "parallel"
            draft.merge([node.id for node in group], replace(group[0], calls=calls, repetition=repetition))
    return draft.view()
