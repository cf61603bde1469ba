"""The process that records: `python -P -m torchrecorder.worker.server`, started by `diagram.worker`.

It reads jobs as JSON lines from its standard input and writes answers to its standard output, which it first moves out
of reach: what user code prints goes to a log. torch is imported once; then each job runs in a child forked from this
process, or from a layer that has imported the user's package too, so that it starts in milliseconds, sees the source as
it is now, and cannot harm the next one. This process itself imports but never computes, because a torch that has
started threads does not survive a fork.

Where fork is not safe (`--once`), the process serves one job itself and ends.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from collections.abc import Mapping
from typing import IO, Any

from torchrecorder.errors import TorchRecorderError
from torchrecorder.faults import failed_inside, torch_problem
from torchrecorder.worker import fork
from torchrecorder.worker.limits import die_with


def main() -> None:
    """Serve jobs until the standard input closes."""
    jobs, answers = _private_pipes()
    builder = os.getppid()
    problem: TorchRecorderError | None = torch_problem("")
    if problem is None:
        try:
            version = _prepare()
        except Exception as error:
            problem = failed_inside("", error, at_start=True)
    if problem is not None:
        _send(answers, _line({"error": problem.to_json()}))
        return
    from torchrecorder.worker.job import answer_line

    _send(answers, _line({"ready": {"torch": version, "python": sys.version.partition(" ")[0]}}))
    server = _Server(jobs.fileno(), answers.fileno())
    for line in jobs:
        job = json.loads(line)
        if "--once" in sys.argv[1:]:
            die_with(builder)  # nobody watches over a job that runs in this process itself
            fork.prepare(job["log"], job["memory_bytes"])
            _send(answers, answer_line(job))
            os._exit(0)  # threads that the user's code left must not keep the process
        _send(answers, server.answer(job))


def _prepare() -> str:
    """Import what every job needs, and give the version of torch."""
    import torch

    with contextlib.suppress(Exception):  # every recording switches it off, and it takes as long as all the rest
        import torch._dynamo
    import torchrecorder.worker.job  # noqa: F401
    from torchrecorder.recording.names import public_functions
    from torchrecorder.trace.installed import distribution_names

    distribution_names()
    public_functions()
    torch.manual_seed(0)  # the first one reads sources of torch, for a traceback that CUDA might want
    gc.collect()
    gc.freeze()
    return str(torch.__version__)


class _Server:
    """Answers jobs, from a layer where one helps."""

    def __init__(self, jobs: int, answers: int) -> None:
        self._jobs = jobs
        self._answers = answers
        self._layer: Any = None

    def answer(self, job: Mapping[str, Any]) -> bytes:
        from torchrecorder.worker.job import answer_in_child

        line = self._from_layer(job) if job["package"] else b""
        return line or answer_in_child(job, self._jobs, not_theirs=(self._jobs, self._answers, *self._layers_own()))

    def _from_layer(self, job: Mapping[str, Any]) -> bytes:
        """The answer of the layer; empty if there is none for the job."""
        from torchrecorder.worker.package import Layer

        if self._layer is not None and not self._layer.serves(job):
            self._layer.end()
            self._layer = None
        if self._layer is None:
            self._layer = Layer(job, jobs=self._jobs, answers=self._answers)
        if not self._layer.is_usable:
            return b""
        line, ending = self._layer.ask(job)
        if ending == "builder gone":
            self._layer.dismiss()
            os._exit(1)
        if ending != "line":
            self._layer.is_usable = False
        return bytes(line)

    def _layers_own(self) -> tuple[int, ...]:
        return () if self._layer is None else self._layer.descriptors()


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The protocol on descriptors that user code does not know; descriptors 0 to 2 are made harmless."""
    jobs = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return jobs, answers


def _send(answers: IO[bytes], line: bytes) -> None:
    answers.write(line)
    answers.flush()


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


if __name__ == "__main__":
    main()
