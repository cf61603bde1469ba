"""The worker starts while requests are still found, if one of them needs it, and serves the run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.core.pipeline.sites import Site, ask
from torchrecorder.errors import TorchMissing
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import Settings
from torchrecorder.worker.client import Worker


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


class Opened:
    """The workers that a pipeline opens."""

    def __init__(self) -> None:
        self.workers: list[Worker] = []

    def __call__(self, settings: Settings) -> Worker:
        self.workers.append(Worker(settings.path))
        return self.workers[-1]


def pipeline(site: Site, **settings: str) -> tuple[Pipeline, Opened]:
    opened = Opened()
    found = Settings.for_project(site.root, path=["src"], **settings)
    return Pipeline(found, opened), opened


def test_one_worker_serves_what_was_expected_and_ends_with_the_run(site: Site) -> None:
    first, opened = pipeline(site)
    assert opened.workers == []
    first.expect(ask())
    (worker,) = opened.workers
    assert worker.is_running
    first.expect(ask("pip_nets.other.Other(5, 7)", "2,5"))
    requests = [ask(), ask("pip_nets.other.Other(5, 7)", "2,5")]
    assert [it.error for it in first.run(requests).values()] == [None, None]
    assert opened.workers == [worker]
    assert not worker.is_running


LOUD = """import os
from torch import nn

class Net(nn.Linear):
    def __init__(self, width=2):
        super().__init__(3, width)
        if width == 13:
            os._exit(1)
        with open(os.path.dirname(__file__) + "/../../built.txt", "a") as file:
            file.write(f"{width}\\n")
"""


def test_where_nothing_forks_models_are_recorded_while_others_are_read(site: Site) -> None:
    site.write("loud.py", LOUD)
    built = site.root / "built.txt"
    early, opened = pipeline(site)
    early.is_alone = True
    requests = [ask(f"pip_nets.loud.Net({width})") for width in (4, 13, 5, 6)]
    unread = ask("pip_nets.loud.Net(7)")
    for request in (unread, *requests[:3], requests[0]):
        early.expect(request)
    until = time.monotonic() + 60
    while not (built.exists() and len(built.read_text().split()) == 3) and time.monotonic() < until:
        early.advance()
        time.sleep(0.02)
    begun: list[str] = []
    outcomes = early.run(requests, lambda stage, target, *_: begun.append(target))
    assert [type(outcomes[request].error).__name__ for request in requests] == [
        "NoneType",
        "WorkerCrashed",
        "NoneType",
        "NoneType",
    ]
    assert sorted(built.read_text().split()) == ["4", "5", "6", "7"]
    assert begun == [*(request.recording.target for request in requests), ""]
    assert len(opened.workers) == 1
    assert not opened.workers[0].is_running


def test_the_first_build_starts_one_before_it_knows_of_any(site: Site) -> None:
    first, opened = pipeline(site)
    first.expect_any()
    assert opened.workers == []
    first.is_alone = True
    first.expect_any()
    (worker,) = opened.workers
    assert worker.is_running
    assert first.run([ask()])[ask()].error is None
    assert not worker.is_running
    second, opened = pipeline(site)
    second.is_alone = True
    second.expect_any()
    assert opened.workers == []


def test_what_is_fresh_starts_none(site: Site) -> None:
    pipeline(site)[0].run([ask()])
    warm, opened = pipeline(site)
    warm.expect(ask())
    assert warm.run([ask()])[ask()].error is None
    assert opened.workers == []


def test_what_another_build_records_while_this_one_reads(site: Site) -> None:
    slow, _ = pipeline(site)
    slow.expect(ask())
    pipeline(site)[0].run([ask()])
    assert slow.run([ask()])[ask()].diagram is not None
    assert not slow.has_worked


def test_a_build_that_stops_before_the_run(site: Site) -> None:
    stopped, opened = pipeline(site)
    stopped.expect(ask())
    stopped.close()
    assert not opened.workers[0].is_running


def test_a_python_that_is_not_there(site: Site) -> None:
    settings = Settings.for_project(site.root, path=["src"], python="no-such-python")
    missing = Pipeline(settings)
    missing.expect(ask())
    assert isinstance(missing.run([ask()])[ask()].error, TorchMissing)
