"""Activation memory by hand, on Graphs of a few ops."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from torchrecorder.graph import Call, Graph, Info, Op, TensorMeta, Value
from torchrecorder.graph.memory import activation_memory


def value(id_: int, producer: int | None, nbytes: int | None, group: int | None = None, kind: str = "op") -> Value:
    meta = TensorMeta((nbytes or 0,), "uint8", "cpu", nbytes)
    return Value(id_, kind, producer, 0, meta, None, group)  # type: ignore[arg-type]


def graph(ops: Sequence[tuple[int, tuple[int, ...], tuple[int, ...]]], values: list[Value], *outputs: int) -> Graph:
    rows = tuple(Op(i, "op", "op", call, inputs, made) for i, (call, inputs, made) in enumerate(ops))
    calls = (Call(0, None, ""), Call(1, 0, "a"), Call(2, 1, "a.b"), Call(3, 0, "c"))
    info = Info("real", "2", "eval")
    return Graph({}, calls, rows, tuple(values), {"x": 0}, {"": outputs}, info)


X = value(0, None, 100, 0, "input")


def test_a_chain_frees_what_was_read() -> None:
    values = [X, value(1, 0, 10, 1), value(2, 1, 40, 2), value(3, 2, 5, 3)]
    found = activation_memory(graph([(1, (0,), (1,)), (2, (1,), (2,)), (3, (2,), (3,))], values, 3))
    assert (found.peak, found.peak_op) == (150, 1)
    assert found.unknown == ()


def test_a_skip_connection_stays_alive() -> None:
    values = [X, value(1, 0, 10, 1), value(2, 1, 40, 2), value(3, 2, 50, 3), value(4, 3, 1, 4)]
    ops = [(0, (0,), (1,)), (0, (1,), (2,)), (0, (2,), (3,)), (0, (3, 1), (4,))]
    assert activation_memory(graph(ops, values, 4)).peak == 100 + 10 + 40 + 50


def test_views_and_writes_need_no_memory() -> None:
    values = [X, value(1, 0, 10, 1), value(2, 1, 999, 1), value(3, 2, 10, 1)]
    assert activation_memory(graph([(0, (0,), (1,)), (0, (1,), (2,)), (0, (2,), (3,))], values, 3)).peak == 110


def test_a_dead_branch_is_freed_at_once() -> None:
    values = [X, value(1, 0, 60, 1), value(2, 1, 10, 2)]
    found = activation_memory(graph([(0, (0,), (1,)), (0, (0,), (2,))], values, 2))
    assert (found.peak, found.peak_op) == (160, 0)


def test_parameters_are_not_counted() -> None:
    weight = value(1, None, 10**9, 1, "param")
    view = value(2, 0, 10**9, 1)
    values = [X, weight, view, value(3, 1, 10, 2)]
    assert activation_memory(graph([(0, (1,), (2,)), (0, (0, 2), (3,))], values, 3)).peak == 110


@pytest.mark.parametrize("group", [None, 7])
def test_what_cannot_be_counted_is_told(group: int | None) -> None:
    values = [X, value(1, 0, None, group), value(2, 1, 10, 2)]
    found = activation_memory(graph([(0, (0,), (1,)), (0, (1,), (2,))], values, 2))
    assert (found.peak, found.unknown) == (110, (1,))


def test_a_graph_without_ops_holds_its_inputs() -> None:
    found = activation_memory(graph([], [X], 0))
    assert (found.peak, found.peak_op) == (100, None)
