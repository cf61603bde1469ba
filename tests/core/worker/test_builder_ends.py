"""Builders that are killed, and those that ignore what becomes of their children."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.core.worker.test_client import MISBEHAVING

pytestmark = [
    pytest.mark.usefixtures("real_processes"),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]
BUILDER = """
import signal, sys, time
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Worker
if sys.argv[2] == "ignores":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
with Worker([sys.argv[1]]) as worker:
    answer = worker.record(RecordingRequest("wrk_nets.Net", "1,3"), timeout_s=60)
    print("drawn" if answer.error is None else answer.error, flush=True)
    if sys.argv[2] == "waits":
        time.sleep(60)
"""


def builder(tmp_path: Path, how: str) -> subprocess.Popen[str]:
    shutil.copy(MISBEHAVING, tmp_path / "wrk_nets.py")
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-c", BUILDER, str(tmp_path), how]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def left(tmp_path: Path) -> list[str]:
    return sorted(file.name for file in (tmp_path / "tmp").glob("torchrecorder-*"))


def test_a_builder_that_ignores_its_children(tmp_path: Path) -> None:
    said, _ = builder(tmp_path, "ignores").communicate(timeout=120)
    assert said == "drawn\n"
    assert not left(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_builder_that_is_killed_leaves_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    with builder(tmp_path, "waits") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "drawn\n"
        assert left(tmp_path)
        process.send_signal(number)
    deadline = time.monotonic() + 30
    while left(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left(tmp_path)
