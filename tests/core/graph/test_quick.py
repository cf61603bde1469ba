"""Objects that were made quickly are those that the constructor makes, and the garbage collector is left as it was."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from torchrecorder.errors import FormatError
from torchrecorder.graph import Call, Graph, Info, Module, Op, Value, from_json, to_json
from torchrecorder.graph.model import ParamCount
from torchrecorder.graph.quick import looking_seldom, quick

MADE: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (Op, (1, "cat", "torch.cat", 0), {}),
    (Op, (1, "cat", "torch.cat", 0, (1,), (2,)), {"attrs": {"0": "1"}, "offset": 8}),
    (Value, (3, "op", 1), {"storage_group": 4}),
    (Call, (0, None, "layer"), {}),
    (Module, ("layer", "torch.nn.Linear", True), {"params": ParamCount(1, 2, 3)}),
    (ParamCount, (), {}),
]


@pytest.mark.parametrize(("cls", "args", "kwargs"), MADE)
def test_it_is_equal(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    expected = cls(*args, **kwargs)
    made = quick(cls)(*args, **kwargs)
    assert type(made) is cls
    assert made == expected == copy.deepcopy(made) == pickle.loads(pickle.dumps(made))
    assert repr(made) == repr(expected)


@pytest.mark.parametrize(("cls", "args", "kwargs"), MADE)
def test_it_is_frozen(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    made = quick(cls)(*args, **kwargs)
    for field in dataclasses.fields(made):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, None)


def test_defaults_are_not_shared() -> None:
    make = quick(Op)
    assert make(0, "relu", "torch.relu", 0).attrs is not make(1, "relu", "torch.relu", 0).attrs


def test_an_argument_that_is_missing() -> None:
    with pytest.raises(TypeError, match="target"):
        quick(Op)(1, "relu")  # type: ignore[call-arg]


@pytest.fixture
def thresholds() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(500, 9, 8)
    yield (500, 9, 8)
    gc.set_threshold(*before)


def test_the_collector_is_set_back(thresholds: tuple[int, int, int]) -> None:
    with looking_seldom():
        with looking_seldom():
            first, *others = gc.get_threshold()
        assert first > 10_000
        assert others == [9, 8]
        assert gc.get_threshold()[0] == first
    assert gc.get_threshold() == thresholds
    with pytest.raises(FormatError):
        from_json("{}")
    assert gc.get_threshold() == thresholds


def test_the_collector_is_set_back_when_the_last_of_several_threads_ends(thresholds: tuple[int, int, int]) -> None:
    began, goes_on = threading.Event(), threading.Event()

    def other() -> None:
        with looking_seldom():
            began.set()
            goes_on.wait(10)

    thread = threading.Thread(target=other)
    with looking_seldom():
        thread.start()
        assert began.wait(10)
    assert gc.get_threshold()[0] > 10_000
    goes_on.set()
    thread.join()
    assert gc.get_threshold() == thresholds


def test_a_collector_that_is_off_stays_off(thresholds: tuple[int, int, int]) -> None:
    gc.set_threshold(0)
    with looking_seldom():
        assert gc.get_threshold()[0] == 0
    assert gc.get_threshold()[0] == 0


def test_reading_a_large_graph_does_not_go_through_all_objects_of_the_process(thresholds: tuple[int, int, int]) -> None:
    modules = {name: Module(name, "torch.nn.Linear", True) for name in ("", *(f"layer{n}" for n in range(3000)))}
    text = to_json(Graph(modules, (Call(0, None, ""),), (), (), {}, {}, Info("real", "2.13", "eval", "")))
    looks: list[int] = []

    def on_look(phase: str, info: dict[str, int]) -> None:
        looks.append(info["generation"])

    gc.collect()
    gc.callbacks.append(on_look)
    try:
        assert len(from_json(text).modules) == 3001
    finally:
        gc.callbacks.remove(on_look)
    assert set(looks) <= {0}
