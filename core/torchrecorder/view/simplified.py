"""From what ran to what readers take for one thing: a chain of steps from View to View.

`depth: all` draws what ran, and so does a view without contraction; a classic recording keeps the picture of its time.
"""

from __future__ import annotations

from collections.abc import Set

from torchrecorder.view.facts import Facts
from torchrecorder.view.functions import with_functions
from torchrecorder.view.fused import fused
from torchrecorder.view.lone import without_lone_boxes
from torchrecorder.view.model import View, ViewOptions
from torchrecorder.view.parallel import side_by_side
from torchrecorder.view.spine import named_in_readers, without_asides


def simplified(view: View, facts: Facts, options: ViewOptions, asked: Set[int] = frozenset()) -> View:
    """The View with fewer nodes that say as much; its skip edges are not marked yet.

    Args:
        view: With ids in the order of things.
        facts: Those of its Graph.
        options: What the reader wants.
        asked: Calls that are to be open even if there is one node in them.
    """
    is_as_before = view.graph.info.recorder == "classic" or view.graph.info.failure is not None
    if options.depth == "all" or not options.contract or is_as_before:
        return view
    view = with_functions(without_asides(view, facts), facts, asked)
    if not options.weights:
        view = named_in_readers(view)
    view = without_lone_boxes(view, asked)
    view = without_lone_boxes(fused(view, facts, fold=options.fold), asked)
    view = fused(view, facts, fold=options.fold)  # what had boxes of its own may be in series
    return side_by_side(view) if options.fold else view
