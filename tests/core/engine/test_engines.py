"""All engines draw the same: the two that pip brings, and a system's, which may be ten years older."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.core.drawing.engines import finish
from tests.core.graph.building import chain, mlp, nested, residual_block, transformer
from tests.core.layout.test_geometry import dense, heads, unet
from tests.core.write.test_svg import check
from torchrecorder.engine import find_engine
from torchrecorder.errors import EngineNotFound
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import to_dot
from torchrecorder.layout.layered import read_layout
from torchrecorder.layout.model import Figure, Layout
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view

pytestmark = pytest.mark.parametrize("other", ["wasm", "dot"])

GRAPHS = {
    "mlp": mlp(),
    "block": residual_block(),
    "encoder": transformer(12),
    "unet": unet(4),
    "dense": dense(8),
    "heads": heads(7),
    "nested": nested(6),
    "chain": chain(30),
}


def layouts(graph: Graph, *names: str) -> list[str]:
    source = to_dot(make_view(graph, DrawingOptions(depth="all"))).source
    try:
        found = [find_engine(name).layout([source])[0] for name in names]
    except EngineNotFound as error:
        pytest.skip(str(error))
    return [layout for layout in found if isinstance(layout, str)]


def structure(drawing: Layout) -> object:
    """What stands in which boxes, and how many edges of each kind there are; no places and no sizes."""
    names = [said(node) for node in drawing.nodes]
    inside = [sorted(said(box) for box in drawing.boxes if is_in(node, box)) for node in drawing.nodes]
    around = [sorted(said(outer) for outer in drawing.boxes if is_in(box, outer)) for box in drawing.boxes]
    nodes = sorted(zip(names, inside, [sorted(node.flags) for node in drawing.nodes], strict=True))
    boxes = sorted(zip(map(said, drawing.boxes), around, strict=True))
    edges = Counter((*sorted(line.flags), line.word, ends(drawing, line.curve[0])) for line in drawing.lines)
    return nodes, boxes, edges


def said(figure: Figure) -> str:
    return "/".join(word.text for word in figure.words)


def is_in(inner: Figure, outer: Figure) -> bool:
    a, b = inner.rect, outer.rect
    return a != b and b.left <= a.left and a.right <= b.right and b.top <= a.top and a.bottom <= b.bottom


def ends(drawing: Layout, point: tuple[float, float]) -> str:
    """What the edge that begins there comes from."""
    x, y = point

    def off(node: Figure) -> float:
        rect = node.rect
        return max(rect.left - x, x - rect.right, 0) + max(rect.top - y, y - rect.bottom, 0)

    return said(min(drawing.nodes, key=off))


@pytest.mark.parametrize("name", GRAPHS)
def test_the_same_nodes_edges_and_boxes(name: str, other: str) -> None:
    one, two = layouts(GRAPHS[name], "pure", other)
    assert structure(read_layout(one)) == structure(read_layout(two))
    for layout in (one, two):
        check(finish(layout, uid="p1", title="t", desc="d").svg)
