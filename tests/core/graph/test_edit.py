"""Rows of a Graph under other ids get the ids of their places, wherever they are referred to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.core.graph.building import Net
from torchrecorder.graph import AutogradNode, Call, Decision, Failure, Frame, Graph
from torchrecorder.graph.codec import problems
from torchrecorder.graph.edit import renumbered


def whole() -> Graph:
    """A Graph with a reference of each kind."""
    net = Net()
    x = net.input("x", 2, 3)
    with net.call("block", "Block"):
        inner = net.op("relu", x)
    net.give(x, inner)
    y = net.op("add_", inner, x)
    graph = net.graph(y)
    node = AutogradNode("AddBackward0", (inner, ~0), (y,))
    ops = (graph.ops[0], replace(graph.ops[1], frame=1, mutates=(y,), autograd=(node,)))
    return replace(
        graph,
        ops=ops,
        frames=(Frame(0, "join", "net.py:3", 0), Frame(1, "add", "net.py:5", 0, 0)),
        decisions=(Decision("net.py:4", "if y.sum():", (y,)),),
        batch={x: (0,), y: (0,)},
        info=replace(graph.info, failure=Failure(1, "ValueError: no")),
    )


def shifted(graph: Graph, by: int) -> Graph:
    """The Graph with other ids, written out here a second time."""
    return replace(
        graph,
        calls=tuple(
            replace(
                row,
                id=row.id + by,
                parent=None if row.parent is None else row.parent + by,
                inputs={path: value + by for path, value in row.inputs.items()},
                outputs={path: value + by for path, value in row.outputs.items()},
            )
            for row in graph.calls
        ),
        ops=tuple(
            replace(
                row,
                id=row.id + by,
                call=row.call + by,
                inputs=tuple(value + by for value in row.inputs),
                outputs=tuple(value + by for value in row.outputs),
                mutates=tuple(value + by for value in row.mutates),
                frame=None if row.frame is None else row.frame + by,
                autograd=tuple(
                    replace(
                        node,
                        inputs=tuple(value if value < 0 else value + by for value in node.inputs),
                        outputs=tuple(value + by for value in node.outputs),
                    )
                    for node in row.autograd
                ),
            )
            for row in graph.ops
        ),
        values=tuple(
            replace(row, id=row.id + by, producer=None if row.producer is None else row.producer + by)
            for row in graph.values
        ),
        frames=tuple(
            replace(row, id=row.id + by, call=row.call + by, parent=None if row.parent is None else row.parent + by)
            for row in graph.frames
        ),
        inputs={path: value + by for path, value in graph.inputs.items()},
        outputs={path: tuple(value + by for value in values) for path, values in graph.outputs.items()},
        decisions=tuple(replace(row, values=tuple(value + by for value in row.values)) for row in graph.decisions),
        batch={value + by: axes for value, axes in graph.batch.items()},
        info=replace(graph.info, failure=Failure(1 + by, "ValueError: no")),
    )


@pytest.mark.parametrize("by", [0, 1, 100])
def test_whatever_the_ids_were_the_graph_is_the_same(by: int) -> None:
    graph = whole()
    assert renumbered(shifted(graph, by)) == graph


def test_a_call_between_others_moves_the_ids_behind_it() -> None:
    graph = whole()
    root, block = graph.calls
    around = Call(9, 0, "blocks")
    found = renumbered(replace(graph, calls=(root, around, replace(block, parent=9))))
    assert [(row.id, row.parent, row.module) for row in found.calls] == [
        (0, None, ""),
        (1, 0, "blocks"),
        (2, 1, "block"),
    ]
    assert [op.call for op in found.ops] == [2, 0]
    assert found.info.failure is not None
    assert found.info.failure.call == 2


def test_a_value_that_is_left_out_has_no_axes_of_the_batch() -> None:
    graph = replace(whole(), batch={0: (0,), 7: (0,)})
    assert renumbered(graph).batch == {0: (0,)}


def test_a_reference_to_nothing_is_an_error() -> None:
    graph = whole()
    with pytest.raises(KeyError):
        renumbered(replace(graph, values=graph.values[:1]))


def test_what_is_renumbered_holds_together() -> None:
    graph = replace(whole(), info=replace(whole().info, failure=None), frames=(), batch={})
    graph = replace(graph, ops=tuple(replace(op, frame=None, autograd=()) for op in graph.ops))
    assert problems(renumbered(replace(shifted(graph, 3), info=graph.info))) == []


def test_calls_around_a_call_and_the_shape_of_a_value() -> None:
    graph = whole()
    assert [call.module for call in graph.around(1)] == ["block", ""]
    assert [*graph.around(None)] == []
    assert graph.values[0].shape == (2, 3)
    assert replace(graph.values[0], meta=None).shape == ()
