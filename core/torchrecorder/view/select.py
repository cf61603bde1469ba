"""From a Graph to what one picture of it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torchrecorder.graph.model import Graph
from torchrecorder.view.amount import automatic, given
from torchrecorder.view.model import View
from torchrecorder.view.viewer import Viewer, Wish

Depth = int | Literal["all", "auto"]


def make_view(
    graph: Graph,
    *,
    depth: Depth = "auto",
    fold: bool = True,
    contract: bool = True,
    focus: str = "",
    expand: Sequence[str] = (),
    collapse: Sequence[str] = (),
    weights: bool = False,
) -> View:
    """What a picture of the Graph shows.

    Args:
        graph: The Graph.
        depth: How many levels of calls are boxes: 0 shows the model as one node, 1 its children, …; `auto` is the
            deepest that shows at most `AUTO_NODES` nodes. A view of too many nodes is made smaller, and says so.
        fold: Whether what repeats is drawn once, with `×N`.
        contract: Whether changes of shape are drawn as edges.
        focus: Path of the module that is shown alone, at its first call; empty for the whole model.
        expand: Patterns of paths that are boxes at any depth.
        collapse: Patterns of paths that are nodes at any depth.
        weights: Whether the parameters of layers are nodes.

    Raises:
        OptionError: `focus` is no path of a module that was called, or `expand` asks for more than can be drawn.
    """
    wish = Wish(depth == "all", fold, contract, focus, tuple(expand), tuple(collapse), weights)
    viewer = Viewer(graph, wish)
    if depth == "auto":
        return automatic(viewer)
    return given(viewer, viewer.max_depth if depth == "all" else depth)
