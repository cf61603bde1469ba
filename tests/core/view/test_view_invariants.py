"""What holds for every View, on random models."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.graph.building import Net
from tests.core.view.seeing import reaches
from torchrecorder.graph import Graph
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Edge, Node, View, make_view


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Models of random nesting, whose ops read any earlier values."""
    net = Net()
    x = net.input("x", 1, 4)
    values = [x]
    for step in range(draw(st.integers(1, 25))):
        move = draw(st.sampled_from(["open", "close", "op", "op", "layer", "again"]))
        if move == "open":
            net._open(f"{_path(net)}m{step}", "Block", "", 0)
        elif move == "close" and len(net.stack) > 1:
            net.stack.pop()
        elif move == "layer":
            values.append(net.layer(f"{_path(net)}{step}", "Linear", values[-1], params=4))
        elif move == "again":
            for i in range(2):
                values.append(net.layer(f"{_path(net)}list{step}.{i}", "ReLU", values[-1]))
        else:
            others = draw(st.lists(st.sampled_from(values), max_size=2))
            name = draw(st.sampled_from(["add", "view", "sin", "cat"]))
            values.append(net.op(name, *dict.fromkeys([values[-1], *others])))
    return net.graph(values[-1])


def _path(net: Net) -> str:
    path = net.calls[net.stack[-1]].module
    return f"{path}." if path else ""


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from([0, 1, 2, 3, "all", "auto"]), st.booleans(), st.booleans())
def test_every_view_is_sound(graph: Graph, depth: int, fold: bool, contract: bool) -> None:
    view = make_view(graph, DrawingOptions(depth=depth, fold=fold), contract=contract)
    _check_places(view)
    lows = [(edge.head, edge.tail + 1) if edge.back else (edge.tail, edge.head) for edge in view.edges]
    assert all(0 <= low < high <= len(view.nodes) for low, high in lows)  # back: to one before it, or to itself
    assert all(edge.head < len(view.nodes) for edge in view.edges)
    assert len({(edge.tail, edge.head) for edge in view.edges}) == len(view.edges)
    assert reaches(view)


def _check_places(view: View) -> None:
    assert [node.id for node in view.nodes] == list(range(len(view.nodes)))
    assert [box.id for box in view.boxes] == list(range(len(view.boxes)))
    assert all(box.parent is None or box.parent < box.id for box in view.boxes)
    assert all(node.box is None or node.box < len(view.boxes) for node in view.nodes)
    assert (view.depth == 0) == (not view.boxes)


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_nothing_is_lost(graph: Graph) -> None:
    view = make_view(graph, DrawingOptions(depth="all", fold=False), contract=False)
    drawn = {node.op for node in view.nodes if node.kind == "op"}
    within = {op.id for op in graph.ops for node in view.nodes if op.call in node.calls}
    assert drawn | within == {op.id for op in graph.ops}
    assert not drawn & within


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_each_read_between_nodes_is_an_edge(graph: Graph) -> None:
    view = make_view(graph, DrawingOptions(depth="all", fold=False), contract=False)
    home = {node.op: node.id for node in view.nodes if node.kind == "op"}
    home |= {op.id: node.id for op in graph.ops for node in view.nodes if op.call in node.calls}
    reads = {(home[value.producer], home[op.id]) for value, op in graph.edges() if value.producer is not None}
    assert {pair for pair in reads if pair[0] != pair[1]} == {
        pair for edge in view.edges for pair in _reads_of(view, edge) if {*pair} <= {*home.values()}
    }


def _reads_of(view: View, edge: Edge) -> list[tuple[int, int]]:
    """The reads that an edge shows: of a far edge that is cut, those that its end names."""
    tail = view.nodes[edge.tail]
    return [(link, edge.head) for link in (tail.links if tail.kind == "from" else (tail.id,))]


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from([0, 1, 2, 3, "all", "auto"]), st.booleans())
def test_every_op_is_drawn_once_folded_or_handed_on(graph: Graph, depth: int, fold: bool) -> None:
    view = make_view(graph, DrawingOptions(depth=depth, fold=fold))
    drawn = [op for node in view.nodes for op in _ops_of(graph, node)]
    assert len(drawn) == len({*drawn})
    folded = {op for box in view.boxes for call in box.calls[box.period :] for op in _ops_in(graph, call)}
    folded |= {op for inset in view.insets for call in inset.calls for op in _ops_in(graph, call)}
    folded |= {op for box in view.boxes for op in box.ops[len(box.ops) // max(box.repeat, 1) :]}  # of later turns
    rest = [graph.ops[op] for op in {*range(len(graph.ops))} - {*drawn} - folded]
    assert all(op.name == "view" or (op.name == "cat" and len(op.inputs) == 1) for op in rest)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from([1, 2, 3, "auto"]))
def test_the_parameters_that_are_shown_are_those_of_the_model(graph: Graph, depth: int) -> None:
    view = make_view(graph, DrawingOptions(depth=depth))
    closed = {call for node in view.nodes for part in (node, *node.parts) for call in part.calls}
    closed |= {call for box in view.boxes for call in box.calls[box.period :]}
    shown = {row.module for row in graph.calls if any(call in closed for call in _with_parents(graph, row.id))}
    called = {row.module for row in graph.calls}
    assert sum(graph.modules[path].params.own for path in shown) == sum(
        graph.modules[path].params.own for path in called
    )


def _ops_of(graph: Graph, node: Node) -> list[int]:
    """The ops that a node stands for."""
    if node.parts:
        return [op for part in node.parts for op in _ops_of(graph, part)]
    if node.kind == "call":
        return [op for call in node.calls for op in _ops_in(graph, call)]
    return [*node.ops] or ([] if node.op is None or node.kind != "op" else [node.op])


def _ops_in(graph: Graph, call: int) -> list[int]:
    return [op.id for op in graph.ops if call in _with_parents(graph, op.call)]


def _with_parents(graph: Graph, call: int | None) -> list[int]:
    found = []
    while call is not None:
        found.append(call)
        call = graph.calls[call].parent
    return found
