"""The truth cases and some others, executed from their graphs; and that a missing edge is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.nets import Net
from tests.truth import replay as replaying
from tests.truth.all import CASES
from tests.truth.case import Case
from tests.truth.other_inputs import other_inputs
from tests.truth.quiet_cases import attends
from tests.truth.refused_cases import OF_GRADIENTS
from tests.truth.replay import replay
from torchrecorder.recording.session import Session

_NOT_ALONE = {"Lazy": "its parameters have no size before it runs"}
_NOT_ALONE["GradientInForward"] = "a gradient needs what autograd recorded of the operations before"
_NOT_ALONE["GradientOfInput"] = _NOT_ALONE["GradientInForward"]
_NOT_ALONE |= dict.fromkeys(("Wrapped", "Masked"), "what puts tensors into the wrapper is not seen")
_NOT_ALONE["Functionalized"] = "what runs inside a transform that rewrites cannot be executed again"
_NOT_ALONE |= dict.fromkeys(OF_GRADIENTS, _NOT_ALONE["GradientInForward"])
_NOT_ALONE |= dict.fromkeys(
    ("SwapsParameter", "LoadsBySwapping"), "the tape of the first forward refers to its tensors"
)
_NOT_ALONE["HoldsRefusingParameter"] = "the replay asks each parameter"
_NOT_ALONE["BiasMadeInForward"] = "what its object is, no operation says"
_NOT_ALONE["Bag"] = "its offsets in another order are no offsets"
_NOT_ALONE |= dict.fromkeys(("IteratorInput", "GeneratorInput"), "an iterator gives its items once")
_NOT_ALONE |= dict.fromkeys(("Autocast", "AutocastOps"), "operations are cast only where the model says so")
_NOT_ALONE |= dict.fromkeys((case.name for case in CASES if case.leaves), "numbers leave PyTorch")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_graph_is_enough_to_compute_the_result(case: Case) -> None:
    if case.name in _NOT_ALONE:
        pytest.skip(_NOT_ALONE[case.name])
    args, kwargs = case.inputs()
    # Other numbers take another way through what asks them.
    is_chosen = case.name in ("LoopOnNumbers", "CondOfLayers", "CondOfWeights")
    other = None if is_chosen else other_inputs(args, kwargs)
    replay(case.build(), args, kwargs, other)


def test_a_write_through_a_view_is_executed() -> None:
    def body(self: Any, x: Tensor) -> Any:
        y = x.clone()
        y.view(-1)[2:].mul_(3)
        return y.t() + 1

    replay(Net(body), (torch.ones(2, 3),), {}, ((torch.arange(6.0).view(2, 3),), {}))


def test_nested_vmaps_are_executed() -> None:
    def body(self: Any, x: Tensor) -> Any:
        table = torch.arange(4.0)

        def entry(row: Tensor, place: Tensor) -> Tensor:
            return row[0] * place + table.sum() + (row > 0).sum()

        y = self.fc(x)
        return torch.vmap(torch.vmap(entry, in_dims=(0, None)), in_dims=(2, None), out_dims=1)(y, y.mean())

    replay(Net(body, fc=nn.Linear(3, 5)), (torch.ones(2, 4, 3),), {}, ((torch.randn(2, 4, 3),), {}))


def leave_out_inputs(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let recordings keep only the first input of operations of this name."""
    whole = Session.graph

    def without_an_edge(self: Session, info: Any) -> Any:
        graph = whole(self, info)
        ops = [replace(op, inputs=op.inputs[:1]) if op.name == name else op for op in graph.ops]
        return replace(graph, ops=tuple(ops))

    monkeypatch.setattr(replaying.TapedSession, "graph", without_an_edge)


def test_a_missing_edge_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(self: Any, x: Tensor) -> Any:
        y = torch.zeros(2, 3)
        y[0] = self.fc(x)[0]
        return y

    net = Net(body, fc=nn.Linear(3, 3))
    replay(net, (torch.ones(2, 3),), {})
    leave_out_inputs(monkeypatch, "setitem")
    with pytest.raises((KeyError, AssertionError)):
        replay(net, (torch.ones(2, 3),), {})


def test_a_missing_edge_of_a_function_of_several_operations_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(lambda self, q: attends(q, q * 1.5, q - 1))
    leave_out_inputs(monkeypatch, "flex_attention")
    with pytest.raises(KeyError):
        replay(net, (torch.ones(1, 2, 16, 8),), {})
