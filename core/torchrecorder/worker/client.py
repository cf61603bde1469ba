"""The only way from a build to torch: a process of its own that records, because a documentation build must not.

A forward of torch before a fork hangs the child, and Sphinx forks its readers and writers. So the builder starts
`torchrecorder.worker.server` on the first miss, sends it one job at a time, and closes it at the end of the batch.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType

from torchrecorder.cache.index import Stamp, stamp_of
from torchrecorder.errors import (
    TorchMissing,
    TorchRecorderError,
    WorkerCrashed,
    WorkerError,
    WorkerNotStarted,
    WorkerTimeout,
)
from torchrecorder.line_process import LineProcess, tail
from torchrecorder.request import RecordingRequest
from torchrecorder.request.settings import MEMORY_BYTES, Settings
from torchrecorder.trace.manifest import FIXED_ENVIRONMENT
from torchrecorder.worker.interpreter import environment, foreign_path
from torchrecorder.worker.messages import Answer, Greeting, Job

START_TIMEOUT_S = 180.0
"""How long importing torch may take; a cold disk on a shared machine needs a minute."""
_GRACE_S = 30.0
"""How much longer than a job's own time-out its answer is waited for, before the whole process is given up."""
_FORKS = sys.platform == "linux"


class Worker:
    """Records requests in another process; a context manager that ends the process.

    Not thread-safe: one job runs at a time.
    """

    def __init__(
        self,
        path: Sequence[str],
        *,
        python: str = "",
        memory_bytes: int | None = MEMORY_BYTES,
        forks: bool = _FORKS,
    ) -> None:
        self._path = list(path)
        self._python = python
        self._memory_bytes = memory_bytes
        self._forks = forks  # whether one process serves all jobs
        self._shared: frozenset[str] = frozenset()
        self._build = 0
        self._process: LineProcess | None = None
        self._absent: WorkerError | None = None
        """Why no process can record here."""
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._end_process()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.is_running

    def expect(self, requests: Iterable[RecordingRequest]) -> None:
        """Begin a build, given what it will ask, so that a package that several requests share is imported once."""
        self._build += 1
        counted = Counter(request.root_module() for request in requests)
        self._shared = frozenset(package for package, count in counted.items() if count > 1)

    def record(self, request: RecordingRequest, *, timeout_s: float) -> Answer:
        """Record one request; whatever happens to the process becomes the answer's error."""
        try:
            log = self._folder() / "job.log"
            log.unlink(missing_ok=True)
            process = self._started(request)
            package = request.root_module()
            job = Job(
                request,
                tuple(self._path if not self._python else foreign_path(self._path)),
                {**os.environ, **FIXED_ENVIRONMENT},
                package if package in self._shared else "",
                self._build,
                self._memory_bytes,
                timeout_s,
                str(log),
            )
            answer = Answer.from_json(process.ask(job.to_json(), timeout_s + _GRACE_S if self._forks else timeout_s))
        except WorkerError as error:
            self._absent = error
            return Answer(error=error)
        except TimeoutError:
            self._end_process()
            return Answer(error=WorkerTimeout(request.target, timeout_s, tail(self._folder() / "job.log")))
        except EOFError:
            how = self._end_process()
            return Answer(error=WorkerCrashed(request.target, how, tail(self._folder() / "job.log")))
        except OSError as error:  # of this machine: a full disk, no more processes
            self._end_process()
            return Answer(error=WorkerCrashed(request.target, f"it could not be started: {error}"))
        if not self._forks:
            self._end_process()
        return answer

    def _folder(self) -> Path:
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="torchrecorder-")
        return Path(self._scratch.name)

    def _started(self, request: RecordingRequest) -> LineProcess:
        """The process, once it is ready.

        Raises:
            WorkerError: It cannot record, now or when it was tried before.
        """
        if self._absent is not None:  # starting a Python for each of a hundred diagrams takes a minute
            raise TorchRecorderError.from_json({**self._absent.to_json(), "target": request.target})
        if self._process is None:
            if self._python and shutil.which(self._python) is None:
                raise TorchMissing(request.target, self._python, "there is no such program")
            log = self._folder() / "worker.log"
            once = [] if self._forks else ["--once"]
            python = self._python or sys.executable
            command = [python, "-P", "-m", "torchrecorder.worker.server", *once]
            self._process = LineProcess(command, environment(self._python, self._folder()), log)
            try:
                problem = Greeting.from_json(self._process.next(START_TIMEOUT_S)).problem
            except TimeoutError:
                self._end_process()
                raise TorchMissing(
                    request.target, python, f"importing it took longer than {START_TIMEOUT_S:g} s"
                ) from None
            except EOFError:
                raise WorkerNotStarted(request.target, python, self._end_process(), tail(log)) from None
            if problem is not None:
                self._end_process()
                raise TorchRecorderError.from_json({**problem.to_json(), "target": request.target})
        return self._process

    def _end_process(self) -> str:
        if self._process is None:
            return "it did not start"
        process, self._process = self._process, None
        return process.end()


class PersistentWorker:
    """Opens the same worker for one build after the other. Not thread-safe.

    For a server that builds again at every edit, because importing torch takes seconds. What lasts is the process that
    imported torch and never computes; a preloaded process with the package of the user is of one build. The worker is
    replaced when something is installed or removed where it imports from, when the settings change, and after a build
    that found no torch. It ends with the server, whose end closes its standard input.
    """

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._made_for: object = None

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Worker]:
        now = (settings.path, settings.python, settings.memory_bytes, _stamps([*settings.path, *sys.path]))
        if self._worker is None or not self._worker.is_running or now != self._made_for:
            self.close()
            self._worker = Worker(settings.path, python=settings.python, memory_bytes=settings.memory_bytes)
            self._made_for = now
        yield self._worker

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def _stamps(path: Sequence[str]) -> dict[str, Stamp | None]:
    installed = [folder for folder in path if folder.rstrip(os.sep).endswith("-packages") and os.path.isdir(folder)]
    return {folder: stamp_of(folder) for folder in installed}


_here = threading.local()


def worker_of_thread(settings: Settings) -> Callable[[Sequence[str]], AbstractContextManager[Worker]]:
    """What gives a pipeline the worker of this thread, so that a thread of an executor imports torch once.

    The worker ends with the thread, or with the process, also with one that an executor forked.
    """

    def open_worker(path: Sequence[str]) -> AbstractContextManager[Worker]:
        key = (*path, settings.python, settings.memory_bytes)
        if getattr(_here, "lane", None) is None or _here.lane.key != key:
            _here.lane = _Lane(key, Worker(path, python=settings.python, memory_bytes=settings.memory_bytes))
        return nullcontext(_here.lane.worker)

    return open_worker


class _Lane:
    """Ends its worker when it is collected or the process ends, however that was started."""

    def __init__(self, key: tuple[object, ...], worker: Worker) -> None:
        from multiprocessing.util import (
            Finalize,
        )  # `weakref.finalize` needs atexit, which children of multiprocessing skip

        self.key = key
        self.worker = worker
        Finalize(self, worker.close, exitpriority=0)
