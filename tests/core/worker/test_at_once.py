"""Several jobs at once: they overlap, none waits for or harms another, and what they cost is theirs."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from torchrecorder.errors import TorchRecorderError, WorkerCrashed, WorkerTimeout
from torchrecorder.processes import LineProcess, descendants
from torchrecorder.request import RecordingRequest
from torchrecorder.worker import serving
from torchrecorder.worker.client import Worker, processors
from torchrecorder.worker.messages import Answer

pytestmark = [
    pytest.mark.usefixtures("real_processes"),
    pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only"),
]

NETS = '''
import os, time
from pathlib import Path
from torch import nn

class Net(nn.Linear):
    def __init__(self, width=2):
        super().__init__(3, width)

class Meets(Net):
    """Can be built only while another one is being built in another process."""

    def __init__(self, me, other):
        super().__init__()
        place = Path(os.environ["ONCE_FOLDER"])
        (place / me).touch()
        until = time.monotonic() + 50
        while not (place / other).exists():
            assert time.monotonic() < until, "the other did not come"
            time.sleep(0.01)

class Sleeps(Net):
    def __init__(self):
        super().__init__()
        time.sleep(600)

class Naps(Net):
    def __init__(self):
        super().__init__()
        time.sleep(1)

class Dies(Net):
    def __init__(self):
        os._exit(3)

class KillsWorker(Net):
    def __init__(self):
        super().__init__()
        once = Path(os.environ["ONCE_FOLDER"]) / "killed"
        if not once.exists():
            once.touch()
            os.kill(int(os.environ["ONCE_WORKER"]), 9)
            time.sleep(600)

class Prints(Net):
    def __init__(self, what):
        print(what * 3, flush=True)
        os._exit(4)
'''


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    (tmp_path / "once_nets.py").write_text(NETS)
    (tmp_path / "once_other.py").write_text("from once_nets import *\n")
    monkeypatch.setenv("ONCE_FOLDER", str(tmp_path))
    with Worker([str(tmp_path)], jobs=2) as worker:
        yield worker


def ask(worker: Worker, *targets: str, timeout_s: float = 60, **options: str) -> dict[str, Answer]:
    requests = [RecordingRequest(f"once_nets.{target}", "1,3", **options) for target in targets]  # type: ignore[arg-type]
    return {r.target.partition(".")[2]: it for r, it in worker.record_all(dict.fromkeys(requests, timeout_s))}


def kill(worker: Worker) -> None:
    """Kill the process, as a system that is out of memory does, with all that it has forked."""
    assert worker._process is not None
    pid = worker._process._process.pid
    for one in (pid, *descendants(pid)):
        os.kill(one, signal.SIGKILL)
    while worker.is_running:
        time.sleep(0.01)


def errors(answers: dict[str, Answer]) -> dict[str, TorchRecorderError | None]:
    return {name: answer.error for name, answer in answers.items()}


@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "in a layer"])
def test_two_run_at_once(worker: Worker, is_shared: bool) -> None:
    pair = ("Meets('a', 'b')", "Meets('b', 'a')")
    worker.expect([RecordingRequest(f"once_nets.{name}") for name in pair] if is_shared else [])
    assert errors(ask(worker, *pair)) == dict.fromkeys(pair)


def test_packages_of_their_own_run_at_once(worker: Worker) -> None:
    requests = [
        RecordingRequest(f"{package}.{net}", "1,3")
        for package, nets in (("once_nets", ("Net", "Meets('a', 'b')")), ("once_other", ("Meets('b', 'a')", "Net")))
        for net in nets
    ]
    worker.expect(requests)
    answers = dict(worker.record_all(dict.fromkeys(requests, 60.0)))
    assert [answers[request].error for request in requests] == [None] * 4


@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "in a layer"])
def test_each_has_an_end_of_its_own(worker: Worker, is_shared: bool) -> None:
    targets = ("Sleeps", "Dies", "Net", "Prints('one')", "Prints('two')", "Net(5)")
    worker.expect([RecordingRequest(f"once_nets.{name}") for name in targets] if is_shared else [])
    found = errors(ask(worker, *targets, timeout_s=5))
    assert isinstance(found["Sleeps"], WorkerTimeout)
    assert isinstance(found["Dies"], WorkerCrashed)
    for word in ("one", "two"):
        error = found[f"Prints('{word}')"]
        assert isinstance(error, WorkerCrashed)
        assert error.details() == word * 3
    assert (found["Net"], found["Net(5)"]) == (None, None)


def test_the_death_of_the_worker_is_of_none_that_was_in_it_with_others(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(worker, "Net")["Net"].error is None
    assert worker._process is not None
    monkeypatch.setenv("ONCE_WORKER", str(worker._process._process.pid))
    assert errors(ask(worker, "KillsWorker", "Net(4)", "Net(5)")) == dict.fromkeys(("KillsWorker", "Net(4)", "Net(5)"))


@pytest.mark.parametrize("others", [(), ("Net(6)",)], ids=["nothing waits", "one waits"])
def test_the_death_of_the_worker_while_a_job_is_sent_is_of_none_either(worker: Worker, others: tuple[str, ...]) -> None:
    """What was in it then is neither lost nor waited for, and the job that could not be sent is not to blame."""
    targets = ("Net(4)", "Net(5)", "Naps", *others)
    requests = {RecordingRequest(f"once_nets.{name}", "1,3"): 20.0 for name in targets}
    assert ask(worker, "Net")["Net"].error is None
    begun: list[str] = []

    def end_process(request: RecordingRequest) -> None:
        begun.append(request.target)
        if request.target.endswith("Naps"):  # another job is in the process
            kill(worker)

    start = time.monotonic()
    answers = dict(worker.record_all(requests, end_process))
    assert [answers[request].error for request in requests] == [None] * len(requests)
    assert len(begun) == len(requests), "each begins once"
    assert time.monotonic() - start < 20


def test_the_death_of_a_worker_with_nothing_in_it_is_not_of_the_next_job(worker: Worker) -> None:
    assert ask(worker, "Net")["Net"].error is None
    kill(worker)
    assert ask(worker, "Net(4)")["Net(4)"].error is None


def test_a_job_that_no_process_takes_has_an_answer(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(process: LineProcess, job: object) -> None:
        raise EOFError

    monkeypatch.setattr(LineProcess, "send", end)
    assert isinstance(ask(worker, "Net")["Net"].error, WorkerCrashed)


def test_a_job_that_cannot_be_written_costs_only_itself(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one whose log cannot be made: the others that are in the process then are recorded again."""
    real = LineProcess.send

    def refuse(process: LineProcess, job: Mapping[str, Any]) -> None:
        if job["request"]["target"].endswith("Net(5)"):
            raise OSError(28, "No space left on device")
        real(process, job)

    monkeypatch.setattr(LineProcess, "send", refuse)
    found = errors(ask(worker, "Naps", "Net(5)", "Net(6)"))
    assert (found["Naps"], found["Net(6)"]) == (None, None)
    assert "No space left" in str(found["Net(5)"])


