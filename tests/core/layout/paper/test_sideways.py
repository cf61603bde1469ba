"""The layout of a paper where data flows to the right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.core.drawing.engines import finish, laid_out
from tests.core.drawing.looking import faults, seen
from tests.core.graph.building import Net, chain, mlp, residual_block
from tests.core.layout.paper.test_paper import COLUMN, middle, paper, titled
from torchrecorder.graph import Graph
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Inset, make_view


@pytest.mark.parametrize("graph", [mlp(), residual_block()], ids=["mlp", "residual"])
def test_to_the_right_data_flows_to_the_right(graph: Graph) -> None:
    picture = paper(graph, is_sideways=True)
    assert faults(picture) == []
    assert picture.size[0] > picture.size[1]
    for _, title in picture.titles:  # above all lines of its box
        assert not any(title[0] < x < title[2] and title[1] < y < title[3] for line in picture.lines for x, y in line)
    xs = [*map(middle, picture.nodes)]
    assert (xs[0], xs[-1]) == (min(xs), max(xs))


def test_to_the_right_a_long_chain_goes_on_below_like_text() -> None:
    picture = paper(chain(30), is_sideways=True)
    assert picture.size[0] <= COLUMN * 1.1
    assert len({round(top) for _, top, _, _ in picture.nodes}) >= 3


@pytest.mark.parametrize("is_sideways", [False, True])
def test_one_line_enters_an_inset_of_several_columns_and_one_leaves_it(is_sideways: bool) -> None:
    net = Net("Tower")
    x = net.input("x", 1, 8)
    with net.call("block", "Block", params=10):
        for name in ["sin", "cos", "tan", "exp"] * 10:
            x = net.op(name, x)
    graph = net.graph(x)
    inside = make_view(graph, DrawingOptions(depth=9, fold=False, focus="block"))
    view = replace(make_view(graph, DrawingOptions(depth=1)), insets=(Inset("A", (1,), inside),))
    layout = PaperLayout(view, is_sideways=is_sideways)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    picture = seen(finish(placed, uid="p1", title="t", desc="d").svg)
    left, top, right, bottom = titled(picture, "A")
    ends = [end for line in picture.lines for end in (line[0], line[-1])]
    inner = [(x, y) for x, y in ends if left <= x <= right and top <= y <= bottom]
    assert sum(x < left + 4 if is_sideways else y < top + 20 for x, y in inner) == 1
    assert sum(x > right - 14 if is_sideways else y > bottom - 14 for x, y in inner) <= 1
