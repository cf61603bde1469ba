"""Objects that were made quickly are those that the constructor makes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from torchrecorder.graph import Call, Module, Op, Value
from torchrecorder.graph.model import ParamCount
from torchrecorder.graph.quick import quick

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
