"""On which edges a picture says the shape: where it is news."""

from __future__ import annotations

from collections.abc import Collection

from torchrecorder.graph import View
from torchrecorder.renderer.words import units


def edge_shapes(view: View, show: Collection[str] = ()) -> dict[tuple[int, int], str]:
    """The text of each edge that has one, by tail and head.

    An edge says the shape if it differs from the shape that its tail got, once for each end and shape. Inputs, outputs
    and constants say their shape themselves.
    """
    got: dict[int, str] = {}
    said: set[tuple[int, str]] = set()
    found: dict[tuple[int, int], str] = {}
    for edge in sorted(view.edges, key=lambda edge: (edge.head, edge.tail)):
        got.setdefault(edge.head, _said(view, edge.value, show))
    for edge in sorted(view.edges, key=lambda edge: (edge.tail, edge.skip, edge.head)):
        shape = _said(view, edge.value, show)
        is_known = shape == (_own(view, edge.tail, show) or got.get(edge.tail))
        if (
            is_known
            or not shape
            or view.nodes[edge.head].kind == "output"
            or {(edge.tail, shape), (-edge.head, shape)} & said
        ):
            continue
        said |= {(edge.tail, shape), (-edge.head, shape)}
        found[edge.tail, edge.head] = shape
    return found


def _own(view: View, node: int, show: Collection[str]) -> str:
    """The shape that a node shows itself."""
    values = view.nodes[node].values
    return _said(view, values[0], show) if len(values) == 1 else ""


def _said(view: View, value: int, show: Collection[str]) -> str:
    return units.tensor(view.graph.values[value].meta, show)
