"""Whatever a forward does, the model and the process are left as they were found: one set of checks for all ways."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import threading
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.utils import parametrizations, weight_norm

from tests.core.recording.isolation.fingerprint import Fingerprint
from tests.core.recording.nets import Net, op_names, record
from tests.truth.all import CASES
from tests.truth.case import Case
from torchrecorder.errors import ForwardError
from torchrecorder.recording.run import capture

X = torch.arange(12.0).view(4, 3) / 7

Step = Callable[[Any, Tensor], Any]
"""What the forward of a `World` does besides: given the module and its input."""


class Sentinel:
    pass


class Holder:
    def __init__(self) -> None:
        self.count = 0
        self.items: list[Any] = [1]


class Other(nn.Linear):
    """What a layer may turn into."""


class Ordered(collections.OrderedDict[str, Any]):
    closed = False

    def __setitem__(self, key: str, value: Any) -> None:
        if self.closed:
            raise TypeError("closed")
        super().__setitem__(key, value)


class World(nn.Module):
    """Holds one of everything."""

    __slots__ = ("slot", "unset")

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.fc, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.bias = self.fc.bias
        self.shared = nn.Sequential(self.fc, nn.Dropout(0.5))
        self.shared[1].eval()
        self.norm = nn.BatchNorm1d(3)
        self.table = nn.Embedding(4, 3, max_norm=0.1)
        self.new = parametrizations.spectral_norm(nn.Linear(3, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.old, self.lazy = weight_norm(nn.Linear(3, 3)), nn.LazyLinear(3)
        self.register_buffer("buffer", torch.zeros(3))
        self.register_buffer("part", torch.arange(6.0).view(2, 3)[0])
        self.register_buffer("none", None)
        self.plain = torch.ones(3)
        self.result = self.fc.weight * 2
        self.kept: dict[str, Any] = {"a": [1, {2}]}
        self.ordered = collections.OrderedDict(a=1, b=2)
        self.closed = Ordered(a=1)
        self.closed.closed = True
        self.counter, self.groups = collections.Counter("aab"), collections.defaultdict(list, a=[1])
        self.queue, self.names = collections.deque([1, 2], maxlen=3), {"x", "y"}
        self.user, self.bytes = collections.UserDict(a=1), bytearray(b"abc")
        self.weak: Any = weakref.WeakKeyDictionary({self.fc: 1})
        self.pair = (torch.ones(3), [1])
        self.holder, self.array, self.numbers = Holder(), np.zeros(3), np.random.default_rng(1)
        self.generator = torch.Generator().manual_seed(1)
        self.handle = self.fc.register_forward_hook(lambda *_: None)
        self.slot = [1]
        self.fc.weight.grad = torch.ones(3, 3)
        self.fc.weight.note = "the user's"  # type: ignore[attr-defined]
        self.step = step

    def forward(self, x: Tensor) -> Any:
        self.step(self, x)
        return self.norm(self.second(self.fc(x)))


def unseen(self: Any, x: Tensor) -> Any:
    self.fc.weight.detach().numpy()[:] = 7
    np.asarray(self.second.weight.detach())[0] = 7
    np.from_dlpack(self.buffer)[0] = 7
    self.plain.untyped_storage().fill_(1)
    ctypes.memset(self.norm.running_mean.data_ptr(), 1, 4)


def with_gradients(self: Any, x: Tensor) -> Any:
    self.buffer.mul_(self.fc.weight[0])
    self.plain[0] = self.fc.weight[0, 0]
    self.part.add_(self.fc.bias)
    with torch.no_grad():
        self.result.mul_(2)
    self.pair[0].add_(self.fc.bias)


def backward(self: Any, x: Tensor) -> Any:
    with torch.enable_grad():
        self.second(self.fc(x.detach())).sum().backward()


def in_threads(self: Any, x: Tensor) -> Any:
    thread = threading.Thread(target=torch.no_grad()(lambda: self.norm(x.detach())))
    thread.start()
    thread.join()


@torch.no_grad()
def overwritten(self: Any, x: Tensor) -> Any:
    self.fc.weight.mul_(2)
    self.fc.weight[0] = 3
    self.second.weight.t()[0].zero_()
    torch.cos(self.plain, out=self.plain)
    torch._foreach_add_([self.buffer, self.fc.bias], 1)
    nn.init.normal_(self.norm.weight)
    self.table(torch.tensor([0, 1]))
    self.plain.resize_(2)
    self.part.set_(torch.ones(3))


def rebound(self: Any, x: Tensor) -> Any:
    self.fc.weight.data = torch.zeros(3, 3)
    self.second.weight = nn.Parameter(torch.zeros(3, 3))
    self.buffer = self.buffer + 1
    self.register_buffer("late", torch.ones(3))
    self.more, self.shared = nn.Linear(3, 3), nn.ReLU()
    self.add_module("fc2", nn.Linear(3, 3))
    self.register_parameter("free", nn.Parameter(torch.ones(3)))
    self.unset, self.slot = 1, 2
    del self.plain, self.kept
    self.fc.__class__ = Other
    self.holder = None


def filled(self: Any, x: Tensor) -> Any:
    self.kept["a"].append(x), self.kept["a"][1].add(3)
    self.kept["b"] = x
    self.ordered.move_to_end("a")
    self.ordered["c"] = self.ordered.pop("b")
    dict.__setitem__(self.closed, "b", x)
    self.counter.update("b"), self.groups["b"].append(x), self.groups["a"].clear()
    self.queue.append(x), self.queue.append(x), self.names.discard("x")
    self.user["b"], self.bytes[0] = x, 1
    self.weak[self.norm] = 2
    self.pair[1].append(2), self.slot.append(x)
    self.holder.count += 1
    self.holder.items.append(x)
    self.holder.new = self
    self.array += 1
    self.numbers.random(), torch.rand(1, generator=self.generator)


def switched(self: Any, x: Tensor) -> Any:
    self.train(not self.training)
    self.fc.requires_grad_(False)
    self.fc.weight.grad.zero_()
    self.second.weight.grad = torch.ones(3, 3)
    self.fc.bias.grad = None
    self.fc.weight.note = "other"
    self.fc.weight.more = 1
    self.handle.remove()
    self.norm.register_forward_hook(lambda *_: None)
    self.norm.register_full_backward_hook(lambda *_: None)
    self.second.weight.register_hook(lambda grad: grad)
    self.second.weight.register_post_accumulate_grad_hook(lambda tensor: None)


def layers(self: Any, x: Tensor) -> Any:
    return self.old(x) + self.new(x) + self.lazy(x) + self.shared(x)


STEPS: list[Step] = [unseen, with_gradients, backward, in_threads, overwritten, rebound, filled, switched, layers]
every_step = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
every_way = pytest.mark.parametrize("way", ["real", "fake"])


def changes(model: nn.Module, *args: Any, roots: Any = (), **options: Any) -> list[str]:
    before = Fingerprint(model, args, roots)
    with contextlib.suppress(ForwardError, KeyboardInterrupt, SystemExit):
        capture(model, args, **options)
    return before.changes(model, args, roots)


@every_way
@every_step
@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("grad", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_what_a_step_changes_is_put_back(step: Step, mode: Any, grad: Any, way: Any) -> None:
    model = World(step)
    with grad():
        assert changes(model, X.clone(), mode=mode, run=way) == []


@every_step
@pytest.mark.parametrize("nowhere", [lambda: torch.device("meta"), FakeTensorMode], ids=["meta", "fake"])
def test_a_model_without_data_is_left_as_it_was(step: Step, nowhere: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tensors give their shapes to those that are recorded, and nothing else."""
    if nowhere is FakeTensorMode:  # in which torch cannot make a lazy layer
        monkeypatch.setattr(nn, "LazyLinear", lambda size: nn.Linear(3, size))
    with nowhere():
        model, x = World(step), torch.ones(4, 3)
    assert changes(model, x, mode="train") == []


