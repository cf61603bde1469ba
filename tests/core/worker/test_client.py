"""The process that records: one real worker, many ways to misbehave, and the next job is served."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchrecorder.errors import ForwardError, TorchMissing, WorkerCrashed, WorkerTimeout
from torchrecorder.graph import from_json
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Worker
from torchrecorder.worker.messages import Answer

pytestmark = pytest.mark.usefixtures("real_processes")

MISBEHAVING = Path(__file__).parents[2] / "models" / "misbehaving.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worker")
    shutil.copy(MISBEHAVING, folder / "wrk_nets.py")
    return folder


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[Worker]:
    with Worker([str(folder)]) as worker:
        yield worker


def ask(worker: Worker, name: str, shape: str = "1,3", timeout_s: float = 60) -> Answer:
    return worker.record(RecordingRequest(f"wrk_nets.{name}", shape), timeout_s=timeout_s)


def test_records_and_says_what_it_depended_on(worker: Worker, folder: Path) -> None:
    answer = ask(worker, "Net")
    assert answer.error is None
    assert answer.graph is not None
    assert "torch.nn.modules.linear.Linear" in {module.cls for module in from_json(answer.graph).modules.values()}
    assert answer.trace is not None
    assert answer.trace.modules == {"wrk_nets": str(folder / "wrk_nets.py")}
    assert answer.trace.executed is not None
    assert "Net.forward" in answer.trace.executed[str(folder / "wrk_nets.py")][1]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("Exits", "exit status 3"),
        ("SysExits", "its code called sys.exit(4)"),
        ("Interrupts", "KeyboardInterrupt"),
        ("Segfaults", "signal SIGSEGV"),
    ],
)
def test_a_death_is_told_and_the_next_job_served(worker: Worker, name: str, how: str) -> None:
    answer = ask(worker, name)
    assert isinstance(answer.error, WorkerCrashed)
    assert how in str(answer.error)
    assert answer.graph is None
    assert ask(worker, "Net").error is None


def test_what_it_printed_before_it_died_is_kept(worker: Worker) -> None:
    error = ask(worker, "Segfaults").error
    assert error is not None
    assert "about to fall" in error.details()
    assert "Segmentation fault" in error.details()


def test_an_endless_loop_is_stopped(worker: Worker) -> None:
    start = time.monotonic()
    error = ask(worker, "Loops", timeout_s=3).error
    assert isinstance(error, WorkerTimeout)
    assert "longer than 3 s" in str(error)
    assert "round and round" in error.details()
    assert time.monotonic() - start < 30
    assert ask(worker, "Net").error is None


@pytest.mark.parametrize("name", ["Prints", "LeavesThread", "Forks", "ChangesFolder"])
def test_bad_manners_change_nothing(worker: Worker, name: str) -> None:
    assert ask(worker, name).error is None
    assert ask(worker, "Net").error is None


def test_endless_recursion_is_an_error_of_the_forward(worker: Worker) -> None:
    error = ask(worker, "Recurses").error
    assert isinstance(error, ForwardError)
    assert "RecursionError" in error.cause


def test_a_wrong_shape_names_the_layer_and_gives_what_ran(worker: Worker) -> None:
    answer = ask(worker, "Net", shape="1,5")
    assert isinstance(answer.error, ForwardError)
    assert answer.error.layer == "fc (Linear)"
    assert "mat1 and mat2 shapes cannot be multiplied" in answer.error.cause
    assert answer.graph is not None
    assert from_json(answer.graph).info.failure is not None


def test_an_edit_is_seen_by_the_next_job(worker: Worker, folder: Path) -> None:
    file = folder / "wrk_edited.py"
    outputs = []
    for width in (2, 4):
        file.write_text(
            f"from torch import nn\n\nclass Net(nn.Linear):\n    def __init__(self): super().__init__(3, {width})\n"
        )
        answer = worker.record(RecordingRequest("wrk_edited.Net", "1,3"), timeout_s=60)
        assert answer.graph is not None, answer.error
        graph = from_json(answer.graph)
        meta = graph.values[graph.outputs[""][0]].meta
        assert meta is not None
        outputs.append(meta.shape)
    assert outputs == [(1, 2), (1, 4)]


def test_the_same_without_fork(folder: Path) -> None:
    with Worker([str(folder)], forks=False) as worker:
        assert ask(worker, "Net").error is None
        assert "exit status 3" in str(ask(worker, "Exits").error)
        assert isinstance(ask(worker, "Loops", timeout_s=5).error, WorkerTimeout)


def test_a_python_without_torch(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Worker([str(folder)]) as worker:
        error = ask(worker, "Net").error
    assert isinstance(error, TorchMissing)
    assert "No module named 'torch'" in str(error)
    assert "install torch there" in str(error)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_stays_when_the_builder_is_killed(folder: Path) -> None:
    script = (
        "from torchrecorder.worker.client import Worker; from torchrecorder.request import RecordingRequest;"
        f"worker = Worker([{str(folder)!r}]); worker.record(RecordingRequest('wrk_nets.Net', '1,3'), timeout_s=60);"
        "print(worker._process._process.pid, flush=True);"
        "worker.record(RecordingRequest('wrk_nets.Loops', '1,3'), timeout_s=600)"
    )
    path = os.pathsep.join(sys.path)
    builder = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert builder.stdout is not None
    with builder.stdout:
        worker = int(builder.stdout.readline())
    time.sleep(1)  # the endless job is running by now
    builder.kill()
    builder.wait()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists()
    assert not [
        process
        for process in Path("/proc").glob("[0-9]*/environ")
        if str(folder).encode() in _read(process.with_name("cmdline"))
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_stays_without_fork_when_the_builder_is_killed(folder: Path) -> None:
    script = (
        "from torchrecorder.worker.client import Worker; from torchrecorder.request import RecordingRequest;"
        f"worker = Worker([{str(folder)!r}], forks=False);"
        "worker.record(RecordingRequest('wrk_nets.Loops', '1,3'), timeout_s=600)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "WRK_BUILDER": str(folder)}
    builder = subprocess.Popen([sys.executable, "-c", script], env=environment)
    mark = f"WRK_BUILDER={folder}".encode()
    deadline = time.monotonic() + 60
    while not _at_its_job(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(_at_its_job(mark)) == 1
    builder.kill()
    builder.wait()
    deadline = time.monotonic() + 20
    while _at_its_job(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _at_its_job(mark)


def _at_its_job(mark: bytes) -> list[Path]:
    """The processes with a mark in their environment that write to the log of a job."""
    marked = [file.parent for file in Path("/proc").glob("[0-9]*/environ") if mark in _read(file)]
    return [process for process in marked if _output(process).endswith("job.log")]


def _output(process: Path) -> str:
    try:
        return os.readlink(process / "fd" / "1")
    except OSError:
        return ""


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
