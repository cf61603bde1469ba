"""A recording leaves everything as it was."""

from __future__ import annotations

import contextlib
import random
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

from tests.core.recording.nets import Net, op_names, record
from torchrecorder.errors import ForwardError
from torchrecorder.graph import to_json
from torchrecorder.recording.run import capture

X = torch.ones(2, 3)


class Restless(nn.Module):
    """Changes whatever a forward can change."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.sub = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
        self.sub[1].eval()
        self.cache: dict[str, Any] = {}
        self.log: list[int] = []
        self.plain = torch.zeros(3)
        self.count = 0
        self.random_ = random.Random(3)
        self.generator = torch.Generator().manual_seed(3)

    def forward(self, x: Tensor, fail: BaseException | None = None) -> Tensor:
        self.count += 1
        self.log.append(self.count)
        self.cache["x"] = x
        self.plain += 1
        self.extra = nn.Linear(3, 3)
        self.sub[0].weight.requires_grad_(False)
        self.sub.train()
        x.mul_(2)
        random.random(), np.random.rand(), torch.rand(1)
        self.random_.seed(7)
        torch.rand(1, generator=self.generator)
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.use_deterministic_algorithms(True)
        torch.set_float32_matmul_precision("medium")
        torch.autocast("cpu", torch.float16).__enter__()  # type: ignore[no-untyped-call]
        self.sub[0].weight.grad = torch.ones(3, 3)
        self.register_forward_hook(lambda *args: None)
        self.norm.register_buffer("late", torch.ones(1))
        x = self.sub(self.norm(x))
        if fail is not None:
            raise fail
        return x


def state(model: nn.Module) -> list[Any]:
    facts: list[Any] = [
        (name, m.training, sorted(m.__dict__), len(m._forward_hooks), len(m._forward_pre_hooks))
        for name, m in model.named_modules()
    ]
    facts += [(name, id(p), p.requires_grad, p.grad is None, p._version) for name, p in model.named_parameters()]
    facts += [(name, id(b), b._version, b.tolist()) for name, b in model.named_buffers()]
    return facts


def surroundings() -> list[Any]:
    numpy_state = np.random.get_state(legacy=False)
    return [
        torch.get_rng_state().tolist(),
        random.getstate(),
        str(numpy_state),
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_float32_matmul_precision(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        *(len(found) for name, found in vars(torch_module).items() if name.startswith("_global_") and "hooks" in name),
        torch._C._len_torch_function_stack(),
        torch._C._len_torch_dispatch_stack(),
    ]


@pytest.mark.parametrize("way", ["real", "fake"])
@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("fail", [None, ValueError("no"), KeyboardInterrupt(), SystemExit(1)], ids=repr)
def test_nothing_of_the_model_changes(mode: Any, fail: BaseException | None, way: Any) -> None:
    model = Restless()
    x = torch.ones(4, 3)
    before = state(model), surroundings()
    numbers = model.random_.getstate(), model.generator.get_state().tolist()
    with contextlib.suppress(ForwardError, KeyboardInterrupt, SystemExit):
        capture(model, (x, fail), mode=mode, run=way)
        assert fail is None
    assert (state(model), surroundings()) == before
    assert (model.count, model.log, model.cache, model.plain.tolist()) == (0, [], {}, [0.0, 0.0, 0.0])
    assert (model.random_.getstate(), model.generator.get_state().tolist()) == numbers
    assert x.tolist() == [[1.0] * 3] * 4
    assert op_names(record(nn.ReLU(), X)) == ["relu"]


def test_a_lazy_model_stays_lazy() -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU())
    graph = record(model, X)
    assert graph.modules["0"].cls == "torch.nn.modules.linear.Linear"
    assert graph.modules["0"].params.total == 16
    assert type(model[0]) is nn.LazyLinear
    assert len(model[0]._forward_pre_hooks) == 1
    model(torch.ones(1, 5))


def test_recurrent_weights_are_those_of_the_model() -> None:
    model = nn.LSTM(3, 4, 2)
    graph = record(model, torch.ones(5, 1, 3))
    assert {v.name for v in graph.values if v.kind != "op"} == {"input", *dict(model.named_parameters())}


def test_a_bound_forward_changes_nothing() -> None:
    model = Net(lambda self, x: x)
    model.count = 0

    def count(self: Any, x: Any) -> Any:
        self.count += 1
        return x + 1

    model.forward = count.__get__(model)  # type: ignore[method-assign]
    assert op_names(record(model, X)) == ["add"]
    assert model.count == 0


def test_a_weak_reference_to_the_parent_changes_nothing() -> None:
    def body(self: Any, x: Any) -> Any:
        self.parent().count += 1
        return torch.cos(x)

    model = Net(lambda self, x: self.sub(x), sub=Net(body), count=0)
    model.sub.parent = weakref.ref(model)
    record(model, X)
    assert model.count == 0


def test_a_closure_over_the_model_still_names_its_layers() -> None:
    fc = nn.Linear(3, 3)
    graph = record(Net(lambda self, x: fc(x), fc=fc), X)
    assert [call.module for call in graph.calls] == ["", "fc"]
    assert [v.name for v in graph.values if v.kind == "param"] == ["fc.weight", "fc.bias"]


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
def test_a_forward_that_closes_over_the_model_changes_nothing(way: Any) -> None:
    norm = nn.BatchNorm1d(3)
    model = nn.Sequential(norm, nn.ReLU())
    real: Any = model.forward

    def forward(x: Tensor, depth: int = 1) -> Any:
        return forward(real(x), depth - 1) if depth else torch.cos(norm(x))

    model.forward = forward  # type: ignore[method-assign]
    graph = record(model, torch.ones(4, 3), mode="train", run=way)
    assert [call.module for call in graph.calls] == ["", "0", "1", "0"]
    assert norm.num_batches_tracked == 0
    assert {value.meta.device for value in graph.values if value.meta} == {"meta" if way == "meta" else "cpu"}


def test_the_seed_decides_the_random_numbers() -> None:
    model = Net(lambda self, x: x if torch.rand(()) < 0.5 else torch.cos(x))
    texts = {seed: to_json(record(model, X, seed=seed)) for seed in range(20)}
    assert len(set(texts.values())) == 2
    assert all(to_json(record(model, X, seed=seed)) == text for seed, text in texts.items())


def test_the_mode_is_what_was_asked_for() -> None:
    model = nn.Dropout(0.5)
    assert [op.kind for op in record(model, X, mode="train").ops] == ["op"]
    assert [op.kind for op in record(model, X, mode="eval").ops] == ["pass"]


def test_threads_wait_for_one_another() -> None:
    inside: list[int] = []
    worst: list[int] = []

    def body(self: Any, x: Any) -> Any:
        inside.append(1)
        worst.append(len(inside))
        x = torch.cos(x)
        inside.pop()
        return x

    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(to_json(record(Net(body), X)))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 6
    assert len(set(texts)) == 1
    assert max(worst) == 1


def test_a_recording_inside_a_recording_is_refused() -> None:
    with pytest.raises(ForwardError, match="cannot record another one"):
        record(Net(lambda self, x: capture(nn.ReLU(), (x,))), X)
    record(nn.ReLU(), X)
