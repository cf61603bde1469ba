"""What users get wrong: each a clear error or a correct graph, never a wrong one in silence."""

from __future__ import annotations

import time
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.nets import Net, op_names, record
from torchrecorder.errors import ForwardError
from torchrecorder.graph import Graph
from torchrecorder.recording import capture

X = torch.ones(2, 3)


def failure(model: nn.Module, *args: Any, **options: Any) -> ForwardError:
    with pytest.raises(ForwardError) as caught:
        capture(model, args, **options)
    assert isinstance(caught.value.graph, Graph)
    assert caught.value.graph.info.failure is not None
    return caught.value


def test_a_shape_that_is_refused() -> None:
    error = failure(nn.Sequential(nn.Flatten(), nn.Linear(4, 2)), X)
    assert (error.layer, error.shapes) == ("1 (Linear)", "(2, 3)")
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x2)" in str(error)


@pytest.mark.parametrize("args", [(), (X, X), ("text",), (None,), (X.long(),)])
def test_arguments_that_are_refused(args: tuple[Any, ...]) -> None:
    assert failure(nn.Linear(3, 3), *args).model == "Linear"


def test_a_keyword_that_does_not_exist() -> None:
    with pytest.raises(ForwardError, match="unexpected keyword argument 'y'"):
        capture(nn.Linear(3, 3), (), {"y": X})


@pytest.mark.parametrize("result", [None, 3, "text", [], {"a": None}])
def test_no_tensor_comes_back(result: Any) -> None:
    graph = record(Net(lambda self, x: result), X)
    assert graph.outputs == {}
    assert graph.info.notes == ("the forward returned no tensor",)


def test_a_forward_without_end_can_be_stopped() -> None:
    class Stopped(BaseException):
        pass

    start = time.monotonic()

    def body(self: Any, x: Tensor) -> Tensor:
        while True:
            x = x + 1
            if time.monotonic() - start > 0.05:
                raise Stopped

    with pytest.raises(Stopped):
        record(Net(body), X)
    assert op_names(record(nn.ReLU(), X)) == ["relu"]


@pytest.mark.parametrize("way", ["fake", "meta"])
def test_a_decision_that_needs_numbers(way: Any) -> None:
    error = failure(Net(lambda self, x: x if x.sum() > 0 else -x), X, run=way)
    assert "test_bad_input.py" in error.origin


@pytest.mark.filterwarnings("ignore")  # torch tells of a hook that failed, too
def test_recursion_without_end() -> None:
    def body(self: Any, x: Tensor) -> Any:
        return self(x)

    assert failure(Net(body), X).cause
    assert op_names(record(nn.ReLU(), X)) == ["relu"]


def test_a_scripted_model() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    graph = record(model, X)
    assert graph.outputs
    assert op_names(graph) == ["t", "addmm", "relu"]


def test_a_model_that_traces_of_itself() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.trace(nn.Linear(3, 3), X)  # type: ignore[no-untyped-call]
    assert record(model, X).outputs


def test_a_lazy_model_that_cannot_be_made() -> None:
    assert failure(nn.Sequential(nn.Linear(3, 3), nn.LazyConv2d(3, 3)), X).layer.startswith("1 (")


def test_tensors_in_objects_of_the_users() -> None:
    class Box:
        __slots__ = ("inner", "x")

        def __init__(self, x: Tensor) -> None:
            self.x = x

    graph = record(Net(lambda self, box: box.x + 1), Box(X))
    assert op_names(graph) == ["add"]
    assert [value.kind for value in graph.values] != []
    assert graph.outputs


def test_a_model_with_a_broken_description() -> None:
    class Broken(nn.Module):
        def extra_repr(self) -> str:
            raise ValueError("no")

        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    assert op_names(record(Broken(), X)) == ["add"]


def test_a_model_without_its_constructor() -> None:
    class Forgotten(nn.Module):
        def __init__(self) -> None:
            pass

        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    with pytest.raises((ForwardError, AttributeError)):
        capture(Forgotten(), (X,))
