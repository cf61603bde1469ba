"""A worker that outlives a build, and when it does not."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from torchrecorder.errors import TorchMissing
from torchrecorder.request import RecordingRequest, Settings
from torchrecorder.worker.lasting import PersistentWorker

pytestmark = pytest.mark.usefixtures("real_processes")

REQUEST = RecordingRequest("torch.nn.Linear(3, 4)", "1,3")


def test_it_lasts_until_something_is_installed_or_set_otherwise(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    settings = Settings(tmp_path / "cache", (str(installed),))
    lasting = PersistentWorker()
    with lasting.open(settings) as first:
        assert first.record(REQUEST, timeout_s=60).error is None
    with lasting.open(settings) as second:
        assert second is first
    os.utime(installed, (1, 1))
    with lasting.open(settings) as third:
        assert third is not first
        assert not first.is_running
        assert third.record(REQUEST, timeout_s=60).error is None
    with lasting.open(replace(settings, memory_bytes=None)) as fourth:
        assert fourth is not third
    lasting.close()
    lasting.close()
    assert not third.is_running


def test_no_torch_is_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    settings = Settings(tmp_path / "cache")
    lasting = PersistentWorker()
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        with lasting.open(settings) as worker:
            assert isinstance(worker.record(REQUEST, timeout_s=60).error, TorchMissing)
    with lasting.open(settings) as worker:
        assert worker.record(REQUEST, timeout_s=60).error is None
    lasting.close()


ALONE = """
import os, sys, time
from pathlib import Path
from torchrecorder.request import RecordingRequest, Settings
from torchrecorder.worker.lasting import PersistentWorker

pids = []
for _ in range(2):
    with PersistentWorker.of_process(Settings(Path("cache"))) as worker:
        assert worker.record(RecordingRequest("torch.nn.Linear(3, 4)", "1,3"), timeout_s=60).error is None
        pids.append(worker._process._process.pid)
print(*pids, worker._scratch.name, flush=True)
if sys.argv[1] == "wait":
    time.sleep(600)
"""


@pytest.mark.parametrize("end", ["exit", "killed"])
def test_the_worker_of_a_process_is_one_and_ends_with_it(end: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ALONE, "wait" if end == "killed" else ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        first, second, scratch = process.stdout.readline().split()
        if end == "killed":
            process.kill()
    assert first == second
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        ended = os.pidfd_open(int(first))
        assert select.select([ended], [], [], 120)[0], "it outlives the process"
        os.close(ended)
    deadline = time.monotonic() + 30
    while Path(scratch).exists() and time.monotonic() < deadline:  # the worker's last child removes it
        time.sleep(0.05)
    assert not Path(scratch).exists()
