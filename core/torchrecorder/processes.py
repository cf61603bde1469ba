"""Child processes: one that answers JSON lines, bounds for any, and the end of one with all that it started."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import site
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from torchrecorder.errors import FormatError

_LOG_TAIL = 8000
"""Bytes of the end of a log that are read: a traceback of a deep call, and what was printed before it."""


class LineProcess:
    """A running process. Not thread-safe."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the builder, which then ends this process
            )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader: threading.Thread | None = None
        """Begins with the first question: between the start and that, other code may fork this process."""

    def send(self, job: Mapping[str, Any]) -> None:
        """Send a line; raises EOFError if the process ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise EOFError from error

    def next(self, timeout_s: float) -> dict[str, Any]:
        """The next line, asked for or not.

        Raises:
            TimeoutError: None came in time.
            EOFError: The process ended.
            FormatError: It is not a JSON object.
        """
        self._begin_reading()
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            raise TimeoutError from None
        if not line:
            raise EOFError
        try:
            return dict(json.loads(line))
        except (ValueError, TypeError) as error:
            raise FormatError("the worker's answer", str(error)) from error

    def has_line(self) -> bool:
        """Whether `next` would give a line, or raise, without waiting."""
        self._begin_reading()
        return not self._lines.empty()

    @property
    def is_running(self) -> bool:
        return not self._has_ended()

    def end(self, *, grace_s: float = 5) -> str:
        """End the process, at the latest by force, with all that it started, and say how it ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        deadline = time.monotonic() + grace_s
        while not self._has_ended() and time.monotonic() < deadline:
            time.sleep(0.005)
        if not self._has_ended():
            started = [*descendants(self._process.pid)]  # as long as it is there, they can be found
            self._process.kill()
            for pid in started:
                kill(pid)
        if sys.platform == "linux" and self._process.returncode is None:
            with contextlib.suppress(ChildProcessError):  # other code of the builder waits for all its children
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
                # A worker that was killed itself could not end what a model started. It is not waited for yet, so that
                # no other session can have its pid.
                for pid, _, session in _processes():
                    if session == self._process.pid:
                        kill(pid)
        code = self._process.wait()
        if self._reader is None and self._process.stdout is not None:
            self._process.stdout.close()
        return ending(code)

    def _begin_reading(self) -> None:
        if self._reader is None:
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()

    def _has_ended(self) -> bool:
        # On Linux the process is left as a zombie, so that its pid stays its own until `end` kills its session.
        if sys.platform != "linux" or self._process.returncode is not None:
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
        except ChildProcessError:
            return True

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            for line in stdout:
                self._lines.put(line)
        self._lines.put(b"")


def tail(log: Path) -> str:
    """The end of what a process printed; empty if its log cannot be read."""
    try:
        with log.open("rb") as file:  # it may have gigabytes
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_TAIL))
            return file.read(_LOG_TAIL).decode(errors="replace").strip()
    except OSError:
        return ""


def ending(code: int) -> str:
    """End of a process in words, by its exit code, which is negative for a signal."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


def kill(pid: int) -> None:
    """Kill a process, if it is there and may be killed."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def kill_group(leader: int) -> None:
    """Kill a process that leads a group, with those in it, on POSIX."""
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)


def bound(pid: int = 0, **limits: int) -> None:
    """Bound what a process may use, or this one, as far as the system can; other processes are bounded on Linux only.

    Limits have the names of `resource`, such as `AS` for bytes of address space; none is raised.
    """
    with contextlib.suppress(ImportError):  # Windows has no limits
        import resource

        for name, most in limits.items():
            with contextlib.suppress(AttributeError, ValueError, OSError):  # macOS does not have all
                kind = getattr(resource, f"RLIMIT_{name}")
                _, hard = resource.prlimit(pid, kind) if pid else resource.getrlimit(kind)
                most = most if hard == resource.RLIM_INFINITY else min(most, hard)
                if pid:
                    resource.prlimit(pid, kind, (most, hard))
                else:
                    resource.setrlimit(kind, (most, hard))


def children(parent: int) -> set[int]:
    """The processes that have that parent, on Linux; none elsewhere."""
    return {pid for pid, of, _ in _processes() if of == parent}


def descendants(ancestor: int) -> Iterator[int]:
    """The processes that a process has started, with those that they have started, on Linux; none elsewhere."""
    parents = {pid: parent for pid, parent, _ in _processes()}
    for pid in parents:
        above, seen = pid, set[int]()  # the table is not of one instant, so it may hold a circle
        while (above := parents.get(above, 0)) not in (0, ancestor, *seen):
            seen.add(above)
        if above == ancestor:
            yield pid


def _processes() -> Iterator[tuple[int, int, int]]:
    """Each process with its parent and its session."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            _, _, fields = file.read_bytes().rpartition(b")")  # the name before it may hold anything
            _, parent, _, session, *_ = fields.split()
            yield int(file.parent.name), int(parent), int(session)


def import_path(own: str) -> str:
    """`PYTHONPATH` for a process that has to find torchrecorder in a folder.

    What stands there comes before Python's own library. So site-packages, where the process looks anyway, is left out:
    a backport that an old package has installed, such as `dataclasses`, would take the place of the real module.
    """
    looked_in = map(os.path.realpath, site.getsitepackages())
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return os.pathsep.join([*([] if own in looked_in else [own]), *given])
