"""A fault in any part of the recorder costs that part, not the recording; what the user raises is raised at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.isolation.fingerprint import Fingerprint
from tests.core.recording.nets import Net, record
from torchrecorder.errors import FailedInside, ForwardError
from torchrecorder.graph import from_json, to_json
from torchrecorder.recording import run as running
from torchrecorder.recording.batch_axes import BatchAxes
from torchrecorder.recording.calls import Calls
from torchrecorder.recording.isolation import kept_tensors
from torchrecorder.recording.isolation.journal import Journal
from torchrecorder.recording.modules import ModuleNames
from torchrecorder.recording.ops import OpLog
from torchrecorder.recording.run import capture
from torchrecorder.recording.scopes import Scopes
from torchrecorder.recording.session import Session
from torchrecorder.recording.values import Values

X = torch.arange(6.0).view(2, 3) / 7


class World(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.norm, self.drop = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)
        self.last = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.runs = 0
        self.seen: dict[str, Any] = {"shapes": [1]}

    def forward(self, x: Tensor) -> Any:
        self.runs += 1
        self.more = x
        self.seen["last"] = x
        with torch.no_grad():
            self.fc.bias.add_(1)
        return self.last(self.drop(self.norm(self.fc(x)))) + x


def broken(*args: Any, **kwargs: Any) -> Any:
    raise LookupError("planted")


PARTS: dict[str, tuple[Any, str]] = {
    "kernels": (OpLog, "facts"),
    "the batch": (BatchAxes, "follow"),
    "what kernels gave": (OpLog, "kernel"),
    "writes": (OpLog, "before_write"),
    "operations": (OpLog, "_log"),
    "places": (Scopes, "locate"),
    "values": (Values, "add"),
    "reads": (Values, "read_all"),
    "calls": (Scopes, "enter"),
    "ends of calls": (Calls, "_end"),
    "names": (ModuleNames, "register"),
    "journal": (Journal, "keep"),
    "objects of the journal": (Journal, "_object"),
    "tensors of the journal": (kept_tensors.KeptTensors, "keep"),
    "writes of the journal": (kept_tensors.KeptTensors, "before_write"),
    "what puts tensors back": (kept_tensors, "_put_back"),
    "the Graph": (Session, "_graph"),
    "the copies of arguments": (running, "CopiedArguments"),
    "the session": (running, "prepared"),
}


@pytest.mark.filterwarnings("ignore:.*was silenced as another error:UserWarning")  # of torch, when a hook fails
@pytest.mark.parametrize("part", PARTS)
def test_a_fault_in_a_part_costs_that_part_only(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    net = World().train()
    found, rng = Fingerprint(net, X), torch.get_rng_state()
    with monkeypatch.context() as patched:
        patched.setattr(*PARTS[part], broken)
        graph = record(net, X, mode="train")
    assert not [change for change in found.changes(net, X) if "version" not in change]
    assert torch.equal(rng, torch.get_rng_state())
    assert from_json(to_json(graph)) == graph
    (note,) = [note for note in graph.info.notes if "please report it" in note]
    assert note.startswith("recorded ")
    assert "LookupError: planted" in note
    assert {"fc", "norm", "drop", "last", "last.0", "last.1"} <= {call.module for call in graph.calls}
    assert graph.inputs.keys() == {"x"}
    assert graph.outputs.keys() == {""}
    layers = [op for op in graph.ops if graph.calls[op.call].module == "norm"]
    assert layers
    assert layers[0].inputs


def test_without_kernels_the_operations_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(lambda self, x: torch.relu(self.fc(x)) + x, fc=nn.Linear(3, 3))
    whole = record(net, X)
    monkeypatch.setattr(OpLog, "kernel", broken)
    graph = record(net, X)
    assert [(op.name, op.inputs, op.outputs) for op in graph.ops] == [(o.name, o.inputs, o.outputs) for o in whole.ops]
    assert any(op.kernels for op in whole.ops)
    assert not any(op.kernels for op in graph.ops)


def test_only_the_calls_are_left_when_no_operation_can_be_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(lambda self, x: self.b(self.a(x)), a=nn.Linear(3, 3), b=nn.Sequential(nn.ReLU(), nn.Linear(3, 2)))
    monkeypatch.setattr(OpLog, "_log", broken)
    graph = record(net, X)
    assert [(op.name, graph.calls[op.call].module) for op in graph.ops] == [
        ("Linear", "a"), ("ReLU", "b.0"), ("Linear", "b.1")
    ]  # fmt: skip
    assert [op.inputs for op in graph.ops[1:]] == [op.outputs for op in graph.ops[:-1]]
    assert graph.outputs[""] == graph.ops[-1].outputs


def test_modules_that_are_not_registered_are_called_by_their_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpLog, "_log", broken)
    graph = record(Net(lambda self, x: nn.ReLU()(nn.ReLU()(x))), X)
    assert [call.module for call in graph.calls] == ["", "~ReLU", "~ReLU:2"]


def counted(raises: Callable[[Any, Tensor], Any]) -> tuple[Net, list[int]]:
    runs: list[int] = []

    def body(self: Any, x: Tensor) -> Any:
        runs.append(1)
        return raises(self, x)

    return Net(body, fc=nn.Linear(3, 3)), runs


def own_error(self: Any, x: Tensor) -> Any:
    raise RuntimeError("of the user")


USERS: dict[str, Callable[[Any, Tensor], Any]] = {
    "raised": own_error,
    "sizes": lambda self, x: self.fc(x.t()),
    "matrix": lambda self, x: x @ x,
    "attribute": lambda self, x: self.missing(x),
    "index": lambda self, x: x[5],
    "key": lambda self, x: {"b": x}["a"],
    "type": lambda self, x: x + object(),  # type: ignore[operator]
    "kernel": lambda self, x: torch.ops.aten.mm(x, x),
}


@pytest.mark.parametrize("raises", USERS)
def test_what_the_user_raises_is_raised_at_once(raises: str) -> None:
    net, runs = counted(USERS[raises])
    with pytest.raises(ForwardError):
        capture(net, (X,))
    assert len(runs) == 1


@pytest.mark.parametrize("run", ["real", "fake", "meta"])
def test_a_refused_shape_is_raised_at_once_however_it_runs(run: Any) -> None:
    runs = 0

    class Refuses(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            nonlocal runs
            runs += 1
            return (x * 2).view(4, 4)

    with pytest.raises(ForwardError, match="invalid for input of size 6"):
        capture(Refuses(), (X,), run=run, guessed="2,3")
    assert runs == 1


def test_what_torch_raises_in_its_own_code_is_asked_of_a_plain_forward_once() -> None:
    net, runs = counted(lambda self, x: self.fc.load_state_dict({}))
    with pytest.raises(ForwardError, match="Missing key"):
        capture(net, (X,))
    assert len(runs) == 2
    net, runs = counted(lambda self, x: self.fc.load_state_dict({}))
    with pytest.raises(ForwardError, match="Missing key"):
        capture(net, (X,), guessed="x=2,3")
    assert len(runs) == 1


def test_what_torch_refuses_because_it_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(self: Any, x: Tensor) -> Any:
        y = self.fc(x)
        torch.utils.swap_tensors(y, torch.zeros(2, 3))  # type: ignore[no-untyped-call]
        return self.fc(y)

    with monkeypatch.context() as patched:
        patched.setattr(Values, "swapped", lambda self, first, second: nullcontext())
        graph = record(Net(body, fc=nn.Linear(3, 3)), X)
    (note,) = graph.info.notes
    assert note.startswith("recorded from the calls of its modules only")
    assert "has weakref" in note
    assert [graph.calls[op.call].module for op in graph.ops] == ["fc", "fc"]


def test_if_nothing_can_be_recorded_the_first_fault_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "prepared", broken)
    monkeypatch.setattr(running, "OnlyCalls", broken)
    with pytest.raises(FailedInside, match="planted"):
        capture(nn.Linear(3, 3), (X,))
