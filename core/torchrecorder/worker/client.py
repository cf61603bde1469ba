"""The only way from a build to torch: a process of its own that records, because a documentation build must not.

A forward of torch before a fork hangs the child, and Sphinx forks its readers and writers. So the builder starts
`torchrecorder.worker.server` on the first miss, sends it as many jobs as there are processors, and closes it at the end
of the batch.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from torchrecorder.cache.index import StampedIndex, stamp_of
from torchrecorder.cache.store import Store
from torchrecorder.errors import (
    OUT_OF_MEMORY,
    TorchMissing,
    TorchRecorderError,
    WorkerCrashed,
    WorkerError,
    WorkerNotStarted,
    WorkerTimeout,
)
from torchrecorder.processes import LineProcess, import_path, tail
from torchrecorder.request import RecordingRequest
from torchrecorder.request.requests import SHARE_BYTES, TRIAL_BYTES
from torchrecorder.request.settings import MEMORY_BYTES, Settings
from torchrecorder.request.stylers import StylerRequest
from torchrecorder.trace.environment import FIXED_ENVIRONMENT
from torchrecorder.trace.ownership import foreign_path
from torchrecorder.worker.messages import FILLED, Answer, Job

Request = RecordingRequest | StylerRequest
RequestT = TypeVar("RequestT", bound=Request)

START_TIMEOUT_S = 180.0
"""Seconds that importing torch may take; a cold disk on a shared machine needs a minute."""
_WAITS = 8
"""Times the seconds of a trial, which are those that it computes, until it counts as hanging: on a machine with ten
times as many processes as processors it gets as long by the clock as any other recording."""
_GRACE_S = 30.0
"""Seconds beyond a job's own time-out until its answer is given up, and the whole process with it."""
_ASK = "import json, platform, sys; print(json.dumps([sys.path, platform.python_version()]))"
_ASK_LIMIT_S = 60
"""Seconds that another Python may take to start and say where it imports from, on a cold disk too."""
_FORKS = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class _Sent:
    """A job that is in the process."""

    request: Request
    timeout_s: float
    log: Path
    start: float  # by the clock of `time.monotonic`
    has_share: bool  # whether it may fill only a part of what a trial may