@every_step
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)], ids=repr)
def test_after_an_exception_too(step: Step, error: BaseException) -> None:
    def fails(self: Any, x: Tensor) -> Any:
        step(self, x)
        raise error

    assert changes(World(fails), X, mode="train", run="real") == []


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=6), st.sampled_from(["real", "fake"]), st.booleans())
def test_any_steps_after_one_another(steps: list[Step], way: Any, fails: bool) -> None:
    def all_of_them(self: Any, x: Tensor) -> Any:
        for step in steps:
            with contextlib.suppress(RuntimeError, AttributeError):
                step(self, x)
        if fails:
            raise ValueError

    assert changes(World(all_of_them), X, mode="train", run=way) == []


@every_way
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_truth_cases_are_left_as_they_were(case: Case, way: Any) -> None:
    args, kwargs = case.inputs()
    model = case.build()
    before = Fingerprint(model, args, kwargs)
    with contextlib.suppress(ForwardError):
        capture(model, args, kwargs, mode="train" if case.train else "eval", run=way)
    assert before.changes(model, args, kwargs) == []


FAST = Sentinel()
NORM = nn.BatchNorm1d(3)
TOTAL = torch.zeros(3)
TABLE: dict[Any, int] = {}
PARTS: Any = weakref.WeakKeyDictionary()