def test_one_that_kills_the_worker_by_itself(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(worker, "Net")["Net"].error is None
    assert worker._process is not None
    monkeypatch.setenv("ONCE_WORKER", str(worker._process._process.pid))
    error = ask(worker, "KillsWorker")["KillsWorker"].error
    assert isinstance(error, WorkerCrashed)
    assert "signal SIGKILL" in str(error)
    assert ask(worker, "Net")["Net"].error is None


def test_starts_are_in_order_and_those_of_a_package_together(worker: Worker) -> None:
    def begun(*targets: str) -> list[str]:
        names: list[str] = []
        asked = {RecordingRequest(target, "1,3"): 60.0 for target in targets}
        for _ in worker.record_all(asked, lambda request: names.append(request.target)):
            pass
        return names

    nets = "once_nets.Net(2)", "once_other.Net(2)", "once_nets.Net(3)", "once_other.Net(3)"
    assert begun(*nets) == [nets[0], nets[2], nets[1], nets[3]]
    paths = "a.x.One", "b.x.Two", "a.y.Three", "a.x.Four(b.c)", "a.y.Five"
    assert begun(*paths) == [paths[0], paths[3], paths[2], paths[4], paths[1]]


def test_a_module_that_its_package_does_not_import_is_imported_once(worker: Worker, tmp_path: Path) -> None:
    package = tmp_path / "once_package"
    (package / "deep").mkdir(parents=True)
    note = "import os; open(os.environ['ONCE_FOLDER'] + '/imports', 'a').write(__name__ + ' ')\n"
    (package / "__init__.py").write_text("")
    (package / "deep/__init__.py").write_text("")
    (package / "deep/nets.py").write_text(f"{note}from once_nets import *\n")
    (package / "other.py").write_text(f"{note}from once_nets import *\n")
    (package / "bad.py").write_text(f"{note}raise RuntimeError('bad')\n")
    names = ["deep.nets.Net(2)", "other.Net(4)", "bad.Net", "deep.nets.Net(3)", "other.Net(5)", "deep.nets.Dies"]
    requests = {RecordingRequest(f"once_package.{name}", "1,3"): 60.0 for name in names}
    worker.expect(requests)
    answers = {request.target.partition(".")[2]: it for request, it in worker.record_all(requests)}
    bad, died = answers["bad.Net"].error, answers["deep.nets.Dies"].error
    assert "RuntimeError: bad" in str(bad)
    assert isinstance(died, WorkerCrashed)
    good = {name: it for name, it in answers.items() if "Net(" in name}
    assert [it.error for it in good.values()] == [None] * 4
    imported = (tmp_path / "imports").read_text().split()
    assert (imported.count("once_package.deep.nets"), imported.count("once_package.other")) == (1, 1)
    for name, answer in good.items():  # each depends on its own modules alone
        assert answer.trace is not None
        others = {"deep.nets": "once_package.other", "other": "once_package.deep.nets"}
        assert others[name.partition(".Net")[0]] not in answer.trace.modules
        assert f"once_package.{name.partition('.Net')[0]}" in answer.trace.modules


def test_what_the_builder_imports_while_it_reads_has_no_package_imported_again(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "import os; open(os.environ['ONCE_FOLDER'] + '/imports', 'a').write(str(os.environ.get('ONCE_SET')))\n"
    (tmp_path / "once_again.py").write_text(f"{note}from once_nets import *\n")
    first, *others = (RecordingRequest(f"once_again.Net({width})", "1,3") for width in (2, 3, 4))
    worker.submit(first, 60.0)
    monkeypatch.setenv("ONCE_SET", "by a package that a page describes")
    for request in others:
        worker.submit(request, 60.0)
    worker.expect([first, *others])
    answers = dict(worker.record_all(dict.fromkeys([first, *others], 60.0)))
    assert [it.error for it in answers.values()] == [None] * 3
    assert (tmp_path / "imports").read_text() == "None"
    worker.expect([first])
    assert dict(worker.record_all({first: 60.0}))[first].error is None
    assert (tmp_path / "imports").read_text() == "Noneby a package that a page describes"


def test_where_memory_is_short_they_wait_for_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "left", lambda: 1 << 20)
    loop = serving.Serving(0, 1)
    assert loop._has_room()
    loop._parts[7] = type("Busy", (), {"is_busy": True})()
    assert not loop._has_room()
    monkeypatch.setattr(serving, "left", lambda: 1 << 40)
    assert loop._has_room()


def test_as_many_as_processors() -> None:
    assert Worker([])._at_once == processors() == len(os.sched_getaffinity(0))
    assert Worker([], forks=False, jobs=8)._at_once == 1


def test_an_ordinary_recording_loads_no_compiler(worker: Worker) -> None:
    """It takes as long as torch itself."""
    assert not ask(worker, "Net")["Net"].needed_compiler
    assert not ask(worker, "Net(3)", mode="train", recorder="classic")["Net(3)"].needed_compiler
    assert not worker._needs_compiler


def test_a_compiler_that_was_needed_is_loaded_for_all_that_follow(worker: Worker) -> None:
    assert ask(worker, "Net", run="fake")["Net"].needed_compiler
    worker._needs_compiler = False
    assert ask(worker, "Net(3)")["Net(3)"].needed_compiler, "the process that they are forked from has it"
