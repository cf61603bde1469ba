"""What one job may not do to the next: memory, descriptors, native code, and the package that several jobs share."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from torchrecorder.errors import ForwardError, TargetImportFailed, TorchMissing, WorkerCrashed, WorkerTimeout
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Worker
from torchrecorder.worker.messages import Answer

pytestmark = pytest.mark.usefixtures("real_processes")

MISBEHAVING = Path(__file__).parents[2] / "models" / "misbehaving.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limits")
    shutil.copy(MISBEHAVING, folder / "lim_nets.py")
    package = folder / "lim_pkg"
    package.mkdir()
    (package / "__init__.py").write_text("from lim_pkg.nets import A, B, C\nIMPORTS = 'x'\n")
    (package / "nets.py").write_text(
        "import os, time\nfrom torch import nn\n"
        "with open(os.environ['LIM_COUNT'], 'a') as count: count.write('x')\n"
        "class A(nn.Linear):\n    def __init__(self): super().__init__(3, 2)\n"
        "class B(A): pass\nclass C(A): pass\n"
    )
    return folder


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[Worker]:
    with Worker([str(folder)]) as worker:
        yield worker


def ask(worker: Worker, target: str, timeout_s: float = 60) -> Answer:
    """The answer for a model run on real numbers: by shapes alone, hoarding would cost nothing."""
    return worker.record(RecordingRequest(target, "1,3", run="real"), timeout_s=timeout_s)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("Hoards", ForwardError, "MemoryError"),
        ("HoardsTensor", ForwardError, "can't allocate memory"),
        ("Closes", WorkerCrashed, "closed the descriptors"),
        ("Native", WorkerTimeout, "longer than 2 s"),
        ("Unsaid", (ForwardError, WorkerCrashed), "no words"),
        ("Stops", WorkerCrashed, "sys.exit(None)"),
    ],
)
def test_each_is_an_error_of_its_own(
    worker: Worker, name: str, kind: type[Exception] | tuple[type[Exception], ...], words: str
) -> None:
    error = ask(worker, f"lim_nets.{name}", timeout_s=2 if name == "Native" else 60).error
    assert isinstance(error, kind), error
    assert words in str(error) + error.details()
    assert ask(worker, "lim_nets.Net").error is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory is left")
def test_a_forward_that_fills_the_memory_is_stopped_before(folder: Path) -> None:
    """Once: with gradients it would take no less."""
    with Worker([str(folder)], memory_bytes=4 << 30) as worker:
        error = ask(worker, "lim_nets.Keeps").error
        assert isinstance(error, ForwardError), error
        assert re.match(
            r"MemoryError: it keeps \d[.\d]* .iB of the \d[.\d]* .iB of memory that were left,"
            r" after \d+ operations, the last of them (linear|zeros|add)$",
            error.cause,
        )
        assert error.origin == f"lim_nets.py:{_line_of('kept.append')}"
        assert error.hint() == "inputs of a smaller shape take less; `run: fake` follows shapes only, which takes none"
        assert (folder / "lim_keeps").read_text() == "x"
        assert ask(worker, "lim_nets.Net").error is None


def _line_of(text: str) -> int:
    return next(i for i, line in enumerate(MISBEHAVING.read_text().splitlines(), 1) if text in line)


def test_a_result_that_no_json_holds_is_recorded(worker: Worker) -> None:
    assert ask(worker, "lim_nets.Unserialisable").error is None
    assert ask(worker, "lim_nets.Net").error is None


class Counted:
    def __init__(self, file: Path, worker: Worker) -> None:
        self.file = file
        self.worker = worker
        file.write_text("")

    def imports(self, *targets: str) -> int:
        """How often the package was imported to record the targets."""
        self.worker.expect([RecordingRequest(target, "1,3") for target in targets])
        before = len(self.file.read_text())
        for target in targets:
            answer = ask(self.worker, target)
            assert answer.error is None, answer.error
            assert answer.trace is not None
            assert "lim_pkg.nets" in answer.trace.modules
        return len(self.file.read_text()) - before


@pytest.fixture
def counted(worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    monkeypatch.setenv("LIM_COUNT", str(tmp_path / "count"))
    return Counted(tmp_path / "count", worker)


@pytest.mark.skipif(os.name == "nt", reason="has no fork")
def test_a_shared_package_is_imported_once(counted: Counted, folder: Path) -> None:
    assert counted.imports("lim_pkg.A", "lim_pkg.B", "lim_pkg.C") == 1
    assert counted.imports("lim_pkg.A") == 1, "nothing is shared"
    (folder / "lim_pkg" / "nets.py").write_text((folder / "lim_pkg" / "nets.py").read_text() + "# edited\n")
    assert counted.imports("lim_pkg.A", "lim_pkg.B") == 1, "the layer was dropped with the edit"


def test_jobs_of_a_layer_depend_on_what_they_depend_on_alone(counted: Counted) -> None:
    counted.worker.expect([])
    alone = ask(counted.worker, "lim_pkg.B").trace
    counted.worker.expect([RecordingRequest("lim_pkg.A"), RecordingRequest("lim_pkg.B")])
    ask(counted.worker, "lim_pkg.A")
    assert ask(counted.worker, "lim_pkg.B").trace == alone


def test_a_package_that_cannot_be_imported_tells_each_job(worker: Worker, folder: Path) -> None:
    for name, text in (("lim_raises", "raise ValueError('no')"), ("lim_exits", "import os; os._exit(5)")):
        (folder / f"{name}.py").write_text(text)
        worker.expect([RecordingRequest(f"{name}.A"), RecordingRequest(f"{name}.B")])
        for target in (f"{name}.A", f"{name}.B"):
            error = ask(worker, target).error
            assert isinstance(error, TargetImportFailed if name == "lim_raises" else WorkerCrashed)
    worker.expect([])
    assert ask(worker, "lim_nets.Net").error is None


def test_a_death_in_a_layer_harms_nobody(worker: Worker, folder: Path) -> None:
    worker.expect([RecordingRequest("lim_nets.Net"), RecordingRequest("lim_nets.Closes")])
    assert isinstance(ask(worker, "lim_nets.Closes").error, WorkerCrashed)
    assert isinstance(ask(worker, "lim_nets.Native", timeout_s=2).error, WorkerTimeout)
    assert ask(worker, "lim_nets.Net").error is None


BAD = {
    "Exits": "exit status 3",
    "Stops": "sys.exit(None)",
    "Falls": "signal SIGSEGV",
    "Loops": "longer than 2 s",
    "Native": "longer than 2 s",
    "Hoards": "MemoryError",
    "Interrupts": "KeyboardInterrupt",
    "Recurses": "RecursionError",
    "Closes": "closed the descriptors",
}
GOOD = ("Net", "Leaves", "Unserialisable")


@pytest.mark.skipif(os.name == "nt", reason="has no fork")
@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "in a layer"])
def test_one_after_the_other(worker: Worker, is_shared: bool) -> None:
    """Every kind of bad manners in one build, with a good job after each."""
    requests = [RecordingRequest(f"lim_nets.{name}") for name in (*BAD, *GOOD)]
    worker.expect(requests if is_shared else [])
    for name, words in BAD.items():
        error = ask(worker, f"lim_nets.{name}", timeout_s=2 if "longer" in words else 60).error
        assert error is not None, name
        assert words in str(error) + error.details()
        assert ask(worker, "lim_nets.Net").error is None, name
    for name in GOOD:
        assert ask(worker, f"lim_nets.{name}").error is None
    assert ask(worker, "lim_nets.Net").error is None


KILLED = """
import sys
from torchrecorder.worker.client import Worker
from torchrecorder.request import RecordingRequest
worker = Worker([sys.argv[1]])
requests = [RecordingRequest(f"lim_nets.{name}", "1,3", run="real") for name in ("Net", "LeavesAndLoops")]
worker.expect(requests)
for request in requests:
    worker.record(request, timeout_s=600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_orphan_of_a_layer_stays_when_the_builder_is_killed(folder: Path, tmp_path: Path) -> None:
    """Neither the worker, nor the layer, nor the job, nor what the job forked."""
    mark = tmp_path / "running"
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "LIM_COUNT": str(mark)}
    builder = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], env=environment)
    assert _comes(mark.exists)
    assert len(_marked(mark)) >= 4
    builder.kill()
    builder.wait()
    assert _comes(lambda: not _marked(mark)), _marked(mark)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "in a layer"])