def test_an_object_is_the_one_it_was() -> None:
    net = Net(lambda self, x: self.fc(x) if self.kind is FAST else x, fc=nn.Linear(3, 3), kind=FAST)
    assert op_names(record(net, X)) == ["linear"]


def test_an_object_among_the_arguments_is_the_one_it_was() -> None:
    net = Net(lambda self, x, kind: self.fc(x) if kind is FAST else x, fc=nn.Linear(3, 3))
    assert op_names(record(net, X, FAST)) == ["linear"]


def test_the_module_is_found_where_it_is_the_key() -> None:
    net = Net(lambda self, x: x * TABLE[id(self)] + PARTS[self] + TABLE[self.kind], kind=FAST)
    TABLE.update({id(net): 2, FAST: 3})
    PARTS[net] = 4
    graph = record(net, X)
    assert graph.info.executed == "real"
    assert op_names(graph) == ["mul", "add", "add"]


def by_default() -> tuple[Any, Any]:
    norm = nn.BatchNorm1d(3)
    return Net(lambda self, x, norm=norm: norm(x)), norm


def by_dictionary() -> tuple[Any, Any]:
    held = {"norm": nn.BatchNorm1d(3)}
    return Net(lambda self, x: held["norm"](x)), held


def by_object() -> tuple[Any, Any]:
    holder: Any = Holder()
    holder.norm = nn.BatchNorm1d(3)
    return Net(lambda self, x: holder.norm(x)), holder


def by_forward() -> tuple[Any, Any]:
    norm = nn.BatchNorm1d(3)
    return Net(lambda self, x, norm=norm: norm.forward(x)), norm


def by_global() -> tuple[Any, Any]:
    return Net(lambda self, x: NORM(x)), NORM


def global_tensor() -> tuple[Any, Any]:
    return Net(lambda self, x: TOTAL.add_(x.sum(0))), TOTAL


def closed_over() -> tuple[Any, Any]:
    state = {"total": torch.zeros(2, 3)}
    return Net(lambda self, x: state["total"][0].add_(self.w), w=nn.Parameter(torch.ones(3))), state


@every_way
@pytest.mark.parametrize(
    "make", [by_default, by_dictionary, by_object, by_forward, by_global, global_tensor, closed_over]
)
def test_what_no_walk_finds_is_put_back(make: Any, way: Any) -> None:
    net, held = make()
    assert changes(net, X, roots=[held], mode="train", run=way) == []


def test_an_older_loss_can_still_be_differentiated() -> None:
    net = World(overwritten)
    loss = (net.second(net.fc(X)) * net.part).sum()
    record(net, X)
    loss.backward()
    assert net.second.weight.grad is not None


def test_a_method_that_remembers_forgets() -> None:
    class Remembers(nn.Module):
        @functools.lru_cache  # noqa: B019
        def mask(self, n: int) -> Tensor:
            return torch.ones(n)

        def forward(self, x: Tensor) -> Any:
            return x * self.mask(3)

    with torch.inference_mode():
        record(Remembers(), X)
    assert Remembers.mask.cache_info().currsize == 0


def test_a_script_module_inside_is_left_as_it_was() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(3)
            self.times = 0

        def forward(self, x: Tensor) -> Tensor:
            self.times += 1
            y: Tensor = self.norm(x)
            return y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script: Any = torch.jit.script(Counts())
    assert changes(Net(lambda self, x: self.script(x), script=script), X, mode="train") == []
    assert changes(script, X, mode="train") == []
    assert script.times == 0


def test_a_sharded_model_keeps_its_parameters(tmp_path: Path) -> None:
    from torch.distributed import fsdp  # takes a second, which every process that collects tests would spend

    torch.distributed.init_process_group("gloo", rank=0, world_size=1, init_method=(tmp_path / "group").as_uri())
    try:
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
        net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
        for part in (net[0], net[2], net):
            fsdp.fully_shard(part, mesh=mesh)
        before = [(name, id(parameter)) for name, parameter in net.named_parameters()]
        graph = record(net, X, run="real")
        assert [name for name in op_names(graph) if name in ("linear", "relu")] == ["linear", "relu", "linear"]
        assert [(name, id(parameter)) for name, parameter in net.named_parameters()] == before
        net(X).sum().backward()
        assert [(name, id(parameter)) for name, parameter in net.named_parameters()] == before
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
def test_models_are_nested_as_deep_as_python_runs_them(way: Any) -> None:
    net: nn.Module = nn.Linear(3, 3)
    for _ in range(200):
        net = nn.Sequential(net)
    assert len(record(net, X, run=way).calls) == 201
