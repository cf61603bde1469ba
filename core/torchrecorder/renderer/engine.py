"""Running the layout engine: the only place of this room that starts a process.

A batch of pictures is one process, because starting one costs more than a small picture. The engine gets no network,
no files and little of everything else: its own session, killed as a group; an empty directory; an environment that
forbids it to read images; limits of time, memory and output. Each picture lies in a file of its own, so an error stays
with its picture; a picture is blamed for a time-out or a crash only after it had a process to begin with.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torchrecorder.errors import EngineError
from torchrecorder.renderer.limits import limit

MAX_STDERR = 2000
_END = b"</svg>"


@dataclass(frozen=True)
class Engine:
    """A program that lays out graphs as Graphviz's `dot` does."""

    path: Path
    identity: str
    """Its name and version, `graphviz-pure 0.2.2`: a part of the key of a stored picture."""

    def layout(self, sources: Sequence[str], timeout_s: float = 10) -> list[str | EngineError]:
        """The SVG of each DOT text, or why there is none.

        Args:
            sources: The texts.
            timeout_s: Seconds that one process may take; who is its first picture and takes longer fails.
        """
        results: list[str | EngineError | None] = [None] * len(sources)
        pending = list(range(len(sources)))
        size = len(sources)
        while pending:
            batch = pending[:size]
            settled = self._settle(batch, [sources[i] for i in batch], timeout_s)
            size = len(sources) if settled else 1
            for i, result in settled.items():
                results[i] = result
            pending = [i for i in pending if i not in settled]
        return [result for result in results if result is not None]

    def _settle(self, batch: list[int], sources: list[str], timeout_s: float) -> dict[int, str | EngineError]:
        """Runs one process; gives the results that are certain, perhaps none if the batch has to be tried singly."""
        run = _run(self.path, sources, timeout_s)
        if isinstance(run, OSError):
            return {i: self._error(f"it does not start: {run}") for i in batch}
        finished: dict[int, str | EngineError] = {
            i: svg for i, svg in zip(batch, run.outputs, strict=True) if svg is not None
        }
        failed = [i for i in batch if i not in finished]
        if run.status == 0:
            return {**finished, **{i: self._error("it gave no picture") for i in failed}}
        if run.killed or run.status < 0:
            return finished or {batch[0]: self._error(run.reason(timeout_s))}
        if len(batch) == 1:
            return {batch[0]: self._error(run.reason(timeout_s))}
        return {i: self._error(run.reason(timeout_s, f"p{batch.index(i)}.dot")) for i in failed}

    def _error(self, reason: str) -> EngineError:
        return EngineError(engine=self.identity, reason=reason)


@dataclass(frozen=True)
class _Run:
    status: int
    killed: bool
    outputs: list[str | None]
    stderr: str

    def reason(self, timeout_s: float, file: str = "p0.dot") -> str:
        """Why a picture failed, as far as the engine tells."""
        if self.killed:
            return f"it took longer than {timeout_s:g} s"
        lines = [line for line in self.stderr.splitlines() if file in line or ".dot" not in line]
        said = "; ".join(line.replace(f"{file}: ", "").strip() for line in lines if "Warning" not in line)
        how = f"exit status {self.status}" if self.status >= 0 else signal.Signals(-self.status).name
        return f"{how}: {said[:MAX_STDERR]}" if said else how


def _run(program: Path, sources: list[str], timeout_s: float) -> _Run | OSError:
    with tempfile.TemporaryDirectory(prefix="torchrecorder-") as name:
        folder = Path(name)
        files = [f"p{i}.dot" for i in range(len(sources))]
        for file, source in zip(files, sources, strict=True):
            (folder / file).write_text(source, encoding="utf-8", errors="replace")
        try:
            status, killed = _wait(_start(program, folder, files), timeout_s)
        except OSError as error:
            return error
        stderr = (folder / "stderr").read_bytes()[: 8 * MAX_STDERR].decode("utf-8", "replace")
        return _Run(status, killed, [_finished(folder / f"{file}.svg") for file in files], stderr)


def _start(program: Path, folder: Path, files: list[str]) -> subprocess.Popen[bytes]:
    with (folder / "stderr").open("wb") as stderr:
        return subprocess.Popen(
            [program, "-Tsvg", "-O", *files],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )


def _environment() -> dict[str, str]:
    """What the engine gets: enough to start, and the setting that keeps it from reading images.

    `GV_FILE_PATH`, which did the same for older versions, makes Graphviz 16 refuse to start.
    """
    kept = {key: os.environ[key] for key in ("SYSTEMROOT", "TEMP", "TMP") if key in os.environ}
    return {**kept, "SERVER_NAME": "torchrecorder", "LC_ALL": "C"}


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[int, bool]:
    """The exit status, and whether the time was over."""
    limit(process.pid, timeout_s)
    killed = False
    try:
        process.communicate(timeout=timeout_s)  # returns at once when the process ends; wait() would poll
    except subprocess.TimeoutExpired:
        killed = True
    finally:
        _kill(process)
    return process.returncode, killed


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and what it may have started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()


def _finished(file: Path) -> str | None:
    """A picture that was written to its end."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    return data.decode("utf-8", "replace") if data.rstrip().endswith(_END) else None
