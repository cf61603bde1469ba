"""The process that records: `python -P -m torchrecorder.recording.child`, started by `diagram.worker`.

It reads jobs as JSON lines from its standard input and writes answers to its standard output, which it first moves out
of reach: what user code prints goes to a log. torch is imported once; then each job runs in a child forked from this
process, so that it starts in milliseconds, sees the source as it is now, and cannot harm the next one. This process
itself imports but never computes, because a torch that has started threads does not survive a fork.

Where fork is not safe (`--once`), the process serves one job itself and ends.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from typing import IO, Any, Literal

_CHUNK = 1 << 16


def main() -> None:
    """Serve jobs until the standard input closes."""
    jobs, answers = _private_pipes()
    once = "--once" in sys.argv[1:]
    try:
        import torch
        import torch._dynamo  # every recording switches it off, and importing it takes as long as all the rest
    except Exception as error:  # a broken torch is as good as none
        _send(answers, {"no_torch": f"{type(error).__name__}: {error}"})
        return
    from torchrecorder.recording.job import answer  # noqa: F401 (imported now, so that forked children need not)
    from torchrecorder.tracing.installed import distribution_names

    distribution_names()
    gc.collect()
    gc.freeze()
    _send(answers, {"ready": {"torch": torch.__version__, "python": sys.version.partition(" ")[0]}})
    for line in jobs:
        job = json.loads(line)
        if once:
            _redirect_prints(job["log"])
            _send(answers, _answer(job))
            answers.flush()
            os._exit(0)  # threads that the user's code left must not keep the process
        _send(answers, _fork_and_wait(job, jobs, answers))


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The protocol on descriptors that user code does not know; descriptors 0 to 2 are made harmless."""
    jobs = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return jobs, answers


def _redirect_prints(log: str) -> None:
    file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    faulthandler.enable()


def _send(answers: IO[bytes], message: Mapping[str, Any]) -> None:
    answers.write(json.dumps(message).encode() + b"\n")
    answers.flush()


def _answer(job: Mapping[str, Any]) -> dict[str, Any]:
    from torchrecorder.errors import WorkerCrashed
    from torchrecorder.recording.job import answer

    try:
        return answer(job)
    except BaseException as error:  # an answer must be given: what is left is our own fault, or a KeyboardInterrupt
        how = f"{type(error).__name__}: {error}"
        return {"error": WorkerCrashed(job["request"]["target"], how, _trace(error)).to_json()}
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()


def _trace(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error))


def _fork_and_wait(job: Mapping[str, Any], jobs: IO[bytes], answers: IO[bytes]) -> dict[str, Any]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.close(reader)
        for theirs in (jobs, answers):
            os.close(theirs.fileno())
        _redirect_prints(job["log"])
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(json.dumps(_answer(job)).encode() + b"\n")
        os._exit(0)
    os.close(writer)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # both sides do it, because either may come first
    data, ending = _collect(reader, job["timeout_s"], jobs.fileno())
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # the job, and whatever it started
    _, status = os.waitpid(pid, 0)
    if ending == "builder gone":
        os._exit(1)
    if ending == "timeout":
        return {"timeout": job["timeout_s"]}
    return dict(json.loads(data)) if data.endswith(b"\n") else {"died": _how_it_died(status)}


def _collect(reader: int, timeout_s: float, jobs: int) -> tuple[bytes, Literal["end", "timeout", "builder gone"]]:
    """What the child wrote, and why no more is waited for.

    An answer ends with its line, not with the pipe, which a process that the job started may hold open for ever.
    """
    deadline = time.monotonic() + timeout_s
    data = bytearray()
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([reader, jobs], [], [], max(0.0, deadline - time.monotonic()))
            if jobs in ready:  # one job at a time is sent, so this is the end of the input
                return b"", "builder gone"
            if not ready:
                return b"", "timeout"
            chunk = pipe.read(_CHUNK)
            if not chunk:
                break
            data += chunk
    return bytes(data), "end"


def _how_it_died(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exit status {os.WEXITSTATUS(status)}"


if __name__ == "__main__":
    main()