def test_no_orphan_stays_when_the_worker_is_killed(folder: Path, tmp_path: Path, is_shared: bool) -> None:
    """The kernel kills its jobs; what they have started is ended by the builder."""
    mark = tmp_path / "running"
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "LIM_COUNT": str(mark)}
    code = KILLED if is_shared else KILLED.replace("worker.expect(requests)\n", "")
    command = [sys.executable, "-c", code + "print('over', flush=True)\nsys.stdin.read()\n", str(folder)]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as builder:
        assert _comes(mark.exists)
        worker = Path(f"/proc/{builder.pid}/task/{builder.pid}/children").read_text().split()
        os.kill(int(worker[0]), signal.SIGKILL)
        assert builder.stdout is not None
        assert builder.stdout.readline() == b"over\n"
        assert _comes(lambda: _marked(mark) == [str(builder.pid)]), _marked(mark)


def _comes(what: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not what() and time.monotonic() < deadline:
        time.sleep(0.05)
    return what()


def _marked(mark: Path) -> list[str]:
    """The processes that have our mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(mark).encode() in (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


def test_no_place_for_temporary_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "no such folder"))
    with Worker([str(folder)]) as worker:
        error = ask(worker, "lim_nets.Net").error
    assert isinstance(error, WorkerCrashed)
    assert "it could not be started: " in str(error)


def test_another_python(folder: Path, tmp_path: Path) -> None:
    """A second environment that has torch but not torchrecorder."""
    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (site / "torch.pth").write_text(str(Path(torch.__file__).parents[1]))
    with Worker([*sys.path, str(folder)], python=str(python)) as worker:
        answer = ask(worker, "lim_nets.Net")
    assert answer.error is None, answer.error
    assert answer.trace is not None
    assert "lim_nets" in answer.trace.modules


def test_another_python_that_is_none(folder: Path, tmp_path: Path) -> None:
    with Worker([str(folder)], python=str(tmp_path / "python")) as worker:
        error = ask(worker, "lim_nets.Net").error
    assert isinstance(error, TorchMissing)
    assert "there is no such program" in str(error)
