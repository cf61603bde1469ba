"""The loop that runs jobs at once: each in a child that is forked from this process, all of them waited for together.

It serves in the process that imported torch, and again in each process that has imported a package of the user's too,
which is forked from the first and hands its jobs' answers on.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import re
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from importlib.machinery import PathFinder
from itertools import accumulate
from typing import TypeAlias

from torchrecorder.cache.index import Stamp, stamp_of
from torchrecorder.errors import WorkerCrashed, WorkerTimeout
from torchrecorder.processes import children
from torchrecorder.recording.machine.memory import left
from torchrecorder.request import parse_target
from torchrecorder.running.restore import start_random_numbers
from torchrecorder.trace.trace import Trace, look_up_versions
from torchrecorder.worker import fork
from torchrecorder.worker.job import answer_line, begin
from torchrecorder.worker.messages import FILLED, Answer, Job, line_of

_GRACE_S = 10.0
"""Seconds beyond the time-out of a job until a preloaded process, which ends it itself, counts as hanging."""
_PROBE_S = 5.0
"""Seconds that a child of a process with threads may take for a moment's work before it counts as hanging."""
_LOOK_S = 0.1
"""Seconds between two looks at what a bounded job has used; in that time it may allocate a gigabyte more."""
_CHUNK = 1 << 16  # bytes, what a pipe of Linux holds
_ENOUGH_BYTES = 2 << 30  # memory that must be left for another job to begin while one is running
_NUMBER = re.compile(rb'\{"job": (\d+)')

_Part: TypeAlias = "_RunningJob | _Preloaded"  # process that the loop waits for


class Serving:
    """Serves jobs from one pipe and sends their answers to another, until the first ends. Not thread-safe."""

    def __init__(self, jobs: int, answers: int, trace: Trace | None = None, *, has_threads: bool = False) -> None:
        """Make ready to serve.

        Args:
            jobs: The pipe to read from.
            answers: The pipe to write to.
            trace: That of a process that has imported a package; it goes on in its children.
            has_threads: Whether the package has started threads, so that a child that dies or hangs proves nothing.
        """
        self.trace = trace
        self.has_threads = has_threads
        self._jobs = jobs
        self._answers = answers
        self._parts: dict[int, _Part] = {}
        self._queue: deque[Job] = deque()
        self._preloaded: _Preloaded | None = None
        self._not_ours = children(os.getpid()) if trace is None else set()
        """Children that were there before any job."""

    def serve(self) -> None:
        received = b""
        while True:
            until = min((part.deadline() for part in self._parts.values()), default=math.inf)
            wait = None if until == math.inf else max(0.0, until - time.monotonic())
            for descriptor in select.select([self._jobs, *self._parts], [], [], wait)[0]:
                if descriptor != self._jobs:
                    if (part := self._parts.get(descriptor)) is not None:  # one before it may have ended it
                        part.read()
                    continue
                chunk = os.read(self._jobs, _CHUNK)
                if not chunk:
                    for part in list(self._parts.values()):
                        part.end()
                    self.end_left_behind()
                    return
                *lines, received = (received + chunk).split(b"\n")
                self._queue.extend(Job.from_json(json.loads(line)) for line in lines)
            for part in [part for part in self._parts.values() if part.deadline() <= time.monotonic()]:
                part.expire()
            self._start_jobs()

    def send(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._answers, line) :]

    def run(self, job: Job) -> None:
        """Run a job in a child of this very process."""
        if self.trace is not None:
            self.trace.opened.read()
        running = _RunningJob(self, job)
        self._parts[running.reader] = running

    def end_left_behind(self) -> None:
        """End what a job has left running, if only as a daemon: without its parent it is a child of the first process.

        A server that traces leaves them alone: its trace would note our reading of `/proc` as the model's.
        """
        if self.trace is None:
            fork.end_adopted({*self._not_ours, *(part.pid for part in self._parts.values())})

    def forget(self, part: _Part) -> None:
        del self._parts[part.reader]
        os.close(part.reader)

    def descriptors(self) -> Iterator[int]:
        """Descriptors that a child must not hold open."""
        yield from (self._jobs, self._answers, *self._parts)
        yield from (part.writer for part in self._parts.values() if isinstance(part, _Preloaded))

    def _start_jobs(self) -> None:
        while self._queue and self._has_room():
            job = self._queue.popleft()
            module = self._to_import(job)
            is_served = bool(module) and self._preloaded is not None and self._preloaded.serves(job, module)
            if job.needs_compiler and not is_served:  # once for all jobs to come: it takes as long as torch itself
                with contextlib.suppress(Exception):
                    importlib.import_module("torch._dynamo")
            if not module:
                self.run(job)
                continue
            if self._preloaded is None or not is_served:
                if self._preloaded is not None:
                    self._preloaded.retire()
                self._preloaded = _Preloaded(self, job, module)
                self._parts[self._preloaded.reader] = self._preloaded
            self._preloaded.take(job)

    def _to_import(self, job: Job) -> str:
        """The module that a job needs and this process has not, to be imported once for all that need it.

        First the package; in a process that has it, the next part of the target. Its finder is asked alone, since a
        trace would take other questions for the model's.
        """
        if self.trace is None or not job.package:
            return job.package
        with contextlib.suppress(
            Exception
        ):  # a pattern has no such parts; a package may put anything in place of folders
            names = accumulate(parse_target(job.request.target).dotted.split("."), "{}.{}".format)
            name = next(name for name in names if name not in sys.modules)
            holder, _, part = name.rpartition(".")
            parent = vars(sys.modules[holder])
            if part not in parent and PathFinder.find_spec(name, parent["__path__"]) is not None:
                return name
        return ""

    def _has_room(self) -> bool:
        """Whether another job may begin: one always may, more as long as there is memory."""
        # Where a trace is on, it would see what is read here; that process is given a job only if there is memory.
        if self.trace is not None or not any(part.is_busy for part in self._parts.values()):
            return True
        try:
            return left() >= _ENOUGH_BYTES
        except OSError:  # a jail without /proc
            return True