class Worker(AbstractContextManager["Worker"]):
    """Records requests in another process; a context manager that ends the process. Not thread-safe."""

    def __init__(
        self,
        path: Sequence[str],
        *,
        python: str = "",
        memory_bytes: int | None = MEMORY_BYTES,
        forks: bool = _FORKS,
        jobs: int = 0,
        allow: Sequence[str] = (),
    ) -> None:
        """`allow` says whose functions targets may call.

        `jobs` is how many run at once: 0 as many as there are processors, always 1 where nothing can be forked.
        """
        self._path = list(path)
        self._python = python
        self._memory_bytes = memory_bytes
        self._allow = tuple(allow)
        self._forks = forks  # whether one process serves all jobs
        self._at_once = (jobs or processors()) if forks else 1
        self._number = 0
        self._sent: dict[int, _Sent] = {}  # the jobs that are in the process, by number
        self._waiting: deque[Any] = deque()  # requests that no job has been sent for
        self._alone: deque[Request] = deque()  # the process died while they and others were in it
        self._timeouts_s: dict[Any, float] = {}
        self._trials: set[Any] = set()
        """Requests that may take as much memory as a trial, and no more seconds than they are given."""
        self._answers: dict[Any, Answer] = {}  # answers that came before they were asked for
        self._is_ahead = False  # whether it was given requests before it is known which there are in all
        self._needs_compiler = False
        """Whether a job has loaded torch's compiler, as the next ones then may, too."""
        self._shared: frozenset[str] = frozenset()
        self._build = 0
        self._environment: Mapping[str, str] | None = None  # that of the build; that of now if none has begun
        self._process: LineProcess | None = None
        self._is_greeted = False
        self._absent: WorkerError | None = None  # the reason why no process can be started here
        self._problem: TorchRecorderError | None = None
        """The reason why one that was started can record nothing; it can ask a styler, which may need no torch."""
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """A worker as the settings say."""
        return cls(
            settings.path,
            python=settings.python,
            memory_bytes=settings.memory_bytes,
            jobs=settings.jobs,
            allow=settings.allow,
        )

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._end_process()
        for known in (self._sent, self._waiting, self._alone, self._timeouts_s, self._trials, self._answers):
            known.clear()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.is_running

    def start(self) -> None:
        """Start the process without waiting for it, so that it imports torch while others work; raises OSError."""
        if self._process is None:
            folder = self._folder()
            once = [] if self._forks else ["--once"]
            command = [self._python or sys.executable, "-P", "-m", "torchrecorder.worker.server", str(folder), *once]
            self._process = LineProcess(command, environment(self._python, folder), folder / "worker.log")
            self._is_greeted = False

    def expect(self, requests: Iterable[RecordingRequest], trials: Iterable[RecordingRequest] = ()) -> None:
        """Begin a build, given what it will ask, so that a package that several requests share is imported once.

        `trials` are those of what is asked that may take little time and memory.
        """
        for request in self._trials.difference(trials := {*trials}):  # a page names it, too: it may take what it needs
            if request in self._answers and isinstance(self._answers[request].error, WorkerError):
                del self._answers[request]
        self._trials = trials
        self._begin_build()
        self._is_ahead = False
        counted = Counter(request.root_module() for request in requests)
        self._shared = frozenset(package for package, count in counted.items() if count > 1)

    def _begin_build(self) -> None:
        """Take the environment as it is now for all jobs of a build that has not begun.

        What is imported for the pages sets variables, so that jobs behind would need a package imported anew.
        """
        if not self._is_ahead:
            self._build += 1
            self._environment = {**os.environ}

    def record(self, request: Request, *, timeout_s: float) -> Answer:
        """The answer to one request; whatever happens to the process becomes its error."""
        ((_, answer),) = self.record_all({request: timeout_s})
        return answer

    def submit(self, request: RecordingRequest, timeout_s: float, *, is_trial: bool = False) -> None:
        """Have a request recorded while the builder does other things; `record_all` gives the answer."""
        if is_trial:
            self._trials.add(request)
        if request not in self._timeouts_s:
            self._begin_build()
            self._is_ahead = True
            self._timeouts_s[request] = timeout_s
            self._waiting.append(request)
        self.advance()

    def advance(self) -> None:
        """Send what can be sent, and take answers that are there, without waiting for any."""
        try:
            self.start()
        except OSError:  # it is raised again where the answers are asked for
            return
        while self._process is not None and (self._is_greeted or self._process.has_line()):
            self._answers |= dict(self._fill(lambda request: None))
            if self._process is None or not self._sent or not self._process.has_line():
                return
            answered, lost = self._receive()
            self._answers |= dict(answered)
            self._alone.extend(lost)

    def record_all(
        self, requests: Mapping[RequestT, float], on_start: Callable[[RequestT], object] = lambda request: None
    ) -> Iterator[tuple[RequestT, Answer]]:
        """Record requests, several at once, each with its time-out in seconds; the answers come as they are ready.

        Those that lie in one package go one after the other, and in it those of a module, since a process that has
        imported it serves them.
        """
        self._timeouts_s = {**requests}
        self._alone = deque(request for request in self._alone if request in requests)
        begun = {*self._answers, *self._alone, *(sent.request for sent in self._sent.values())}
        others = (request for request in requests if request not in begun)
        first: dict[str, int] = {}
        # in their order, but those of a package, and in it of a module, behind the first of them
        holders = {it: (it.root_module(), it.target.partition("(")[0].rpartition(".")[0]) for it in others}
        for names in holders.values():
            for name in names:
                first.setdefault(name, len(first))
        self._waiting = deque(sorted(holders, key=lambda it: [first[name] for name in holders[it]]))
        for request in requests:
            if request in begun:
                on_start(request)
        early, self._answers = self._answers, {}
        yield from ((request, answer) for request, answer in early.items() if request in requests)
        while self._waiting or self._alone or self._sent:
            yield from self._fill(on_start)
            if self._sent:
                answered, lost = self._receive()
                yield from ((request, answer) for request, answer in answered if request in requests)
                self._alone.extend(lost)
        self._environment = None

    def _fill(self, on_start: Callable[[Any], object]) -> Iterator[tuple[Any, Answer]]:
        """Send as many jobs as run at once; the answers of those that cannot be sent."""
        while (self._alone or self._waiting) and len(self._sent) < (1 if self._is_alone() else self._at_once):
            is_again = bool(self._alone)
            request = (self._alone or self._waiting).popleft()
            if not is_again:
                on_start(request)
            if (failed := self._send(request, self._timeouts_s[request], is_alone=is_again)) is not None:
                yield request, failed

    def _is_alone(self) -> bool:
        """Whether nothing else may run beside what is in the process or comes next."""
        whole = (sent for sent in self._sent.values() if sent.request in self._trials and not sent.has_share)
        return bool(self._alone) or any(True for _ in whole)

    def _send(self, request: Request, timeout_s: float, *, is_alone: bool) -> Answer | None:
        """Send a job; the answer, if it cannot be."""
        self._number += 1
        package = request.root_module()
        is_trial = request in self._trials
        has_share = is_trial and self._at_once > 1 and not is_alone
        limit_s = timeout_s * (_WAITS if is_trial else 1)
        is_used = self._is_greeted
        try:
            log = self._folder() / f"{self._number}.job.log"
            job = Job(
                request,
                tuple(self._path if not self._python else foreign_path(self._path)),
                {**(self._environment or os.environ), **FIXED_ENVIRONMENT},
                package if self._is_ahead or is_trial or package in self._shared else "",
                self._build,
                self._memory_bytes,
                limit_s,
                str(log),
                self._number,
                self._allow,
                self._needs_compiler or request.run == "fake",
                timeout_s if is_trial else 0.0,
                (SHARE_BYTES if has_share else TRIAL_BYTES) if is_trial else 0,
            )
            self._started(request).send(job.to_json())
        except WorkerError as error:
            return Answer(error=error)
        except EOFError:
            how = self._end_process()
            if not is_used:
                return Answer(error=WorkerCrashed(request.target, how))
            self._alone.extend([*self._lost(), request])  # it died of another job, or of none
            return None
        except OSError as error:  # of this machine: a full disk, no more processes
            self._end_process()
            self._alone.extend(self._lost())
            return Answer(error=WorkerCrashed(request.target, f"it could not be started: {error}"))
        self._sent[self._number] = _Sent(request, limit_s, log, time.monotonic(), has_share)
        return None

    def _lost(self) -> list[Request]:
        """The jobs that were in a process that has ended, of those that are still wanted."""
        jobs, self._sent = [*self._sent.values()], {}
        return [sent.request for sent in jobs if sent.request in self._timeouts_s]

    def _receive(self) -> tuple[list[tuple[Any, Answer]], list[Request]]:
        """The next answer, or those of all jobs if the process ended; and the jobs to be tried again, one by one."""
        assert self._process is not None
        # Jobs wait for one another where memory is short, so all their times together are the limit. One whose package
        # starts threads may run twice.
        limit = (2 if self._forks else 1) * sum(sent.timeout_s for sent in self._sent.values())
        limit += _GRACE_S if self._forks else 0.0
        error: Callable[[_Sent], WorkerError]
        try:
            answer = Answer.from_json(self._process.next(limit))
            sent = self._sent.pop(answer.job)
        except TimeoutError:
            self._end_process()
            error = lambda sent: WorkerTimeout(sent.request.target, sent.timeout_s, tail(sent.log))  # noqa: E731
        except (EOFError, OSError, ValueError, KeyError, TypeError, AttributeError) as ended:
            how = self._end_process()
            if not isinstance(ended, EOFError | OSError):
                how = "its code wrote to descriptors that it did not open"
            error = lambda sent: WorkerCrashed(sent.request.target, how, tail(sent.log))  # noqa: E731
        else:
            if isinstance(answer.error, WorkerCrashed | WorkerTimeout) and not answer.error.log:
                answer.error.log = tail(sent.log)  # read here, where no trace takes it for the model's doing
            sent.log.unlink(missing_ok=True)
            self._needs_compiler = self._needs_compiler or answer.needed_compiler
            if not self._forks or self._problem is not None:
                self._end_process()
            if sent.has_share and _wants_memory(answer.error):
                return [], [sent.request]
            return [(sent.request, replace(answer, seconds=time.monotonic() - sent.start))], []
        if len(self._sent) > 1:
            return [], self._lost()
        _, sent = self._sent.popitem()
        return [(sent.request, Answer(error=error(sent)))], []

    def _folder(self) -> Path:
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="torchrecorder-")
        folder = Path(self._scratch.name)
        if not folder.is_dir():  # a model tidied up, or a program that does so for a server that runs for days
            folder.mkdir(mode=0o700)
            environment(self._python, folder)
        return folder

    def _started(self, request: Request) -> LineProcess:
        """The process, once it is ready; raises WorkerError if it cannot record, now or when it was tried before."""
        is_recording = isinstance(request, RecordingRequest)
        # starting a Python for each of a hundred diagrams takes a minute
        if not self._is_greeted and self._absent is None and not (is_recording and self._problem):
            try:
                self._greet(request.target)
            except WorkerError as error:
                self._absent = error
        if (why := self._absent or (self._problem if is_recording else None)) is not None:
            self._end_process()
            raise TorchRecorderError.from_json({**why.to_json(), "target": request.target})
        assert self._process is not None
        return self._process

    def _greet(self, target: str) -> None:
        """Start the process and wait until it is ready, or says why it can record nothing."""
        if self._process is None and self._python and shutil.which(self._python) is None:
            raise TorchMissing(target, self._python, "there is no such program")
        self.start()
        assert self._process is not None
        python = self._python or sys.executable
        try:
            self._problem = Answer.from_json(self._process.next(START_TIMEOUT_S)).error
        except TimeoutError:
            raise TorchMissing(target, python, f"importing it took longer than {START_TIMEOUT_S:g} s") from None
        except EOFError:
            log = self._folder() / "worker.log"
            raise WorkerNotStarted(target, python, self._end_process(), tail(log)) from None
        self._is_greeted = True

    def _end_process(self) -> str:
        if self._process is None:
            return "it did not start"
        process, self._process, self._is_greeted = self._process, None, False
        return process.end()


