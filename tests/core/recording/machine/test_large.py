"""Large models are built without their numbers, and computed with them where these decide."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from torchrecorder.errors import TorchRecorderError
from torchrecorder.recording.machine import large, memory
from torchrecorder.recording.machine.large import built, is_numberless, with_numbers
from torchrecorder.recording.run import capture
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Worker


class Net(nn.Module):
    """Weights by torch's own layers, by hand, and in a table that is computed; a small layer, too."""

    def __init__(self, width: int = 1024) -> None:
        super().__init__()
        self.wide = nn.Linear(width, width)
        self.by_hand = nn.Parameter(torch.empty(width, width))
        nn.init.trunc_normal_(self.by_hand)
        self.small = nn.Linear(width, 2)
        self.places: Tensor
        self.register_buffer("places", torch.arange(4.0))
        self.rates = [rate.item() for rate in torch.linspace(0, 1, 3)]

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.small(self.wide(x) @ self.by_hand)
        return found


class Decides(Net):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if self.wide.weight.std() > 0.001 else x.new_zeros(1, 2)


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "LARGE", 1 << 20)
    monkeypatch.setattr(large, "_SMALL", 0)


def test_a_small_model_is_built_as_ever() -> None:
    with torch.random.fork_rng(devices=()):
        net = built(Net, 3)
        torch.manual_seed(3)
        same = Net()
    assert isinstance(net, Net)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), same.parameters(), strict=True))
    assert with_numbers(net) is net


@pytest.mark.usefixtures("small_limit")
def test_a_large_one_has_its_small_numbers_and_the_others_when_they_are_asked_for() -> None:
    with torch.random.fork_rng(devices=()):
        torch.use_deterministic_algorithms(True)  # memory that nothing was written to is NaN
        try:
            net = built(Net, 3)
        finally:
            torch.use_deterministic_algorithms(False)
        assert isinstance(net, Net)
        assert net.small.weight.count_nonzero() > 2000
        assert net.places.tolist() == [0, 1, 2, 3]
        assert net.rates == [0, 0.5, 1]
        again = with_numbers(net)
        torch.manual_seed(3)
        same = Net()
    assert net.wide.weight.isnan().all()
    assert net.by_hand.isnan().all()
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), same.parameters(), strict=True))


@pytest.mark.usefixtures("small_limit")
def test_it_is_followed_by_shape_unless_a_number_decides() -> None:
    x = torch.ones(1, 1024)
    with torch.random.fork_rng(devices=()):
        by_shape, computed = (capture(built(cls, 0), x) for cls in (Net, Decides))  # type: ignore[arg-type]
    assert by_shape.info.executed == "fake"
    assert computed.info.executed == "real"
    assert [op.name for op in computed.ops if op.name == "matmul"], "with its numbers it takes the other way"


class Refuses(Net):
    def __init__(self) -> None:
        super().__init__()
        if not 0.01 < self.by_hand.std() < 2:
            raise ValueError("not what trunc_normal_ gives")


class Compares(Net):
    def __init__(self) -> None:
        super().__init__()
        self.deep = bool((self.by_hand.data[1:] * 2).std() > 0.01)


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("cls", [Refuses, Compares])
def test_a_constructor_that_reads_its_weights_gets_them(cls: type[Net]) -> None:
    with torch.random.fork_rng(devices=()):
        net = built(cls, 0)
    assert isinstance(net, Net)
    assert not is_numberless(net)
    assert net.by_hand.std() > 0.5


class Garbage(Net):
    """What its memory held before is outside of what may be drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.by_hand = nn.Parameter(torch.full((1024, 1024), 100.0))
        nn.init.trunc_normal_(self.by_hand)
        nn.init.trunc_normal_(self.by_hand, a=1.0, b=2.0)


@pytest.mark.usefixtures("small_limit")
def test_weights_that_torch_draws_again_and_again_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "empty_like", lambda tensor: torch.full_like(tensor, 100.0))
    with torch.random.fork_rng(devices=()):
        net = built(Garbage, 0)
    assert isinstance(net, Net)
    assert is_numberless(net)


def test_one_that_turns_out_to_be_no_larger_has_all_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "_SMALL", 1 << 10)
    with torch.random.fork_rng(devices=()):
        net = built(Net, 3)
        torch.manual_seed(3)
        same = Net()
    assert isinstance(net, Net)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), same.parameters(), strict=True))
    with pytest.raises(ZeroDivisionError):
        built(lambda: 1 / 0, 3)


HUGE = """from torch import nn

class Huge(nn.Module):
    \"\"\"Three billion parameters.\"\"\"
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(8192, 8192) for _ in range(45)))
        for layer in self.layers:
            nn.init.trunc_normal_(layer.weight)

    def forward(self, x):
        return self.layers(x)
"""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    (tmp_path / "huge.py").write_text(HUGE)
    with Worker([str(tmp_path)]) as made:
        yield made


@pytest.mark.usefixtures("real_processes")
def test_three_billion_parameters_fit_a_trial(worker: Worker) -> None:
    asked = RecordingRequest("huge.Huge")
    worker.expect([asked], trials=[asked])
    start = time.monotonic()
    ((_, answer),) = worker.record_all({asked: 15.0})
    error: TorchRecorderError | None = answer.error
    assert error is None
    assert answer.graph is not None
    assert answer.graph.count('"linear"') >= 1
    assert time.monotonic() - start < 120


class Computes(Net):
    """Has no rule for shapes, as a kernel of a library may not."""

    def forward(self, x: Tensor) -> Tensor:
        if type(x) is not Tensor:
            raise NotImplementedError("no rule for it")
        return super().forward(x)


@pytest.mark.parametrize(("cls", "executed", "times"), [(Net, "fake", 1), (Computes, "real", 2)])
def test_a_trial_builds_a_model_of_some_size_once_unless_shapes_fail(
    cls: type[Net], executed: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "_SMALL", 1 << 20)
    monkeypatch.setattr(memory, "_bounds", [1 << 30])
    made: list[nn.Module] = []

    def build() -> nn.Module:
        made.append(cls())
        return made[-1]

    with torch.random.fork_rng(devices=()):
        graph = capture(built(build, 0), torch.ones(1, 1024))  # type: ignore[arg-type]
    assert graph.info.executed == executed
    assert len(made) == times


class Table(nn.Module):
    """Has an index that its weights would fill."""

    def __init__(self) -> None:
        super().__init__()
        self.index: Tensor
        self.register_buffer("index", torch.empty(64, 64, dtype=torch.long))
        self.rows = nn.Parameter(torch.empty(3, 4))


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_integers_that_weights_would_fill_are_those_of_a_table(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "_SMALL", small)
    with torch.random.fork_rng(devices=()):
        torch.use_deterministic_algorithms(True)
        try:
            table = built(Table, 3)
        finally:
            torch.use_deterministic_algorithms(False)
    assert isinstance(table, Table)
    assert not table.index.any()
    assert table.rows.isnan().all()
