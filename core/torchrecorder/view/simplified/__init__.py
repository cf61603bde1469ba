"""From what ran to what readers take for one thing: steps that edit one Draft, in this order.

`depth: all` draws what ran, and so does a view without contraction; a classic recording keeps the picture of its time.
"""

from __future__ import annotations

from collections.abc import Set

from torchrecorder.view.draft import Draft
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.simplified.asides import name_in_readers, without_asides
from torchrecorder.view.simplified.merged import (
    merge_functions,
    merge_layers,
    merge_scale_and_shift,
    merge_side_by_side,
    merge_single_boxes,
)


def simplified(draft: Draft, visible: Visibility, asked: Set[int] = frozenset()) -> Draft:
    """A Draft with fewer nodes that say as much.

    Args:
        draft: As it was planned; it may be edited.
        visible: What the reader wants of its Graph.
        asked: Calls that are to be open even if there is one node in them.
    """
    options, facts, info = visible.options, visible.facts, draft.graph.info
    if options.depth == "all" or not visible.contract or info.recorder == "classic" or info.failure is not None:
        return draft
    draft = without_asides(draft, facts)
    merge_functions(draft, facts, asked)
    draft.settle()
    if "weights" not in options.show:
        name_in_readers(draft)
        draft.settle()
    merge_scale_and_shift(draft)
    merge_single_boxes(draft, asked)
    merge_layers(draft, facts, fold=options.fold, marks=visible.marks)
    if merge_single_boxes(draft, asked):  # what had boxes of its own may be in series
        merge_layers(draft, facts, fold=options.fold, marks=visible.marks)
    if options.fold:
        merge_side_by_side(draft, facts)
    draft.settle()
    return draft