class _RunningJob:
    """A child that records one request."""

    is_busy = True

    def __init__(self, server: Serving, job: Job) -> None:
        self._server = server
        self._job = job
        self._data = bytearray()
        self._until = time.monotonic() + job.timeout_s
        self._is_bounded = bool(job.cpu_s or job.resident_bytes)
        self._next_look = time.monotonic() + _LOOK_S

        def run(writer: int) -> None:
            fork.prepare(job.log, job.memory_bytes)
            fork.adopt()
            line = answer_line(job, server.trace)
            try:
                with os.fdopen(writer, "wb") as pipe:
                    pipe.write(line)
            except OSError:
                os._exit(fork.MUTE)

        self.pid, self.reader = fork.fork(run, not_theirs=(*server.descriptors(),))

    def deadline(self) -> float:
        return min(self._until, self._next_look) if self._is_bounded else self._until

    def read(self) -> None:
        # An answer ends with its line, not with the pipe, which a process that the job started may hold open for ever.
        chunk = os.read(self.reader, _CHUNK)
        self._data += chunk
        if self._data.endswith(b"\n"):
            fork.end(self.pid)
            found = _NUMBER.match(self._data)
            if found is None or int(found[1]) != self._job.number:
                self._fail("its code wrote to descriptors that it did not open")
            else:
                self._finish(bytes(self._data))
        elif not chunk:
            self._fail(fork.end(self.pid, by_itself=True))

    def expire(self) -> None:
        """End the job, if it has used more than it may."""
        job, self._next_look = self._job, time.monotonic() + _LOOK_S
        computed_s, resident = fork.used(self.pid) if self._is_bounded else (0.0, 0)
        how: str | float = 0.0
        if time.monotonic() >= self._until:
            how = job.timeout_s
        elif job.cpu_s and computed_s > job.cpu_s:
            how = job.cpu_s
        elif job.resident_bytes and resident > job.resident_bytes:
            how = f"{FILLED} {job.resident_bytes / (1 << 30):g} GiB of memory"
        if how:
            fork.end(self.pid)
            self._fail(how)

    def end(self) -> None:
        fork.end(self.pid)

    def _fail(self, how: str | float) -> None:
        """Answer for a job that ended so, or was ended after so many seconds."""
        job, target = self._job, self._job.request.target
        error = WorkerCrashed(target, how) if isinstance(how, str) else WorkerTimeout(target, how)
        self._finish(_again(job.number) if self._server.has_threads else line_of(Answer(error=error, job=job.number)))

    def _finish(self, line: bytes) -> None:
        self._server.forget(self)
        self._server.end_left_behind()
        self._server.send(line)


