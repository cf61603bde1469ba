"""Models that a recording once refused, and what it leaves of them; most are truth cases."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from tests.core.recording.isolation.fingerprint import Fingerprint
from tests.core.recording.nets import Net, op_names, record
from tests.truth.refused_cases import CASES
from torchrecorder.errors import ForwardError
from torchrecorder.graph import Graph
from torchrecorder.recording.run import capture

X = torch.arange(6.0).view(2, 3) / 7


def reached(graph: Graph) -> set[str]:
    """The inputs that the outputs depend on."""
    waiting = [value for values in graph.outputs.values() for value in values]
    seen = set(waiting)
    for value in waiting:
        producer = graph.values[value].producer
        new = [] if producer is None else [one for one in graph.ops[producer].inputs if one not in seen]
        seen.update(new)
        waiting += new
    return {path for path, value in graph.inputs.items() if value in seen}


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # of torch itself
@pytest.mark.parametrize("transform", [torch.func.jacrev, torch.func.hessian, torch.func.jacfwd])
def test_higher_derivatives(transform: Callable[..., Any]) -> None:
    net = Net(lambda self, x: transform(lambda row: self.fc(row).pow(2).sum())(x[0]), fc=nn.Linear(3, 3))
    found = Fingerprint(net, X)
    assert reached(record(net, X)) == {"args.0"}
    assert not found.changes(net, X)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_they_are_left_as_found(case: Any) -> None:
    net, (args, kwargs) = case.build(), case.inputs()
    found = Fingerprint(net, args)
    capture(net, args, kwargs)
    assert not found.changes(net, args)


OUTSIDE = nn.Linear(3, 3)


def test_a_module_from_outside_keeps_its_weights_when_it_is_called_with_others() -> None:
    def body(self: Any, x: Tensor) -> Any:
        return functional_call(OUTSIDE, {"weight": x.new_ones(3, 3), "bias": x.new_ones(3)}, (x,))

    found = Fingerprint(OUTSIDE)
    record(Net(body), X)
    assert not found.changes(OUTSIDE)


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")

    __hash__ = None  # type: ignore[assignment]


def test_an_exception_that_refuses_to_be_shown() -> None:
    def body(self: Any, x: Tensor) -> Any:
        raise Silent

    with pytest.raises(ForwardError, match="Silent"):
        capture(Net(lambda self, x: self.inner(x), inner=Net(body)), (X,))


def test_random_numbers_of_the_system_have_no_state() -> None:
    assert op_names(record(Net(lambda self, x: x + 1, numbers=random.SystemRandom()), X)) == ["add"]


@pytest.mark.filterwarnings("ignore:`torch.jit.trace")
def test_only_the_trace_of_a_function_is_left_out() -> None:
    def body(self: Any, x: Tensor) -> Any:
        return torch.jit.trace(self.fc, (x,))(x) + self.fc(x)  # type: ignore[no-untyped-call]

    graph = record(Net(body, fc=nn.Linear(3, 3)), X)
    assert [call.module for call in graph.calls if call.parent == 0] == ["~TopLevelTracedModule", "fc"]
