"""The moment between an answer and the next job: the process goes then, and no job is blamed or lost for it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchrecorder.errors import WorkerCrashed
from torchrecorder.processes import descendants
from torchrecorder.request import RecordingRequest
from torchrecorder.request.stylers import StyledNode, StylerInput, StylerRequest
from torchrecorder.worker.client import Worker

pytestmark = [
    pytest.mark.usefixtures("real_processes"),
    pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only"),
]

CODE = """
import time
from torch import nn

class Net(nn.Linear):
    def __init__(self, width=2):
        super().__init__(3, width)

class Naps(Net):
    def __init__(self):
        super().__init__()
        time.sleep(1)

class Look:
    def style_node(self, node):
        return {"fillcolor": "orange"}
"""
LOOK = StylerRequest("between_nets.Look", (StylerInput((StyledNode("linear", "fc"),), (), ()),))


def request(target: str) -> RecordingRequest:
    return RecordingRequest(f"between_nets.{target}", "1,3")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    (tmp_path / "between_nets.py").write_text(CODE)
    with Worker([str(tmp_path)], jobs=1) as worker:
        yield worker


def kill(worker: Worker) -> None:
    assert worker._process is not None
    pid = worker._process._process.pid
    for killed in (pid, *descendants(pid)):
        os.kill(killed, signal.SIGKILL)
    while worker.is_running:
        time.sleep(0.01)


def test_killed_after_each_answer_of_a_batch(worker: Worker) -> None:
    asked = {request(f"Net({width})"): 60.0 for width in (2, 3, 4)}
    errors = {}
    for answered, answer in worker.record_all(asked):
        errors[answered] = answer.error
        if worker.is_running:
            kill(worker)
    assert errors == dict.fromkeys(asked)


def test_killed_before_answers_of_early_jobs_are_asked_for_it_costs_the_one_that_was_in_it(worker: Worker) -> None:
    asked = {request(target): 60.0 for target in ("Net(2)", "Naps", "Net(3)")}
    for early, timeout_s in asked.items():
        worker.submit(early, timeout_s)
    until = time.monotonic() + 60
    while not worker._answers and time.monotonic() < until:
        worker.advance()
        time.sleep(0.01)
    assert [*worker._answers] == [request("Net(2)")]
    kill(worker)
    errors = {answered: answer.error for answered, answer in worker.record_all(asked)}
    assert isinstance(errors.pop(request("Naps")), WorkerCrashed), "it was alone in the process"
    assert errors == {request("Net(2)"): None, request("Net(3)"): None}


def test_killed_between_a_recording_and_a_styler_and_after_it(worker: Worker) -> None:
    assert worker.record(request("Net"), timeout_s=60).error is None
    for _ in range(2):
        kill(worker)
        answer = worker.record(LOOK, timeout_s=60)
        assert answer.error is None
        assert answer.styles == ('{"styles": {"nodes": [{"fillcolor": "orange"}], "boxes": [], "edges": []}}',)
    assert worker.record(request("Net(4)"), timeout_s=60).error is None


def test_a_process_that_never_takes_a_job_is_an_error_and_not_a_loop(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one that is started in the place of another dies before it is sent anything."""
    assert worker.record(request("Net"), timeout_s=60).error is None
    greet = Worker._greet

    def dying(self: Worker, target: str) -> None:
        greet(self, target)
        kill(self)

    kill(worker)
    monkeypatch.setattr(Worker, "_greet", dying)
    error = worker.record(request("Net(4)"), timeout_s=60).error
    assert isinstance(error, WorkerCrashed)
    assert "signal SIGKILL" in str(error)