class _Preloaded:
    """A process that has imported a module of the user's once, for all diagrams of a build that need it.

    Importing a large package takes seconds; a fork of a process that has it takes milliseconds. The process is left
    aside where it could be wrong or in the way: if the import fails, or starts threads that are Python's or that a
    child cannot compute without, each job imports for itself, and its own error is reported. Where the import left
    other threads, so does a job whose child died or took too long. Within one that has the package there is one for
    each module that the package does not import itself; others do not depend on what that imports.
    """

    def __init__(self, server: Serving, job: Job, module: str) -> None:
        self._server = server
        self._key = module, _state_key(job)
        theirs, self.writer = os.pipe()
        others = (*server.descriptors(), self.writer)
        if server.trace is not None:
            server.trace.opened.read()
        serve = partial(_serve_preloaded, job, module, server, theirs)
        self.pid, self.reader = fork.fork(serve, not_theirs=others)
        os.close(theirs)
        self._data = b""
        self._stamps: dict[str, Stamp | None] | None = None
        """Of the files that it imported; None before it has."""
        self._patience_s = job.timeout_s
        self._import_until = time.monotonic() + job.timeout_s
        self._jobs: dict[int, tuple[Job, float]] = {}
        """Those that it has taken, each with the time until which its answer is waited for."""
        self._is_retired = self._has_failed = self._hangs = False

    @property
    def is_busy(self) -> bool:
        return bool(self._jobs)

    def serves(self, job: Job, module: str) -> bool:
        if self._key != (module, _state_key(job)):
            return False
        return self._has_failed or all(stamp_of(file) == then for file, then in (self._stamps or {}).items())

    def take(self, job: Job) -> None:
        if self._has_failed:
            self._run(job)
            return
        self._jobs[job.number] = job, 0.0
        if self._stamps is not None:
            self._give(job)

    def retire(self) -> None:
        """End, once no job is left."""
        self._is_retired = True
        if not self._jobs and not self._has_failed:
            self._end()

    def deadline(self) -> float:
        if self._stamps is None:
            return self._import_until
        return min((until for _, until in self._jobs.values()), default=math.inf)

    def read(self) -> None:
        chunk = os.read(self.reader, _CHUNK)
        if not chunk:
            self.expire()
            return
        *lines, self._data = (self._data + chunk).split(b"\n")
        for line in lines:
            if self._stamps is None:
                try:
                    self._stamps = dict(json.loads(line))
                except (ValueError, TypeError):  # what is imported wrote to descriptors that it did not open
                    self.expire()
                    return
                for job, _ in list(self._jobs.values()):
                    self._give(job)
            elif (found := _NUMBER.match(line)) is not None:
                taken = self._jobs.pop(int(found[1]), None)
                self._server.end_left_behind()
                if taken is not None and line + b"\n" == _again(taken[0].number):
                    self._server.run(taken[0])
                else:
                    self._server.send(line + b"\n")
        if self._is_retired and not self._jobs:
            self._end()

    def expire(self) -> None:
        """Have each job that it has taken import for itself, if the import may come to another end there."""
        self._hangs = self._stamps is None and self._import_until <= time.monotonic()
        self._has_failed = True
        self._end()
        left_over, self._jobs = self._jobs, {}
        for job, _ in left_over.values():
            self._run(job)

    def end(self) -> None:
        if self._jobs:
            # If this process just ended, the kernel would kill the preloaded one and its jobs, but not what the jobs
            # started. So the preloaded process ends by itself, with the jobs that it waits for and all of that.
            os.close(self.writer)
            fork.wait_a_moment(self.pid)
        else:
            fork.end(self.pid)

    def _run(self, job: Job) -> None:
        if self._hangs and job.timeout_s <= self._patience_s:  # a hundred classes must not wait for it one by one
            error = WorkerTimeout(job.request.target, job.timeout_s)
            self._server.send(line_of(Answer(error=error, job=job.number)))
        else:
            self._server.run(job)

    def _give(self, job: Job) -> None:
        self._jobs[job.number] = job, time.monotonic() + job.timeout_s + _GRACE_S
        with contextlib.suppress(OSError):  # then its own pipe ends too
            line = line_of(job)
            while line:
                line = line[os.write(self.writer, line) :]

    def _end(self) -> None:
        self._server.forget(self)
        os.close(self.writer)
        fork.end(self.pid)


def _state_key(job: Job) -> tuple[object, ...]:
    """Key of the state after the import, besides its own files; what else it read may differ by build."""
    return job.build, job.package, job.request.seed, job.path, job.environment, job.memory_bytes


def _again(number: int) -> bytes:
    """Line of a preloaded process in place of an answer: the job is to import for itself."""
    return json.dumps({"job": number, "again": True}).encode() + b"\n"


def _serve_preloaded(job: Job, module: str, server: Serving, jobs: int, writer: int) -> None:
    import torch

    fork.prepare(os.devnull, job.memory_bytes)
    trace = server.trace
    if trace is None:
        trace = begin(job)
    else:
        trace.opened.follow()
    is_usable = has_threads = False
    with contextlib.suppress(BaseException), torch.random.fork_rng(devices=()):
        start_random_numbers(job.request.seed)
        importlib.import_module(module)
        has_threads = server.has_threads or fork.threads() > 1
        is_usable = threading.active_count() == 1 and (not has_threads or _computes_in_a_child((jobs, writer)))
    if is_usable:
        with contextlib.suppress(Exception):  # of packages with broken metadata; a job says so
            look_up_versions()
        gc.freeze()  # the collector of a job that is forked from here need not go through all of the package
        os.write(writer, json.dumps(trace.stamps()).encode() + b"\n")
        Serving(jobs, writer, trace, has_threads=has_threads).serve()


def _computes_in_a_child(descriptors: tuple[int, int]) -> bool:
    """Whether a child of this process, whose threads it has not, can do what threads are started for.

    One that waits for the pool of OpenMP that its parent had hangs. Idle threads of other libraries, as of their
    allocators and loggers, do no harm.
    """

    def compute(writer: int) -> None:
        import numpy as np
        import torch

        matrix = torch.ones(512, 512)
        float((matrix @ matrix).exp().sum())
        float((matrix.numpy() @ matrix.numpy()).sum())
        np.linalg.inv(np.eye(128))
        os.write(writer, b"computed")

    pid, reader = fork.fork(compute, not_theirs=descriptors)
    try:
        return bool(select.select([reader], [], [], _PROBE_S)[0] and os.read(reader, _CHUNK))
    finally:
        os.close(reader)
        fork.end(pid)
