"""`recorder: classic` in a request: on stand-ins, in every way to run, with what there is after an error."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from torchrecorder import Graph, capture
from torchrecorder.errors import ForwardError
from torchrecorder.graph import from_json, to_json
from torchrecorder.graph.codec import problems
from torchrecorder.recording import run
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.job import record


class Restless(nn.Module):
    """Writes to itself in every way there is."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(3), nn.Linear(3, 2)
        self.calls = 0
        self.cache: list[Tensor] = []

    def forward(self, x: Tensor) -> Any:
        self.calls += 1
        self.cache.append(x)
        self.last = x
        with torch.no_grad():
            self.linear.weight.mul_(2)
            self.linear.bias.add_(1)
        x.add_(1)
        return self.linear(self.norm(x))


class Broken(nn.Module):
    """Survives one layer that raises, and dies in another."""

    def __init__(self, survives: bool) -> None:
        super().__init__()
        self.first, self.wide = nn.Linear(3, 3), nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        self.survives = survives

    def forward(self, x: Tensor) -> Any:
        x = self.first(x)
        try:
            return self.wide(x)
        except RuntimeError:
            if not self.survives:
                raise
        raise ValueError("no way out")


def classic(model: nn.Module, *args: Any, way: Any = "auto", **options: Any) -> Graph:
    graph = capture(model, args, run=way, recorder="classic", **options)
    assert not problems(graph)
    assert from_json(to_json(graph)) == graph
    return graph


WAYS: list[Any] = ["real", "fake", "meta"]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_run_gives_the_same(way: Any) -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(144, 2))
    graph = classic(net, torch.zeros(2, 3, 8, 8), way=way)
    expected = classic(net, torch.zeros(2, 3, 8, 8), way="real")
    assert graph.info.executed == way
    assert graph.info.recorder == "classic"
    assert [(op.call, op.inputs, op.autograd) for op in graph.ops] == [
        (op.call, op.inputs, op.autograd) for op in expected.ops
    ]
    assert [v.meta and v.meta.shape for v in graph.values] == [v.meta and v.meta.shape for v in expected.values]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_the_model_and_its_input_stay_as_they_were(way: Any, mode: Any) -> None:
    net, x = Restless(), torch.ones(4, 3)
    state = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    numbers = torch.get_rng_state()
    graph = classic(net, x, way=way, mode=mode)
    assert graph.info.mode == mode
    assert all(torch.equal(tensor, state[name]) for name, tensor in net.state_dict().items())
    assert (net.calls, net.cache, hasattr(net, "last"), net.training) == (0, [], False, True)
    assert torch.equal(x, torch.ones(4, 3))
    assert torch.equal(torch.get_rng_state(), numbers)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in net.modules())


@pytest.mark.parametrize("way", WAYS)
def test_an_error_names_its_layer_and_leaves_what_was_recorded(way: Any) -> None:
    with pytest.raises(ForwardError) as caught:
        classic(Broken(survives=False), torch.zeros(2, 3), way=way)
    graph = caught.value.graph
    assert graph is not None
    assert (caught.value.layer, caught.value.shapes) == ("wide.1 (Linear)", "(2, 3)")
    assert "recording/test_classic.py:" in caught.value.origin
    assert graph.info.failure is not None
    assert graph.info.failure.call is not None
    assert graph.calls[graph.info.failure.call].module == "wide.1"
    assert [(call.module, call.ok) for call in graph.calls] == [
        ("", False),
        ("first", True),
        ("wide", False),
        ("wide.0", True),
        ("wide.1", False),
    ]
    assert [node.name for op in graph.ops for node in op.autograd] == ["TBackward0", "AddmmBackward0", "ReluBackward0"]
    assert not problems(graph)


def test_a_layer_that_had_raised_before_is_not_to_blame() -> None:
    with pytest.raises(ForwardError, match="no way out") as caught:
        classic(Broken(survives=True), torch.zeros(2, 3), way="real")
    assert caught.value.layer == ""


def test_large_models_and_models_on_meta_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.device("meta"):
        net = nn.Linear(3, 3)
    assert classic(net, torch.zeros(1, 3)).info.executed == "fake"
    monkeypatch.setattr(run, "largest", lambda: 5)
    assert classic(nn.Linear(3, 3), torch.zeros(1, 3)).info.executed == "fake"


def test_a_forward_without_tensors_is_noted() -> None:
    class Shape(nn.Module):
        def forward(self, x: Tensor) -> tuple[int, ...]:
            return tuple(x.shape)

    assert classic(Shape(), torch.zeros(1, 3)).info.notes == ("the forward returned no tensor",)


class Worker(nn.Module):
    """Needs what the worker tries second: no gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        self.linear.weight.mul_(2)
        return self.linear(x)


@pytest.mark.parametrize(("target", "names"), [("Worker", []), ("Followed", ["TBackward0", "AddmmBackward0"])])
def test_the_worker_turns_gradients_on_for_it(target: str, names: list[str]) -> None:
    request = RecordingRequest(f"{__name__}.{target}", shape="2,3", recorder="classic")
    graph = record(request)
    assert [node.name for op in graph.ops for node in op.autograd] == names
    said = [note for note in graph.info.notes if note.startswith("operations have their ordinary names, since ")]
    assert len(said) == (not names)
    assert not any(op.autograd for op in record(replace(request, recorder="modern")).ops)


class Followed(nn.Linear):
    def __init__(self) -> None:
        super().__init__(3, 3)


def test_an_argument_can_be_written_to_and_leave_torch() -> None:
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Any:
            x.mul_(2)
            return torch.from_numpy(x.numpy()) + copy.deepcopy(x)

    graph = classic(Net(), torch.ones(2, 3))
    assert [node.name for op in graph.ops for node in op.autograd] == ["MulBackward0"]


def test_other_recordings_have_no_nodes() -> None:
    graph = capture(nn.Linear(3, 3), (torch.ones(2, 3),))
    assert not any(op.autograd for op in graph.ops)
    assert all(len(row) == 11 for row in json.loads(to_json(graph))["ops"])
