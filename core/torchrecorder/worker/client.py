"""The one door to torch: a process of its own that records, because a documentation build must not.

A forward of torch before a fork hangs the child, and Sphinx forks its readers and writers. So the builder starts
`torchrecorder.worker.server` on the first miss, sends it one job at a time, and closes it at the end of the batch.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from torchrecorder.errors import (
    TorchMissing,
    TorchRecorderError,
    WorkerCrashed,
    WorkerError,
    WorkerNotStarted,
    WorkerTimeout,
)
from torchrecorder.line_process import LineProcess
from torchrecorder.request import RecordingRequest
from torchrecorder.request.settings import MEMORY_BYTES
from torchrecorder.trace.manifest_builder import FIXED_ENVIRONMENT
from torchrecorder.worker.interpreter import environment, foreign_path

START_TIMEOUT_S = 180.0
"""How long importing torch may take; a cold disk on a shared machine needs a minute."""
_GRACE_S = 30.0
"""How much longer than a job's own time-out its answer is waited for, before the whole process is given up."""
_LOG_TAIL = 8000
_FORKS = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one request."""

    request: RecordingRequest
    graph: str | None
    """The Graph as JSON text; a partial one beside an error of the forward."""
    error: TorchRecorderError | None
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What the recording was seen to depend on; empty if it ended too badly to tell."""


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
        """Make a worker; its process starts with the first job.

        Args:
            path: Folders to import models from.
            python: The interpreter to run; this one, if empty.
            memory_bytes: How much address space a job may take.
            forks: Whether one process serves all jobs.
        """
        self._path = list(path)
        self._python = python
        self._memory_bytes = memory_bytes
        self._forks = forks
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
        """End the process and remove its logs."""
        self._end_process()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    @property
    def is_running(self) -> bool:
        """Whether there is a process that a next job would find."""
        return self._process is not None and self._process.is_running

    def expect(self, requests: Iterable[RecordingRequest]) -> None:
        """Be told what a build will ask, so that a package that several of its requests share is imported once."""
        self._build += 1
        counted = Counter(request.root_module() for request in requests)
        self._shared = frozenset(package for package, count in counted.items() if count > 1)

    def record(self, request: RecordingRequest, *, timeout_s: float) -> Answer:
        """Record one request; whatever happens to the process becomes the answer's error."""
        try:
            log = self._folder() / "job.log"
            log.unlink(missing_ok=True)
            return self._record(request, timeout_s, log)
        except OSError as error:  # of this machine: a full disk, no more processes
            self._end_process()
            return Answer(request, None, WorkerCrashed(request.target, f"it could not be started: {error}"))

    def _record(self, request: RecordingRequest, timeout_s: float, log: Path) -> Answer:
        job = {
            "request": request.to_json(),
            "path": self._path if not self._python else foreign_path(self._path),
            "environment": {**os.environ, **FIXED_ENVIRONMENT},
            "package": request.root_module() if request.root_module() in self._shared else "",
            "build": self._build,
            "memory_bytes": self._memory_bytes,
            "timeout_s": timeout_s,
            "log": str(log),
        }
        try:
            process = self._started(request)
            message = process.ask(job, timeout_s + _GRACE_S if self._forks else timeout_s)
        except WorkerError as error:
            self._absent = error
            return Answer(request, None, error)
        except TimeoutError:
            self._end_process()
            return Answer(request, None, WorkerTimeout(request.target, timeout_s, _tail(log)))
        except EOFError:
            how = self._end_process()
            return Answer(request, None, WorkerCrashed(request.target, how, _tail(log)))
        if not self._forks:
            self._end_process()
        return _answer(request, message, _tail(log))

    def _folder(self) -> Path:
        """For logs; it goes with this object."""
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="torchrecorder-")
        return Path(self._scratch.name)

    def _started(self, request: RecordingRequest) -> LineProcess:
        if self._absent is not None:  # starting a Python for each of a hundred diagrams takes a minute
            raise TorchRecorderError.from_json({**self._absent.to_json(), "target": request.target})
        if self._process is None:
            log = self._folder() / "worker.log"
            if self._python and shutil.which(self._python) is None:
                raise TorchMissing(request.target, self._python, "there is no such program")
            self._process = LineProcess(self._command(), environment(self._python, self._folder()), log)
            greeting = _greeting(self._process)
            if "ready" not in greeting:
                how, python = self._end_process(), self._python or sys.executable
                if "error" in greeting:
                    raise TorchRecorderError.from_json({**greeting["error"], "target": request.target})
                if "timeout" in greeting:
                    cause = f"importing it took longer than {greeting['timeout']:g} s"
                    raise TorchMissing(request.target, python, cause)
                raise WorkerNotStarted(request.target, python, how, _tail(log))
        return self._process

    def _command(self) -> list[str]:
        once = [] if self._forks else ["--once"]
        return [self._python or sys.executable, "-P", "-m", "torchrecorder.worker.server", *once]

    def _end_process(self) -> str:
        if self._process is None:
            return "it did not start"
        process, self._process = self._process, None
        return process.end()


def _answer(request: RecordingRequest, message: Mapping[str, Any], log: str) -> Answer:
    if "timeout" in message:
        return Answer(request, None, WorkerTimeout(request.target, message["timeout"], log))
    if "died" in message:
        return Answer(request, None, WorkerCrashed(request.target, message["died"], log))
    error = TorchRecorderError.from_json(message["error"]) if "error" in message else None
    return Answer(
        request,
        message.get("graph"),
        error,
        message.get("notes", {}),
    )


def _greeting(process: LineProcess) -> dict[str, Any]:
    """The first message: it is ready, or why it cannot record; empty if the process ended without one."""
    try:
        return process.next(START_TIMEOUT_S)
    except TimeoutError:
        return {"timeout": START_TIMEOUT_S}
    except EOFError:
        return {}


def _tail(log: Path) -> str:
    try:
        return log.read_bytes()[-_LOG_TAIL:].decode(errors="replace").strip()
    except OSError:
        return ""
