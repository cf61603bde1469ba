"""Sizes that follow the batch: how they are written, stored and checked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.graph.building import Net
from torchrecorder.errors import FormatError
from torchrecorder.graph import (
    Call,
    Graph,
    Info,
    Module,
    Op,
    TensorMeta,
    Value,
    batch_size,
    from_json,
    symbolic,
    to_json,
)
from torchrecorder.graph.batch import known
from torchrecorder.graph.codec import problems


def graph_of(*shapes: tuple[int | str, ...], batch: dict[int, tuple[int, ...]]) -> Graph:
    """The first shape is that of the input, the others are constants."""
    metas = [TensorMeta(shape, "float32", "cpu", None) for shape in shapes]
    values = (Value(i, "const" if i else "input", meta=meta) for i, meta in enumerate(metas))
    modules = {"": Module("", "some.Net", native=False)}
    return Graph(modules, (Call(0, None, ""),), (), tuple(values), {"x": 0}, {}, Info("real", "2", "eval"), batch=batch)


@pytest.mark.parametrize(
    ("batch", "size", "expected"),
    [(1, 1, "N"), (1, 2, "2N"), (1, 12, "12N"), (4, 4, "N"), (4, 8, "2N"), (4, 2, "N/2"), (4, 1, "N/4")],
)
def test_symbols(batch: int, size: int, expected: str) -> None:
    graph = graph_of((batch, 3), (5, size), batch={0: (0,), 1: (1,)})
    assert problems(graph) == []
    assert symbolic(graph, 1) == TensorMeta((5, expected), "float32", "cpu", None)
    assert symbolic(graph, 0) == TensorMeta(("N", 3), "float32", "cpu", None)
    assert batch_size(graph) == batch


def test_without_a_batch_numbers_stay() -> None:
    graph = graph_of((1, 3), batch={})
    assert (symbolic(graph, 0), batch_size(graph)) == (graph.values[0].meta, None)
    assert "batch" not in json.loads(to_json(graph))


@given(st.dictionaries(st.integers(1, 5), st.sets(st.integers(0, 2), min_size=1).map(lambda axes: tuple(sorted(axes)))))
def test_it_comes_back(more: dict[int, tuple[int, ...]]) -> None:
    batch = dict(sorted({0: (0,), **more}.items()))
    graph = graph_of((1, 3), *[(1, 2, 4)] * 5, batch=batch)
    assert from_json(to_json(graph)) == graph
    assert list(from_json(to_json(graph)).batch) == list(batch)


BROKEN: dict[str, dict[int, tuple[int, ...]]] = {
    "the batch names an unknown value": {0: (0,), 9: (0,)},
    "sizes follow the batch, but no axis of an input does": {1: (0,)},
    "the axes [2] of value 1 that follow the batch are not among its own": {0: (0,), 1: (2,)},
    "the axes [] of value 1 that follow the batch are not among its own": {0: (0,), 1: ()},
    "the axes [1, 0] of value 1 that follow the batch are not among its own": {0: (0,), 1: (1, 0)},
    "the axes [-1] of value 1 that follow the batch are not among its own": {0: (0,), 1: (-1,)},
    "value 1 has a size that follows the batch and is not a multiple of 4": {0: (0,), 1: (1,)},
    "the values of the batch are not in order": {1: (0,), 0: (0,)},
}


@pytest.mark.parametrize("problem", BROKEN)
def test_what_is_wrong_is_found(problem: str) -> None:
    graph = graph_of((4, 3), (8, 6), batch=BROKEN[problem])
    assert problem in problems(graph)


def test_a_size_that_is_a_symbol_is_not_a_batch() -> None:
    graph = graph_of((4, 3), ("n", 6), batch={0: (0,), 1: (0,)})
    assert problems(graph) == ["value 1 has a size that follows the batch and is not a multiple of 4"]


@pytest.mark.parametrize("batch", [[[0, [0]]], [[["0"], [0]]], {"0": [0]}, 3, [[[0], ["0"]]], [[[0]]], [[[0.0], [0]]]])
def test_a_text_of_another_form_is_refused(batch: object) -> None:
    data = json.loads(to_json(replace(graph_of((1, 3), batch={}))))
    with pytest.raises(FormatError):
        from_json(json.dumps({**data, "batch": batch}))


def test_a_number_of_no_batch_is_a_problem() -> None:
    op = Op(0, "div", "torch.div", 0, (0,), (1,), attrs={"1": "N"})
    values = (Value(0, "input"), Value(1, "op", 0))
    graph = replace(graph_of((2, 3), batch={}), ops=(op,), values=values)
    assert "a number follows the batch, but no size does" in problems(graph)


def test_sizes_that_may_follow_it_are_not_known() -> None:
    net = Net()
    x, table = net.input("x", 2, 3), net.value("const", (5,), "table")
    followed, lost, loss = net.op("sin", x), net.op("getitem", x, shape=(2,)), net.op("sum", x, shape=())
    grid, state = net.op("stack", table, table, shape=(2, 5)), net.op("zeros", shape=(2, 4))
    start = net.op("full", shape=(2,))
    of_lost, plain = net.op("sin", lost), net.op("cat", table, x, shape=(5,))
    graph = replace(net.graph(y=of_lost), batch={x: (0,), followed: (0,), plain: (0,)})
    shapes = {value: meta.shape for value in range(len(graph.values)) if (meta := known(graph)(value)) is not None}
    assert not shapes.keys() & {lost, grid, state, start, of_lost}
    assert shapes[x] == shapes[followed] == ("N", 3)
    assert (shapes[loss], shapes[table]) == ((), (5,))
    assert known(replace(graph, batch={}))(of_lost) is not None
