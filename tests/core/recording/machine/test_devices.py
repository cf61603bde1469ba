"""Models that ask for a device: recorded on a machine that does not have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.core.recording.nets import Net, op_names, record
from torchrecorder.errors import InputError, TargetBuildFailed
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.job import record as record_request

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without CUDA")

X = torch.ones(2, 3)
FORWARDS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "cuda": (lambda self, x: self.fc(x.cuda()), ["linear"]),
    "cuda_of_index": (lambda self, x: self.fc(x.cuda(0, non_blocking=True)), ["linear"]),
    "cuda_of_name": (lambda self, x: self.fc(x.cuda(device="cuda:0")), ["linear"]),
    "to_name": (lambda self, x: self.fc(x.to("cuda")), ["linear"]),
    "to_mps": (lambda self, x: self.fc(x.to("mps")), ["linear"]),
    "to_device": (lambda self, x: self.fc(x.to(torch.device("cuda", 0))), ["linear"]),
    "to_index": (lambda self, x: self.fc(x.to(0)), ["linear"]),
    "to_named": (lambda self, x: self.fc(x.to(device="cuda:0", dtype=torch.float32)), ["linear"]),
    "to_dtype": (lambda self, x: self.fc(x.to("cuda", torch.float64).float()), ["to", "float", "linear"]),
    "factory": (lambda self, x: self.fc(x + torch.zeros(3, device="cuda")), ["zeros", "add", "linear"]),
    "factory_of_index": (lambda self, x: self.fc(x + torch.zeros(3, device=0)), ["zeros", "add", "linear"]),
    "like": (lambda self, x: self.fc(torch.rand_like(x, device="cuda")), ["rand_like", "linear"]),
    "tensor": (lambda self, x: self.fc(x) * torch.tensor(2.0, device="cuda"), ["linear", "tensor", "mul"]),
    "module": (lambda self, x: self.fc.cuda()(x), ["linear"]),
    "module_to": (lambda self, x: self.fc.to("cuda")(x), ["linear"]),
    "kernel": (
        lambda self, x: torch.ops.aten._to_copy.default(x, dtype=torch.float64, device=torch.device("cuda")),
        ["_to_copy"],
    ),
    "current": (lambda self, x: self.fc(x.to(torch.cuda.current_device())), ["linear"]),
    "module_to_dtype": (lambda self, x: self.norm.to("cuda", torch.float32)(x), ["batch_norm"]),
}


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
@pytest.mark.parametrize("name", FORWARDS)
def test_a_device_that_is_not_there(name: str, way: Any) -> None:
    body, ops = FORWARDS[name]
    net = Net(body, fc=nn.Linear(3, 3), norm=nn.BatchNorm1d(3, affine=False))
    weight = net.fc.weight
    graph = record(net, X, run=way)
    assert op_names(graph) == ops
    assert graph.info.executed == way
    kind = "mps" if name == "to_mps" else "cuda"
    there = "meta" if way == "meta" else "cpu"
    assert len(graph.info.notes) == 1
    assert graph.info.notes[0].startswith(f"{there} stands for {kind}, which this machine does not have: tests/core/")
    assert f"machine/test_devices.py:{body.__code__.co_firstlineno}" in graph.info.notes[0] or name == "kernel"
    assert net.fc.weight is weight
    with pytest.raises((AssertionError, RuntimeError)):  # the process is as it was
        torch.zeros(3, device=kind)
    with pytest.raises((AssertionError, RuntimeError)):  # of a build without CUDA, of a machine without a driver
        torch.cuda.current_device()


@pytest.mark.parametrize("way", ["real", "fake"])
def test_a_layer_that_is_where_it_is_moved_to(way: Any) -> None:
    graph = record(Net(lambda self, x: self.fc.to(x.device)(x), fc=nn.Linear(3, 3)), X, run=way)
    assert (op_names(graph), graph.info.notes) == (["linear"], ())
    assert [value.kind for value in graph.values] == ["input", "param", "param", "op"]


class Scripted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.zeros(3, device="cuda")


@pytest.mark.filterwarnings("ignore")
def test_a_device_in_torchscript() -> None:
    graph = record(torch.jit.script(Scripted()), X)
    assert op_names(graph) == ["zeros", "add"]
    assert graph.info.notes[0].startswith("cpu stands for cuda")


def test_fake_tensors_on_a_device_that_is_not_there() -> None:
    with FakeTensorMode():
        net = Net(lambda self, x: x @ self.weight + torch.ones(4, device=x.device).cuda())
        net.weight = nn.Parameter(torch.empty(3, 4, device="cuda"))
        x = torch.empty(2, 3, device="cuda")
    graph = record(net, x)
    assert (graph.info.executed, op_names(graph)) == ("fake", ["matmul", "ones", "add"])
    assert {value.meta.device for value in graph.values if value.meta} == {"cpu"}
    assert graph.info.notes[0] == "cpu stands for cuda, which this machine does not have"
    assert net.weight.device.type == "cuda"


def test_a_forward_that_asks_first() -> None:
    def body(self: Any, x: Tensor) -> Any:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return self.fc(x.to(device) + torch.zeros(3, device=device))

    assert record(Net(body, fc=nn.Linear(3, 3)), X).info.notes == ()


def test_waiting_for_a_device() -> None:
    def body(self: Any, x: Tensor) -> Any:
        torch.cuda.set_device(0)
        torch.cuda.synchronize()
        torch.mps.synchronize()
        return self.fc(x)

    before = torch.cuda.set_device, torch.cuda.synchronize, torch.mps.synchronize
    graph = record(Net(body, fc=nn.Linear(3, 3)), X)
    assert op_names(graph) == ["linear"]
    assert len(graph.info.notes) == 3
    assert (torch.cuda.set_device, torch.cuda.synchronize, torch.mps.synchronize) == before


class BuiltOnCuda(nn.Module):
    """As nets are that were only ever trained on a GPU."""

    def __init__(self) -> None:
        super().__init__()
        torch.cuda.set_device(0)
        self.fc = nn.Linear(3, 3).cuda()
        self.norm = nn.BatchNorm1d(3, device="cuda")
        self.register_buffer("scale", torch.ones(3).to("cuda:0"))
        self.to(torch.cuda.current_device())

    def forward(self, x: Tensor) -> Any:
        return self.norm(self.fc(x.cuda())) * self.scale


class NeedsStream(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]


def inputs_on_cuda() -> Tensor:
    return torch.ones(2, 3, device="cuda")


@pytest.mark.parametrize("inputs", ["", f"{__name__}.inputs_on_cuda"])
def test_a_model_that_is_built_on_a_device_that_is_not_there(inputs: str) -> None:
    graph = record_request(RecordingRequest(f"{__name__}:BuiltOnCuda", "" if inputs else "2,3", inputs))
    assert op_names(graph) == ["linear", "batch_norm", "mul"]
    assert {value.meta.device for value in graph.values if value.meta} == {"cpu"}
    places = {note.rpartition(":")[2] for note in graph.info.notes}
    assert len(places) == len(graph.info.notes) == 6 + bool(inputs)
    assert all("cpu stands for cuda, which this machine does not have" in note for note in graph.info.notes)
    with pytest.raises((AttributeError, RuntimeError), match=r"_cuda_setDevice|NVIDIA driver"):
        BuiltOnCuda()


def test_inputs_that_are_made_on_a_device_that_is_not_there() -> None:
    graph = record_request(RecordingRequest("torch.nn.Linear(3, 3)", inputs=f"{__name__}.inputs_on_cuda"))
    assert op_names(graph) == ["linear"]
    assert len(graph.info.notes) == 1


def test_what_nothing_can_stand_for() -> None:
    with pytest.raises(TargetBuildFailed, match="Stream"):
        record_request(RecordingRequest(f"{__name__}:NeedsStream", "2,3"))
    with pytest.raises(InputError):
        record_request(RecordingRequest("torch.nn.Linear(3, 3)", inputs=f"{__name__}.NeedsStream"))
