"""What the kernel reports of opened files, on a Linux that tells an unprivileged process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchrecorder.trace.readers import Opened


@pytest.fixture
def seen() -> list[tuple[str, bool]]:
    return []


@pytest.fixture
def opened(tmp_path: Path, seen: list[tuple[str, bool]]) -> Iterator[Opened]:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "data").write_text("x")
    found = Opened(lambda path, is_changed: seen.append((Path(path).name, is_changed)))
    found.start([str(tmp_path)])
    if not found.is_on:
        pytest.skip("the kernel reports no opened files here")
    yield found
    found.stop()


def open_in_c(path: Path) -> None:
    ctypes.CDLL(None).fopen(os.fsencode(path), b"r")


def test_what_any_thread_and_compiled_code_opens(opened: Opened, seen: list[object], tmp_path: Path) -> None:
    thread = threading.Thread(target=open_in_c, args=(tmp_path / "in" / "data",))
    thread.start()
    thread.join()
    opened.read()
    assert seen == [("data", False)]


def test_not_what_it_writes_or_another_process_opens(opened: Opened, seen: list[object], tmp_path: Path) -> None:
    (tmp_path / "written").write_text("x")
    open_in_c(tmp_path / "written")
    subprocess.run(["cat", str(tmp_path / "in" / "data")], check=True, capture_output=True)
    opened.read()
    assert seen == []


def test_what_another_process_writes_meantime(opened: Opened, seen: list[object], tmp_path: Path) -> None:
    open_in_c(tmp_path / "in" / "data")
    subprocess.run(["sh", "-c", f"echo y > {tmp_path}/in/data"], check=True)
    opened.read()
    assert seen == [("data", True)]


def test_a_forked_child_sees_its_own(opened: Opened, tmp_path: Path, seen: list[object]) -> None:
    pid = os.fork()
    if pid == 0:
        opened.follow()
        open_in_c(tmp_path / "in" / "data")
        opened.stop()
        os._exit(0 if seen == [("data", False)] else 1)
    assert os.waitpid(pid, 0)[1] == 0
    opened.read()
    assert seen == []


def test_a_queue_that_is_full_is_known(opened: Opened, tmp_path: Path) -> None:
    if (room := int(Path("/proc/sys/fs/fanotify/max_queued_events").read_text())) > 20000:
        pytest.skip("its room is too large to fill")
    for number in range(room + 100):
        (tmp_path / f"{number}").touch()
    opened.read()
    assert not opened.is_whole
