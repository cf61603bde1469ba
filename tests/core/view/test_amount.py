"""How much a view shows: gaps, smaller depths, and a refusal, each with its note."""

from __future__ import annotations

import pytest

from tests.core.graph.building import Net, chain, transformer
from tests.core.view.seeing import edges, reaches, shown
from torchrecorder.errors import OptionError
from torchrecorder.graph import Graph
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import AUTO_NODES, make_view


def stack(n: int, *, inside: bool = False) -> Graph:
    """n different layers, directly in the model or in its only child."""
    net = Net("Stack")
    x = net.input("x", 1, 4)
    at = "body." if inside else ""
    if inside:
        net._open("body", "Sequential", "", 0)
    for i in range(n):
        x = net.layer(f"{at}fc{i}", "Linear", x, (1, 5 + i), said=f"in_features={4 + i}, out_features={5 + i}")
    return net.graph(x)


def wide(n: int) -> Graph:
    """n different blocks of three ops."""
    net = Net("Wide")
    x = net.input("x", 1, 4)
    for i in range(n):
        with net.call(f"b{i}", f"Block{i}"):
            x = net.op("cos", net.op("sin", net.op("tan", x), attrs={"1": str(i)}))
    return net.graph(x)


@pytest.mark.parametrize("graph", [stack(300), chain(300), wide(100)], ids=["layers", "ops", "blocks"])
def test_automatic_leaves_out_the_middle(graph: Graph) -> None:
    view = make_view(graph)
    assert len(view.nodes) <= AUTO_NODES
    assert [node.kind for node in view.nodes].count("gap") == 1
    assert "expand: ** draws each of them" in view.notes[0]
    assert reaches(view)


def test_a_gap_stands_between_its_neighbours() -> None:
    view = make_view(stack(300))
    gap = next(node for node in view.nodes if node.kind == "gap")
    assert gap.size == len(gap.calls) > 250
    assert [edge.tail for edge in view.edges] == list(range(len(view.nodes) - 1))


def test_expand_shows_all() -> None:
    view = make_view(stack(300), DrawingOptions(expand=("**",)))
    assert len(view.nodes) == 302
    assert view.notes == ("this diagram shows 302 nodes; a smaller depth, collapse or focus make it easier to read",)


def test_what_is_asked_for_is_in_no_gap() -> None:
    view = make_view(wide(600), DrawingOptions(depth=1, expand=("b300",)))
    assert sum(name in ("sin", "cos", "tan") for name in shown(view)) == 3


def test_a_failing_layer_is_in_no_gap() -> None:
    net = Net("Stack")
    x = net.input("x", 1, 4)
    for i in range(100):
        x = net.layer(str(i), "Linear", x, said=f"{i}")
    with net.call("last", "Head"):
        net.op("sin", x)
        net.fail("ValueError: no")
    view = make_view(net.graph())
    assert "last" in shown(view)


def test_a_wrapper_is_not_all_there_is_to_see() -> None:
    view = make_view(stack(100, inside=True))
    assert view.depth == 2
    assert "body.fc0" in shown(view)


def test_a_given_depth_is_made_smaller() -> None:
    view = make_view(wide(300), DrawingOptions(depth="all"))
    assert view.depth == 1
    assert view.notes[1:] == (
        "depth 2 would show 900 nodes, so this is depth 1; focus shows one layer alone, expand opens layers, "
        "and expand: ** opens all",
    )
    assert len(make_view(wide(300), DrawingOptions(depth="all", expand=("**",))).nodes) == 902


def test_where_no_depth_is_small_enough_there_is_a_gap() -> None:
    view = make_view(chain(800), DrawingOptions(depth=1))
    assert len(view.nodes) <= 500
    assert "gap" in {node.kind for node in view.nodes}


def test_too_many_are_refused() -> None:
    with pytest.raises(OptionError, match="would show 6000 nodes, and at most 5000 are drawn"):
        make_view(chain(6000), DrawingOptions(expand=("**",), depth="all"))


def test_a_large_model_that_folds_needs_no_note() -> None:
    view = make_view(transformer(200), DrawingOptions(depth="all"))
    assert view.notes == ()
    assert len(edges(view)) < 40
