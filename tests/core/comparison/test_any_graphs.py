"""Any two Graphs, however strange, are compared without an error of ours, and both in one is a Graph."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings

from tests.core.graph.building import Net, chain, mlp, nested, residual_block, transformer
from tests.core.graph.drawn import graphs
from torchrecorder.comparison.compared import Diff, as_markdown, as_summary, as_text
from torchrecorder.comparison.difference import Difference
from torchrecorder.comparison.union import Union
from torchrecorder.errors import CannotCompare
from torchrecorder.graph import Failure, Graph
from torchrecorder.graph.codec import problems
from torchrecorder.view.model import Marks

NAMES = ("old", "new")


def checked(old: Graph, new: Graph) -> Difference:
    """The difference of two Graphs, with all that is said and drawn of it tried."""
    difference = Difference(old, new)
    union = Union(difference.flow)
    assert problems(union.graph) == []
    assert {*union.graph.modules} >= {*new.modules}, "the new one is whole"
    assert sum(call.module in new.modules for call in union.graph.calls) >= len(new.calls)
    check_marks(union.graph, union.marks)
    assert "\x1b" not in as_text(difference, NAMES) + as_markdown(difference, NAMES)
    assert as_summary(difference, NAMES)
    return difference


def check_marks(graph: Graph, marks: Marks) -> None:
    assert {*marks.calls} <= {(call.module, call.index) for call in graph.calls}
    assert {*marks.ops} <= {*range(len(graph.ops))}
    assert {*marks.values} <= {*range(len(graph.values))}
    assert all(value in graph.ops[op].inputs for value, op in marks.reads)
    assert {*marks.words} <= {*marks.calls}


@settings(max_examples=100, deadline=None)
@given(graphs(), graphs())
def test_any_two(old: Graph, new: Graph) -> None:
    checked(old, new)


@settings(max_examples=50, deadline=None)
@given(graphs())
def test_a_graph_and_itself(graph: Graph) -> None:
    difference = checked(graph, graph)
    assert difference.is_empty, difference.changes
    assert "nothing that the model computes has changed" in as_text(difference, NAMES)


MADE = {
    "mlp": mlp(),
    "longer mlp": mlp(5),
    "residual": residual_block(),
    "transformer": transformer(2, 8),
    "deeper": transformer(3, 8),
    "nested": nested(30),
    "chain": chain(40),
}


@pytest.mark.parametrize(("old", "new"), [*permutations(MADE, 2)])
def test_two_that_are_written_by_hand(old: str, new: str) -> None:
    difference = checked(MADE[old], MADE[new])
    if difference.is_unrelated:
        with pytest.raises(CannotCompare, match="have no layers in common"):
            Diff(MADE[old], MADE[new])
    else:
        assert Diff(MADE[old], MADE[new]).changes == tuple(difference.changes) != ()


def test_what_came_is_what_went_the_other_way_round() -> None:
    there, back = checked(MADE["mlp"], MADE["longer mlp"]), checked(MADE["longer mlp"], MADE["mlp"])
    assert {change.mark for change in there.changes} == {"added"}
    assert {change.mark for change in back.changes} == {"removed"}
    assert sum(change.params for change in there.changes) == -sum(change.params for change in back.changes)


def test_the_layer_in_which_the_new_forward_failed_is_the_one_in_the_graph_of_both() -> None:
    def made(*names: str) -> Net:
        net = Net("Net")
        x = net.input("x", 1, 4)
        for name in names:
            x = net.layer(name, "Linear", x, params=20)
        return net

    old, net = made("first", "gone", "last").graph(), made("first", "last")
    new = net.graph()
    failing = replace(new, info=replace(new.info, failure=Failure(2, "ValueError: no")))
    union = Union(Difference(old, failing).flow)
    assert union.graph.info.failure is not None
    at = union.graph.info.failure.call
    assert at is not None
    assert [call.module for call in union.graph.calls] == ["", "first", "gone", "last"]
    assert union.graph.calls[at].module == "last"


def test_a_call_that_is_gone_of_a_layer_that_is_still_called_is_another_call_of_it() -> None:
    """Its mark is not that of the call which both forwards make."""

    def made(*, is_again: bool) -> Graph:
        net = Net("Net")
        x = net.input("x", 1, 4)
        y = net.layer("fc", "Linear", x, params=20)
        y = net.layer("act", "ReLU", y)
        y = net.layer("last", "Linear", y, params=20)
        return net.graph(net.layer("act", "ReLU", y) if is_again else y)

    union = Union(Difference(made(is_again=True), made(is_again=False)).flow)
    assert [(call.module, call.index) for call in union.graph.calls][1:] == [
        ("fc", 1),
        ("act", 1),
        ("last", 1),
        ("act", 2),
    ]
    assert union.marks.calls == {("act", 2): "removed"}
