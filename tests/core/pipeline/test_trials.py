"""What a package of classes may cost that are only tried: time, memory, and how often each is recorded."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from torch import nn

from tests.core.pipeline.sites import Counted, Site, ask
from torchrecorder.errors import InputError, LeftOut, WorkerCrashed, WorkerTimeout
from torchrecorder.graph import from_json
from torchrecorder.recording.guess.search import PATIENCE_S, Search
from torchrecorder.request import DiagramRequest, RecordingRequest
from torchrecorder.worker import job
from torchrecorder.worker.client import Worker

TWO = """from torch import nn

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5))

    def forward(self, x):
        return self.layers(x)

class One(nn.Linear):
    def __init__(self):
        super().__init__(3, 4)
"""
COSTLY = '''import time
import torch
from torch import nn

class Computes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        while True:
            pass

class Sleeps(nn.Module):
    def forward(self, x):
        time.sleep(600)

class Fills(nn.Module):
    def forward(self, x):
        kept = []
        while True:
            kept.append(b"x" * (1 << 24))

class Large(nn.Module):
    """Keeps what a forward on shapes does without."""
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        """x: Tensor of shape (2, 3)"""
        kept = [torch.ones(1 << 25) for _ in range(10)]
        return self.second(self.first(x)) + sum(kept)[:3]

class Wants(nn.Module):
    """Cannot do without, and takes more than half of what a trial may."""
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        """x: Tensor of shape (2, 3)"""
        kept = [torch.ones(1 << 25) for _ in range(5)]
        return self.second(self.first(x)) + float(sum(kept)[0])
'''


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    made.write("two.py", TWO)
    yield made
    Counted.end()


def ranked(name: str, defined: str = "") -> DiagramRequest:
    return replace(ask(f"pip_nets.{name}"), is_tried=True, is_ranked=True, pattern="*", defined=defined)


def test_what_is_left_out_is_known_to_the_next_build(site: Site) -> None:
    asked = ranked("two.Two"), ranked("two.One")
    for jobs in (2, 0):
        drawn, left_out = site.build(*asked)
        assert drawn.diagram is not None
        assert isinstance(left_out.error, LeftOut)
        assert left_out.error.reason == "one layer with weights"
        assert left_out.is_skipped
        assert left_out.sources == drawn.sources
        assert Counted.jobs == jobs
    (named,) = site.build(replace(asked[1], is_ranked=False))
    assert named.diagram is not None
    assert Counted.jobs == 0


def test_a_class_that_is_documented_by_two_names_is_recorded_once(site: Site) -> None:
    site.write("__init__.py", "from pip_nets.two import Two\nfrom pip_nets.two import One as Other\n")
    both = ranked("Two", "pip_nets.two.Two"), ranked("two.Two", "pip_nets.two.Two")
    first, second = site.build(*both)
    assert first.diagram is not None
    assert second.diagram is not None
    assert first.diagram.digest == second.diagram.digest
    assert Counted.jobs == 1
    assert all(outcome.diagram for outcome in site.build(*both[::-1]))
    assert Counted.jobs == 0
    alone = ranked("two.Two"), ranked("Two")
    site.write("two.py", TWO.replace("5", "6"))
    assert all(outcome.diagram for outcome in site.build(*alone))
    assert Counted.jobs == 2, "where they are defined is not known"


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    (tmp_path / "costly.py").write_text(COSTLY)
    with Worker([str(tmp_path)]) as made:
        yield made


@pytest.mark.usefixtures("real_processes")
def test_a_trial_computes_for_its_seconds_and_fills_its_memory(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchrecorder.worker.client.TRIAL_BYTES", 1 << 30)
    monkeypatch.setattr("torchrecorder.worker.client.SHARE_BYTES", 1 << 29)
    names = ("Computes", "Sleeps", "Fills")
    asked = {name: RecordingRequest(f"costly.{name}", "1,3", run="real") for name in names}
    worker.expect(asked.values(), trials=asked.values())
    start = time.monotonic()
    limits = {asked["Computes"]: 2.0, asked["Sleeps"]: 1.0, asked["Fills"]: 60.0}
    errors = {request.target: answer.error for request, answer in worker.record_all(limits)}
    assert isinstance(errors["costly.Computes"], WorkerTimeout)
    assert errors["costly.Computes"].timeout_s == 2
    assert isinstance(errors["costly.Sleeps"], WorkerTimeout)
    assert errors["costly.Sleeps"].timeout_s == 8, "it may wait longer, for the machine may be loaded"
    assert isinstance(errors["costly.Fills"], WorkerCrashed)
    assert errors["costly.Fills"].how == "it filled more than 1 GiB of memory"
    assert time.monotonic() - start < 60


@pytest.mark.usefixtures("real_processes")
def test_trials_at_once_share_the_memory_of_one(tmp_path: Path) -> None:
    (tmp_path / "costly.py").write_text(COSTLY)
    asked = {name: RecordingRequest(f"costly.{name}") for name in ("Large", "Wants")}
    with Worker([str(tmp_path)], jobs=2) as worker:
        worker.expect(asked.values(), trials=asked.values())
        answers = dict(worker.record_all(dict.fromkeys(asked.values(), 60.0)))
    assert not any(it.error for it in answers.values())
    large, wants = (from_json(answers[asked[name]].graph or "") for name in ("Large", "Wants"))
    assert large.info.executed == "fake"
    assert "MemoryError" in large.info.notes[0]
    assert wants.info.executed == "real", "alone it may fill twice as much"


@pytest.mark.usefixtures("real_processes")
def test_a_trial_that_a_page_names_too_may_take_what_it_needs(worker: Worker) -> None:
    slow = RecordingRequest("costly.Computes", "1,3")
    worker.submit(slow, 1.0, is_trial=True)
    while not worker._answers:
        worker.advance()
        time.sleep(0.05)
    worker.expect([slow])
    ((_, answer),) = worker.record_all({slow: 3.0})
    assert isinstance(answer.error, WorkerTimeout)
    assert answer.error.timeout_s == 3


def test_what_finds_no_inputs_is_tried_for_a_while_and_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "_FOR_A_TRIAL_S", 0.5)
    monkeypatch.setattr(job, "_FOR_ONE_S", 1e-6)
    monkeypatch.setattr(gc, "collect", lambda: 0)  # in a process that holds much it takes as long as the trial may
    patience: list[float] = []
    tried: list[Search] = []

    def refuse(search: Search, patience_s: float, slow_s: float) -> None:
        patience.append(patience_s)
        tried.append(search)
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        raise InputError("nothing fits", "", (), ran_out_of_time=True)

    monkeypatch.setattr(Search, "result", refuse)
    request = RecordingRequest("torch.nn.Linear")
    monkeypatch.setattr(job, "models", lambda *_: ((nn.Linear(2, 2), None) for _ in range(100)))
    with pytest.raises(InputError, match="nothing fits"):
        job.record(request, is_trial=True)
    assert 2 <= len(patience) <= 25
    assert max(patience) <= 1e-6
    patience.clear()
    tried.clear()
    monkeypatch.setattr(job, "models", lambda *_: ((nn.Linear(2, 2), None) for _ in range(5)))
    with pytest.raises(InputError, match="nothing fits"):
        job.record(request)
    assert patience == [1e-6] * 5 + [PATIENCE_S]  # a page names it: the first is tried for longer
    assert [tried.index(search) for search in tried] == [0, 1, 2, 3, 4, 0], "its search goes on"
