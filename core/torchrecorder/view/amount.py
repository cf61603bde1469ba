"""How much a picture may show.

A reader takes in some forty nodes at once and finds a way through some three hundred; beyond five hundred a picture is
a wall. A view that would be larger is drawn at a smaller depth or with gaps, and a note says so and what shows more.
"""

from __future__ import annotations

from dataclasses import replace

from torchrecorder.errors import OptionError
from torchrecorder.view.model import View
from torchrecorder.view.viewer import Viewer

AUTO_NODES = 40
"""How many nodes a view of automatic depth shows at most."""
MANY_NODES = 300
"""A view of more gets a note."""
MAX_ASKED = 500
"""A view of a given depth shows at most this many."""
MAX_NODES = 5000
"""More than this are never drawn."""
_FEW = 2
"""A view that shows no more than this says nothing of the model."""


def automatic(viewer: Viewer) -> View:
    """The deepest view that shows few enough nodes; where none does, one with gaps."""
    depth = 1
    while depth < viewer.max_depth and viewer.count(depth + 1) <= 2 * AUTO_NODES:
        depth += 1
    view = viewer.view(min(depth, viewer.max_depth))
    while _size(view) > AUTO_NODES and view.depth > 1:
        view = viewer.view(view.depth - 1)
    if _size(view) > AUTO_NODES and not viewer.asked:
        return _judged(_with_gaps(viewer, view.depth, AUTO_NODES))
    if viewer.count(view.depth) <= _FEW and view.depth < viewer.max_depth:
        deeper = _with_gaps(viewer, view.depth + 1, AUTO_NODES)
        return deeper if _size(deeper) <= AUTO_NODES else view
    return _judged(view)


def given(viewer: Viewer, depth: int) -> View:
    """The view of that depth, or a smaller one if it would show too much.

    What `expand` asks for is drawn up to the last limit: who names single layers wants to see them.

    Raises:
        OptionError: `expand` asks for more than can be drawn.
    """
    depth = min(max(depth, 0), viewer.max_depth)
    n = viewer.count(depth)
    if viewer.asked:
        if n > MAX_NODES:
            raise _too_many(n)
        return _judged(viewer.view(depth))
    drawn = depth
    while n > MAX_ASKED and drawn > 1:
        drawn -= 1
        n = viewer.count(drawn)
    view = _judged(viewer.view(drawn) if n <= MAX_ASKED else _with_gaps(viewer, drawn, MAX_ASKED))
    if drawn == depth:
        return view
    note = f"depth {depth} would show {viewer.count(depth)} nodes, so this is depth {drawn}; {_MORE}"
    return replace(view, notes=(*view.notes, note))


_MORE = "focus shows one layer alone, expand opens layers, and expand: ** opens all"


def _with_gaps(viewer: Viewer, depth: int, limit: int) -> View:
    """The view with no more things in a box than keep it within the limit."""
    most = limit
    view = viewer.view(depth, most)
    while _size(view) > limit and most > 6:
        most = most * 3 // 4
        view = viewer.view(depth, most)
    hidden = sum(node.size for node in view.nodes if node.kind == "gap")
    note = f"{hidden} steps in the middle are drawn as one node; expand: ** draws each of them"
    return replace(view, notes=(*view.notes, note)) if hidden else view


def _size(view: View) -> int:
    """How many nodes a reader has to take in; those at the ends of cut edges are there to spare them lines."""
    return sum(node.kind not in ("from", "to") for node in view.nodes)


def _judged(view: View) -> View:
    n = len(view.nodes)
    if n > MAX_NODES:
        raise _too_many(n)
    if n <= MANY_NODES:
        return view
    note = f"this diagram shows {n} nodes; a smaller depth, collapse or focus make it easier to read"
    return replace(view, notes=(*view.notes, note))


def _too_many(n: int) -> OptionError:
    return OptionError(
        (f"this diagram would show {n} nodes, and at most {MAX_NODES} are drawn: give a smaller depth, or focus",)
    )
