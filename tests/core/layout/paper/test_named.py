"""Lines in two parts with names: for chains that have to be cut, and for what would be in the way."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.core.drawing.engines import finish, laid_out
from tests.core.drawing.looking import Seen, behind_nodes, behind_titles, crossings, faults, seen
from tests.core.graph.building import Net
from tests.core.layout.paper.test_paper import middle
from torchrecorder.graph import Graph
from torchrecorder.layout import tuning
from torchrecorder.layout.model import Layout
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.proof.layout import faults as unproved
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view


def detector() -> Graph:
    """Layers of one list: a backbone with two taps, a neck that goes up and down again, three heads."""
    net = Net("Detector")
    x = net.input("images", 1, 3, 64, 64)
    own: list[int] = []
    read = {11: 6, 14: 4, 16: 12, 18: 10}
    with net.call("model", "Layers", params=10):
        for i in range(19):
            x = net.op("cat", x, own[read[i]]) if i in read else x
            x = net.layer(f"model.{i}", f"Kind{i}", x, (1, 8 + i), params=4)
            own.append(x)
        x = net.op("cat", *(net.layer(f"model.19.{i}", f"Head{i}", own[at]) for i, at in enumerate((14, 16, 18))))
    return net.graph(x)


def vit(read: dict[int, int]) -> Graph:
    """Twenty blocks that differ, of the later of which some read earlier ones."""
    net = Net("UViT")
    x = net.input("x", 1, 8)
    skips = []
    for i in range(10):
        x = net.layer(f"in.{i}", f"Down{i}", x, (1, 9 + i))
        skips.append(x)
    x = net.layer("middle", "Middle", x)
    for i in range(10):
        x = net.op("cat", x, skips[read[i]]) if i in read else x
        x = net.layer(f"out.{i}", f"Up{i}", x, (1, 40 - i))
    return net.graph(net.layer("norm", "LayerNorm", x))


U = {i: 9 - i for i in range(10)}
ACROSS = {2: 2, 5: 5, 8: 8}
"""By number of a later block that of the earlier one that it reads: nested, and in the same order."""


def two_chains() -> Graph:
    """Blocks of two streams, which nowhere are one."""
    net = Net("Two")
    x, y = net.input("x", 1, 8), net.input("y", 1, 8)
    for i in range(24):
        x, y = net.layer(f"left{i}", f"Left{i}", x, (1, 9 + i)), net.layer(f"right{i}", f"Right{i}", y, (1, 9 + i))
    return net.graph(net.op("cat", x, y))


def drawn(graph: Graph) -> tuple[View, Layout, Seen]:
    view = make_view(graph, DrawingOptions(depth=9))
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    return view, placed, seen(finish(placed, uid="p1", title="t", desc="d").svg)


def tags(layout: Layout) -> list[str]:
    return [node.words[0].text for node in layout.nodes if not node.key]


def columns(picture: Seen) -> int:
    """Places across that several nodes are on."""
    return sum(n > 2 for n in Counter(round(middle(node)) for node in picture.nodes).values())


@pytest.mark.parametrize("graph", [detector(), vit(ACROSS)], ids=["detector", "u-vit"])
def test_a_chain_with_skips_is_cut_and_they_are_named(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    view, layout, picture = drawn(graph)
    assert columns(picture) > 1
    assert 2 <= sum(tag.startswith("from ") for tag in tags(layout)) <= tuning.PAIRS_AT_CUT
    assert sum(tag.startswith("from ") for tag in tags(layout)) == sum(tag.startswith("to ") for tag in tags(layout))
    assert unproved(view, layout) == ()
    assert crossings(picture) == []
    assert faults(picture) == behind_nodes(picture) == behind_titles(picture) == []
    monkeypatch.setattr(tuning, "NAMES_TRIED", 0)
    assert layout.height < 0.8 * drawn(graph)[1].height


def test_each_half_knows_both_ends() -> None:
    _, layout, _ = drawn(detector())
    halves = Counter(line.ends for line in layout.lines if "skip" in line.flags)
    names = {node.key: node.words[0].text for node in layout.nodes}
    for tail, head in (ends for ends, n in halves.items() if n == 2):
        assert {f"from {names[tail]}", f"to {names[head]}"} <= {*tags(layout)}
    assert 2 in halves.values()
    svg = finish(layout, uid="p1", title="t", desc="d").svg
    (ends,) = re.findall('class="skips" data-ends="([^"]*)"', svg)
    assert Counter(tuple(each.split()[:2]) for each in ends.split(",")) == halves


def test_skips_that_nest_are_a_u_without_names() -> None:
    _, layout, picture = drawn(vit(U))
    assert columns(picture) == 2
    assert tags(layout) == []


def test_a_chain_without_a_narrow_place_stays_as_it_is() -> None:
    _, layout, picture = drawn(two_chains())
    assert layout.height > tuning.TOWER
    assert tags(layout) == []
    assert columns(picture) == 2  # the two streams


def test_a_tangle_is_a_figure_with_names(monkeypatch: pytest.MonkeyPatch) -> None:
    view, layout, picture = drawn(vit({i: i for i in range(10)}))
    assert len(crossings(picture)) < 3
    assert unproved(view, layout) == ()
    monkeypatch.setattr(tuning, "NAMES_TRIED", 0)
    with pytest.raises(AssertionError, match="crossings"):
        drawn(vit({i: i for i in range(10)}))


def test_a_low_chain_has_no_names() -> None:
    net = Net("Low")
    x = first = net.input("x", 1, 8)
    for i in range(4):
        x = net.op("cat", net.layer(f"block{i}", f"Block{i}", x, (1, 9 + i)), first)
    assert not any(tag.startswith(("from ", "to ")) for tag in tags(drawn(net.graph(x))[1]))