def _wants_memory(error: TorchRecorderError | None) -> bool:
    said = "" if error is None else f"{error}\n{error.details()}"
    return any(text in said for text in (FILLED, *OUT_OF_MEMORY))


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def environment(python: str, folder: Path) -> dict[str, str]:
    """The builder's environment for a process that imports torchrecorder, with what every recording runs with.

    For another `python` than that of the build, `folder` holds a link to the package as long as the process lives.
    """
    package = Path(__file__).resolve().parents[1]
    own = package.parent
    if python:  # a folder that holds nothing else that is installed beside torchrecorder
        own = folder / "own"
        own.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            try:
                (own / package.name).symlink_to(package, target_is_directory=True)
            except OSError:  # Windows lets only some users make links
                shutil.copytree(package, own / package.name)
    return {**os.environ, **FIXED_ENVIRONMENT, "PYTHONPATH": import_path(str(own))}


def ask(python: str, machine: Store) -> tuple[list[str], str] | None:
    """The path and the version of another Python than that of the build; None if it cannot be asked.

    The cache of this machine keeps the answer, so that a build that has nothing to record starts no process.
    """
    program = shutil.which(python)
    stamp = None if program is None else stamp_of(program)
    if program is None or stamp is None:
        return None
    index = StampedIndex(machine, "interpreters.json")
    if (known := index.get(program, stamp)) is not None and [*map(stamp_of, known["path"])] == known["stamps"]:
        return list(known["path"]), str(known.get("version", ""))
    command = [program, "-P", "-c", _ASK]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=_ASK_LIMIT_S, stdin=subprocess.DEVNULL)
        path, version = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    path = [entry for entry in path if entry]
    index.put(program, stamp, {"path": path, "stamps": [*map(stamp_of, path)], "version": version})
    index.save()
    return path, version
