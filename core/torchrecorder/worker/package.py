"""A process that has imported the user's package once, for all diagrams of a build that need it.

Importing a large package takes seconds; a fork of a process that has it takes milliseconds. The layer is left aside
where it could be wrong or in the way: if the import fails, prints its last word, or starts threads, each job imports
for itself, and its own error is told.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import threading
from collections.abc import Mapping
from typing import Any

from torchrecorder.worker import fork

_GRACE_S = 10.0


class Layer:
    """The layer of one package. Not thread-safe."""

    def __init__(self, job: Mapping[str, Any], *, jobs: int, answers: int) -> None:
        """Import the package of a job in a child.

        Args:
            job: The first one that needs it.
            jobs: Descriptor that the builder's jobs come from.
            answers: Descriptor that its answers go to.
        """
        self.key = _key(job)
        self._jobs = jobs
        theirs, self._writer = os.pipe()
        self._pid, self._reader = fork.fork(
            lambda writer: _serve(job, theirs, writer), not_theirs=(self._writer, jobs, answers)
        )
        os.close(theirs)
        line, _ = fork.read_line(self._reader, job["timeout_s"], jobs)
        self._signatures: dict[str, Any] = json.loads(line)["signatures"] if line else {}
        self.is_usable = bool(self._signatures)

    def serves(self, job: Mapping[str, Any]) -> bool:
        """Whether it was made for jobs like this one, and its files are as they were."""
        return self.key == _key(job) and (
            not self.is_usable or all(signature(file) == seen for file, seen in self._signatures.items())
        )

    def ask(self, job: Mapping[str, Any]) -> tuple[bytes, fork.Ending]:
        """The answer to a job, as its line."""
        try:
            os.write(self._writer, json.dumps(job).encode() + b"\n")
        except OSError:
            return b"", "end"
        return fork.read_line(self._reader, job["timeout_s"] + _GRACE_S, self._jobs)

    def descriptors(self) -> tuple[int, int]:
        """Those that lead to the process."""
        return self._writer, self._reader

    def dismiss(self) -> None:
        """Have the process end by itself, with the job that it waits for and all that the job started.

        If this process just ended, the kernel would kill the layer and its job, but not what the job started.
        """
        os.close(self._writer)
        fork.wait_a_moment(self._pid)

    def end(self) -> None:
        """End the process."""
        for descriptor in self.descriptors():
            os.close(descriptor)
        fork.end(self._pid)


def signature(file: str) -> list[int] | None:
    """Changes when the file does."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]


def _key(job: Mapping[str, Any]) -> tuple[Any, ...]:
    """What the state after the import depends on, besides its own files; what else it read may differ by build."""
    return job["build"], job["package"], job["request"]["seed"], job["path"], job["environment"], job["memory_bytes"]


def _serve(job: Mapping[str, Any], jobs: int, writer: int) -> None:
    from torchrecorder.worker.job import answer_in_child, begin

    fork.prepare(os.devnull, job["memory_bytes"])
    trace = begin(job)
    if not _import(job["package"], job["request"]["seed"]):
        return
    os.write(writer, json.dumps({"signatures": trace.signatures()}).encode() + b"\n")
    with os.fdopen(jobs, "rb") as lines:
        for line in lines:
            os.write(writer, answer_in_child(json.loads(line), jobs, not_theirs=(jobs, writer), trace=trace))


def _import(package: str, seed: int) -> bool:
    """Whether the package was imported and nothing stands against forking this process."""
    import torch

    with contextlib.suppress(BaseException), torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        importlib.import_module(package)
        return threading.active_count() == 1
    return False
