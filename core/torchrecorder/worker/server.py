"""The process that records: `python -P -m torchrecorder.worker.server`, started by `worker.client`.

It reads jobs as JSON lines from its standard input and writes answers to its standard output, which it first moves out
of reach: what user code prints goes to a log. torch is imported once; then each job runs in a child forked from this
process, or from one that has imported the user's package too, so that it starts in milliseconds, sees the source as it
is now, and cannot harm the next one (`worker.serving`). This process itself imports but never computes, because a torch
that has started threads does not survive a fork.

Where fork is not safe (`--once`), the process serves one job itself and ends.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys

from torchrecorder.errors import TorchRecorderError
from torchrecorder.faults import failed_inside, torch_problem
from torchrecorder.worker import fork
from torchrecorder.worker.messages import Answer, Job, line_of

_WARM = ("numpy.random", "torch.utils.flop_counter", "torchrecorder.worker.serving")
"""Modules that every job imports."""


def main() -> None:
    if sys.platform != "win32":
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a builder may ignore it, and then no child has a status
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
    send(line_of(Answer(error=problem)))
    if "--once" in sys.argv[1:] or problem is not None:
        if not (line := jobs.readline()):
            return
        job = Job.from_json(json.loads(line))
        fork.die_with(builder)  # no other process watches over a job that runs in this one
        fork.prepare(job.log, job.memory_bytes)
        fork.adopt()
        if problem is not None:  # a styler may need no torch
            from torchrecorder.worker.styling import answer

            send(line_of(answer(job)))
        else:
            from torchrecorder.worker.job import answer_line

            send(answer_line(job))
        fork.end_adopted(())
    else:
        from torchrecorder.worker.serving import Serving

        fork.adopt()
        Serving(jobs.fileno(), answers.fileno()).serve()
        fork.tidy_after(builder, *sys.argv[1:2])
    os._exit(0)  # threads that the user's code left must not keep the process, nor what torch tidies up at its end


def _import_what_jobs_need() -> None:
    import torch

    import torchrecorder.worker.job  # noqa: F401
    from torchrecorder.recording.names import public_functions
    from torchrecorder.trace.trace import distribution_names

    for name in _WARM:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    distribution_names()
    public_functions()
    torch.manual_seed(0)  # the first one reads sources of torch, for a traceback that CUDA might want
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main()
