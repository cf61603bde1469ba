"""One bad model costs one diagram: what it writes, removes, starts and says reaches neither the next nor the page."""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchrecorder.errors import ForwardError, TorchRecorderError, WorkerCrashed, WorkerTimeout
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Worker
from torchrecorder.worker.messages import Answer

pytestmark = pytest.mark.usefixtures("real_processes")

MISBEHAVING = Path(__file__).parents[2] / "models" / "misbehaving.py"
THREADS = """
import torch
from torch import nn

torch.set_num_threads(4)
torch.randn(512, 512) @ torch.randn(512, 512)

class A(nn.Linear):
    def __init__(self): super().__init__(3, 2)

class B(A):
    pass
"""

IDLE_THREAD = """
import ctypes, os
from torch import nn

libc = ctypes.CDLL(None)
libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, libc.pause, None)
pid = os.getpid()

class Shares(nn.Linear):
    def __init__(self): super().__init__(3, 1234 if os.getpid() != pid else 4321)

class Dies(Shares):
    def __init__(self):
        if os.getpid() != pid: os._exit(3)
        super().__init__()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("behind")
    shutil.copy(MISBEHAVING, folder / "bad_nets.py")
    (folder / "bad_threads.py").write_text(THREADS)
    (folder / "bad_idle.py").write_text(IDLE_THREAD)
    return folder


@pytest.fixture(scope="module")
def mark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A text in the command of each process that models of this module start."""
    text = f"mark-{os.getpid()}-{time.time_ns()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIM_MARK", text)
        yield text


@pytest.fixture(scope="module")
def worker(folder: Path, mark: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
        patch.setenv("TMPDIR", str(tempfile.tempdir))
        with Worker([str(folder)]) as worker:
            yield worker


def ask(worker: Worker, name: str, timeout_s: float = 60) -> Answer:
    return worker.record(RecordingRequest(f"bad_nets.{name}", "1,3", run="real"), timeout_s=timeout_s)


def recorded(answer: Answer) -> str:
    assert answer.error is None, answer.error
    assert answer.graph is not None
    return answer.graph


def shown(error: TorchRecorderError | None) -> str:
    assert error is not None
    text = f"{error}\n{error.details()}"
    text.encode()
    return text


def test_texts_that_no_file_can_hold(worker: Worker) -> None:
    answer = ask(worker, "HalfPair")
    assert isinstance(answer.error, ForwardError)
    assert "ValueError: no file \N{REPLACEMENT CHARACTER}" in shown(answer.error)
    recorded(ask(worker, "HalfPairs"))


@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "in a layer"])
def test_writing_to_descriptors_that_are_not_its_own(worker: Worker, is_shared: bool) -> None:
    requests = [RecordingRequest(f"bad_nets.{name}", "1,3", run="real") for name in ("Scribbles", "Net")]
    worker.expect(requests if is_shared else [])
    answers = dict(worker.record_all(dict.fromkeys(requests, 60.0)))
    assert isinstance(answers[requests[0]].error, WorkerCrashed)
    assert "its code wrote to descriptors that it did not open" in shown(answers[requests[0]].error)
    recorded(answers[requests[1]])


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")
def test_writing_to_descriptors_without_fork(folder: Path) -> None:
    with Worker([str(folder)], forks=False) as worker:
        assert isinstance(ask(worker, "Scribbles").error, WorkerCrashed)
        recorded(ask(worker, "Net"))


def test_the_workers_temporary_folder_goes_away(worker: Worker) -> None:
    ask(worker, "Tidies")
    recorded(ask(worker, "Net"))
    error = ask(worker, "Segfaults").error
    assert isinstance(error, WorkerCrashed)
    assert "about to fall" in error.log, "there is a log again"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "in a layer"])
@pytest.mark.parametrize("name", ["LeavesDaemons", "DaemonsAndExits"])
def test_daemons_end_with_their_job(worker: Worker, mark: str, name: str, is_shared: bool) -> None:
    requests = [RecordingRequest(f"bad_nets.{one}", "1,3", run="real") for one in (name, "Net")]
    worker.expect(requests if is_shared else [])
    answers = dict(worker.record_all(dict.fromkeys(requests, 60.0)))
    assert (answers[requests[0]].error is None) is (name == "LeavesDaemons")
    assert alive(mark) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_daemons_end_with_the_build(folder: Path, mark: str) -> None:
    with Worker([str(folder)], forks=False) as worker:
        recorded(ask(worker, "LeavesDaemons"))
    deadline = time.monotonic() + 5
    while alive(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(mark) == []


def alive(mark: str) -> list[str]:
    """The commands of processes with the mark."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(words[-2].decode())
    return found


def test_a_package_that_computes_while_it_is_imported_hangs_no_job(worker: Worker) -> None:
    requests = [RecordingRequest(f"bad_threads.{name}", "1,3", run="real") for name in "AB"]
    worker.expect(requests)
    start = time.monotonic()
    for _, answer in worker.record_all(dict.fromkeys(requests, 60.0)):
        recorded(answer)
    assert time.monotonic() - start < 55, "a job waited for its time-out"


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")
def test_an_idle_thread_of_a_package_costs_no_second_import(worker: Worker) -> None:
    requests = [RecordingRequest(f"bad_idle.{name}", "1,3", run="real") for name in ("Shares", "Dies")]
    worker.expect(requests)
    answers = dict(worker.record_all(dict.fromkeys(requests, 60.0)))
    shares, dies = (answers[request] for request in requests)
    assert "1234" in recorded(shares)
    assert "4321" in recorded(dies), "without the thread it may have died for that, so it imports for itself"


def test_an_import_that_hangs_is_waited_for_once(worker: Worker, folder: Path) -> None:
    (folder / "bad_import.py").write_text("import time\ntime.sleep(600)\n")
    requests = [RecordingRequest(f"bad_import.Net{i}", "1,3") for i in range(20)]
    worker.expect(requests)
    start = time.monotonic()
    for _, answer in worker.record_all(dict.fromkeys(requests, 2.0)):
        assert isinstance(answer.error, WorkerTimeout)
    assert time.monotonic() - start < 18, "they waited one after the other, two at once"


def test_a_flood_of_prints_costs_no_memory_here(worker: Worker) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = ask(worker, "Floods").error
    assert isinstance(error, WorkerCrashed)
    assert 0 < len(error.log) <= 8000
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (
        1024 if sys.platform == "linux" else 1 << 20
    )
    assert grown < 100, "MiB"


def test_a_long_error_is_cut(worker: Worker) -> None:
    error = ask(worker, "Shouts").error
    assert isinstance(error, ForwardError)
    assert len(error.summary()) < 2500
    assert "…" in error.summary()
    assert "in forward" in error.details()
    assert len(shown(error)) < 60_000
    assert len(recorded_partly(worker)) < 100_000


def recorded_partly(worker: Worker) -> str:
    """The Graph of what ran before an error."""
    return ask(worker, "Shouts").graph or ""


def test_nothing_acts_in_a_terminal(worker: Worker) -> None:
    text = shown(ask(worker, "Clears").error)
    assert "[2J" in text
    assert not {"\x1b", "\x07", "\0", "\u202e"} & {*text}
