"""The one door to torch: a process of its own that records, because a documentation build must not.

A forward of torch before a fork hangs the child, and Sphinx forks its readers and writers. So the builder starts
`torchrecorder.recording.child` on the first miss, sends it one job at a time, and closes it at the end of the batch.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from torchrecorder.diagram.evidence import FIXED_ENVIRONMENT
from torchrecorder.diagram.interpreter import environment, foreign_path
from torchrecorder.diagram.settings import MEMORY_BYTES
from torchrecorder.errors import (
    FormatError,
    TorchMissing,
    TorchRecorderError,
    WorkerCrashed,
    WorkerTimeout,
)
from torchrecorder.request import RecordingRequest

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
        self._process: _Process | None = None
        self._absent: TorchMissing | None = None
        self._logs = tempfile.TemporaryDirectory(prefix="torchrecorder-")

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
        self._logs.cleanup()

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
        log = Path(self._logs.name, "job.log")
        log.unlink(missing_ok=True)
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
        except TorchMissing as error:
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

    def _started(self, request: RecordingRequest) -> _Process:
        if self._absent is not None:  # starting a Python for each of a hundred diagrams takes a minute
            raise TorchMissing(request.target, self._absent.python, self._absent.cause)
        if self._process is None:
            log = Path(self._logs.name, "worker.log")
            if self._python and shutil.which(self._python) is None:
                raise TorchMissing(request.target, self._python, "there is no such program")
            self._process = _Process(self._command(), environment(self._python, Path(self._logs.name)), log)
            greeting = self._process.greeting()
            if "ready" not in greeting:
                self._end_process()
                cause = str(greeting.get("no_torch", "")) or _tail(log).rpartition("\n")[2]
                raise TorchMissing(request.target, self._python or sys.executable, cause)
        return self._process

    def _command(self) -> list[str]:
        once = [] if self._forks else ["--once"]
        return [self._python or sys.executable, "-P", "-m", "torchrecorder.recording.child", *once]

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


class _Process:
    """The running worker: JSON lines out, JSON lines back, each wait with a limit."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], log: Path) -> None:
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=variables,
                start_new_session=True,  # Ctrl-C is for the builder, which then ends this process
            )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def greeting(self) -> dict[str, Any]:
        """The first message: it is ready, or it has no torch; empty if the process ended without one."""
        try:
            return self._next(START_TIMEOUT_S)
        except TimeoutError:
            return {"no_torch": f"importing it took longer than {START_TIMEOUT_S:g} s"}
        except EOFError:
            return {}

    def ask(self, job: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a job and wait for its answer.

        Raises:
            TimeoutError: None came in time.
            EOFError: The process ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise EOFError from error
        return self._next(timeout_s)

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def end(self) -> str:
        """End the process, at the latest by force, and say how it ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return f"signal {-code}" if code < 0 else f"exit status {code}"

    def _next(self, timeout_s: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            raise TimeoutError from None
        if not line:
            raise EOFError
        try:
            return dict(json.loads(line))
        except ValueError as error:
            raise FormatError("the worker's answer", str(error)) from error

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            for line in stdout:
                self._lines.put(line)
        self._lines.put(b"")


def _tail(log: Path) -> str:
    try:
        return log.read_bytes()[-_LOG_TAIL:].decode(errors="replace").strip()
    except OSError:
        return ""
