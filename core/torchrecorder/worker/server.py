"""The process that records: `python -P -m torchrecorder.worker.server`, started by `worker.client`.

It reads jobs as JSON lines from its standard input and writes answers to its standard output, which it first moves out
of reach: what user code prints goes to a log. torch is imported once; then each job runs in a child forked from this
process, or from one that has imported the user's package too, so that it starts in milliseconds, sees the source as it
is now, and cannot harm the next one. This process itself imports but never computes, because a torch that has started
threads does not survive a fork.

Where fork is not safe (`--once`), the process serves one job itself and ends.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
import threading

from torchrecorder.cache.index import Stamp, stamp_of
from torchrecorder.errors import TorchRecorderError
from torchrecorder.faults import failed_inside, torch_problem
from torchrecorder.worker import fork
from torchrecorder.worker.messages import Greeting, Job, line_of

_GRACE_S = 10.0


def main() -> None:
    # The protocol moves to descriptors that user code does not know, and descriptors 0 to 2 are made harmless.
    jobs = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    builder = os.getppid()

    def send(line: bytes) -> None:
        answers.write(line)
        answers.flush()

    problem: TorchRecorderError | None = torch_problem("")
    if problem is None:
        try:
            _import_what_jobs_need()
        except Exception as error:
            problem = failed_inside("", error, at_start=True)
    send(line_of(Greeting(problem)))
    if problem is not None:
        return
    from torchrecorder.worker.job import answer_line

    server = _Server(jobs.fileno(), answers.fileno())
    for line in jobs:
        job = Job.from_json(json.loads(line))
        if "--once" in sys.argv[1:]:
            fork.die_with(builder)  # no other process watches over a job that runs in this one
            fork.prepare(job.log, job.memory_bytes)
            send(answer_line(job))
            os._exit(0)  # threads that the user's code left must not keep the process
        send(server.answer(job))


def _import_what_jobs_need() -> None:
    import torch

    with contextlib.suppress(Exception):  # every recording switches it off, and it takes as long as all the rest
        import torch._dynamo
    import torchrecorder.worker.job  # noqa: F401
    from torchrecorder.recording.names import public_functions
    from torchrecorder.trace.trace import distribution_names

    distribution_names()
    public_functions()
    torch.manual_seed(0)  # the first one reads sources of torch, for a traceback that CUDA might want
    gc.collect()
    gc.freeze()


class _Server:
    def __init__(self, jobs: int, answers: int) -> None:
        self._jobs = jobs
        self._answers = answers
        self._preloaded: PreloadedProcess | None = None

    def answer(self, job: Job) -> bytes:
        from torchrecorder.worker.job import answer_in_child

        line = self._from_preloaded(job) if job.package else b""
        own = () if self._preloaded is None else self._preloaded.descriptors()
        return line or answer_in_child(job, self._jobs, not_theirs=(self._jobs, self._answers, *own))

    def _from_preloaded(self, job: Job) -> bytes:
        if self._preloaded is not None and not self._preloaded.serves(job):
            self._preloaded.end()
            self._preloaded = None
        if self._preloaded is None:
            self._preloaded = PreloadedProcess(job, jobs=self._jobs, answers=self._answers)
        return self._preloaded.answer(job) if self._preloaded.is_usable else b""


class PreloadedProcess:
    """A process that has imported the user's package once, for all diagrams of a build that need it.

    Importing a large package takes seconds; a fork of a process that has it takes milliseconds. The process is left
    aside where it could be wrong or in the way: if the import fails or starts threads, each job imports for itself, and
    its own error is reported. Not thread-safe.
    """

    def __init__(self, job: Job, *, jobs: int, answers: int) -> None:
        self._key = _state_key(job)
        self._jobs = jobs
        theirs, self._writer = os.pipe()
        self._pid, self._reader = fork.fork(
            lambda writer: _serve(job, theirs, writer), not_theirs=(self._writer, jobs, answers)
        )
        os.close(theirs)
        line, _ = fork.read_line(self._reader, job.timeout_s, jobs)
        self._stamps: dict[str, Stamp | None] = json.loads(line) if line else {}
        self.is_usable = bool(self._stamps)

    def serves(self, job: Job) -> bool:
        if self._key != _state_key(job):
            return False
        return not self.is_usable or all(stamp_of(file) == then for file, then in self._stamps.items())

    def answer(self, job: Job) -> bytes:
        """The answer to a job, as its line; empty if the process failed, which it then always does."""
        try:
            os.write(self._writer, line_of(job))
        except OSError:
            line, ending = b"", "end"
        else:
            line, ending = fork.read_line(self._reader, job.timeout_s + _GRACE_S, self._jobs)
        if ending == "builder gone":
            # If this process just ended, the kernel would kill the preloaded one and its job, but not what the job
            # started. So the preloaded process ends by itself, with the job that it waits for and all of that.
            os.close(self._writer)
            fork.wait_a_moment(self._pid)
            os._exit(1)
        self.is_usable = ending == "line"
        return line

    def descriptors(self) -> tuple[int, int]:
        return self._writer, self._reader

    def end(self) -> None:
        for descriptor in self.descriptors():
            os.close(descriptor)
        fork.end(self._pid)


def _state_key(job: Job) -> tuple[object, ...]:
    """What the state after the import depends on, besides its own files; what else it read may differ by build."""
    return job.build, job.package, job.request.seed, job.path, job.environment, job.memory_bytes


def _serve(job: Job, jobs: int, writer: int) -> None:
    import torch

    from torchrecorder.worker.job import answer_in_child, begin

    fork.prepare(os.devnull, job.memory_bytes)
    trace = begin(job)
    is_usable = False
    with contextlib.suppress(BaseException), torch.random.fork_rng(devices=()):
        torch.manual_seed(job.request.seed)
        importlib.import_module(job.package)
        is_usable = threading.active_count() == 1
    if not is_usable:
        return
    os.write(writer, json.dumps(trace.stamps()).encode() + b"\n")
    with os.fdopen(jobs, "rb") as lines:
        for line in lines:
            next_job = Job.from_json(json.loads(line))
            os.write(writer, answer_in_child(next_job, jobs, not_theirs=(jobs, writer), trace=trace))


if __name__ == "__main__":
    main()
