"""`torchrecorder update`: record what is missing or out of date in a project, into the cache that is committed."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Any

from torchrecorder.cli.shared import FAILED, USAGE, Commands, add_docs, add_remote, pipeline_of, read_docs, remarks_of
from torchrecorder.errors import ClusterFailed
from torchrecorder.pipeline import Collected
from torchrecorder.request import DiagramRequest, RecordingRequest, place
from torchrecorder.trace.freshness import Verdict
from torchrecorder.worker.client import worker_of_thread

_PART = 8
"""The most recordings that are handed out together, so that a bar can move and nobody waits for a last long part."""


def add_to(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "update",
        help="record what is missing or out of date in a project",
        description="Record what is missing or out of date in a project, into its committed cache.",
        allow_abbrev=False,
    )
    add_docs(parser)
    add_remote(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=1, metavar="N", help="how many processes record at once")
    where.add_argument("--dask", metavar="ADDRESS", help="record on the cluster of this dask scheduler")
    parser.set_defaults(execute=run)


def run(arguments: argparse.Namespace) -> int:
    """Update, and give the exit status."""
    if arguments.jobs < 1:
        print("torchrecorder: error: --jobs: write 1 or more", file=sys.stderr)
        return USAGE
    found = read_docs(arguments)
    if arguments.remote:
        remote = place(found.settings.root, arguments.remote)
        found = replace(found, settings=replace(found.settings, remote=remote))
    with _cluster(arguments.dask) if arguments.dask else _threads(arguments.jobs) as (executor, jobs):
        done = update(found, executor, jobs=jobs)
    for remark in sorted(done.remarks):
        print(f"torchrecorder: {remark}", file=sys.stderr)
    for target, error in sorted(done.errors.items()):
        print(f"torchrecorder: error: {target}: {error}", file=sys.stderr)
    return FAILED if done.errors else 0


@dataclass(slots=True)
class Done:
    """What came of some requests."""

    errors: dict[str, str] = field(default_factory=dict)
    """What went wrong, by target."""
    remarks: set[str] = field(default_factory=set)
    """What is to be said of the caches."""


def update(found: Collected, executor: Executor, *, jobs: int) -> Done:
    """Bring the cache of a project up to date.

    Args:
        found: What the project asks for.
        executor: Runs the parts; any `concurrent.futures.Executor`, whose workers share the cache's folder.
        jobs: Into how many parts the work is divided at least.
    """
    pipeline = pipeline_of(found)
    recordings = pipeline.recordings()
    stale = [r for r in found.requests if recordings.look(r.recording)[1].verdict is not Verdict.FRESH]
    pipeline.cache.close()
    is_stale = set(stale)
    fresh = [r for r in found.requests if r not in is_stale]
    print(f"{len(found.requests)} diagrams, {len(stale)} to be recorded", file=sys.stderr)
    done = _all_done(found, fresh, _parts(stale, jobs), executor)
    done.errors |= _lost(found, [r for r in stale if r.recording.target not in done.errors])
    return done


def draw_part(part: Collected) -> Done:
    """Record and draw some requests; a function of its own, so that any executor can take it elsewhere."""
    pipeline = pipeline_of(part, worker_of_thread(part.settings))
    outcomes = pipeline.run(part.requests)
    errors = {r.recording.target: str(outcome.error) for r, outcome in outcomes.items() if outcome.error is not None}
    return Done(errors, set(remarks_of(pipeline)))


def _all_done(
    found: Collected, fresh: Sequence[DiagramRequest], stale: Sequence[Sequence[DiagramRequest]], executor: Executor
) -> Done:
    """What came of all parts; the fresh ones, which are only looked at, do not tell how long the others take."""
    parts = [part for part in (fresh, *stale) if part]
    futures = {executor.submit(draw_part, replace(found, requests=tuple(part))): part for part in parts}
    all_done, bar = Done(), _Bar(sum(map(len, stale)))
    for future in as_completed(futures):
        try:
            done = future.result()
        except Exception as error:  # an executor may lose a worker, with what it was doing
            why = f"the executor lost it: {type(error).__name__}: {error}"
            done = Done({request.recording.target: why for request in futures[future]})
        all_done.errors |= done.errors
        all_done.remarks |= done.remarks
        if futures[future] is not fresh:
            bar.advance(len(futures[future]))
    return all_done


def _lost(found: Collected, recorded: Sequence[DiagramRequest]) -> dict[str, str]:
    """Those whose recording is not in the cache, though nothing went wrong."""
    here = replace(found, settings=replace(found.settings, remote=""))
    recordings = pipeline_of(here).recordings()
    why = "it was recorded, but changed meanwhile, or the workers do not share the folder of the cache"
    return {
        request.recording.target: why
        for request in recorded
        if recordings.look(request.recording)[1].verdict is not Verdict.FRESH
    }


@contextlib.contextmanager
def _threads(jobs: int) -> Iterator[tuple[Executor, int]]:
    with ThreadPoolExecutor(jobs) as executor:  # each thread has a worker process of its own
        yield executor, jobs


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[tuple[Executor, int]]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterFailed(address, f"{error}", 'pip install "torchrecorder-docs[dask]"') from error
    try:
        client: Any = Client(address, timeout=10, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ClusterFailed(address, f"{error}", "is its scheduler running there?") from error
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise ClusterFailed(address, "it has no workers", "start some: dask worker ADDRESS")
        with client.get_executor(pure=False) as executor:
            yield executor, threads


def _parts(requests: Sequence[DiagramRequest], jobs: int) -> list[list[DiagramRequest]]:
    """The requests dealt out, those of one recording together, neighbours by name because they share imports."""
    together: dict[RecordingRequest, list[DiagramRequest]] = {}
    for request in sorted(requests, key=lambda request: request.recording.target):
        together.setdefault(request.recording, []).append(request)
    groups = list(together.values())
    size = max(1, min(_PART, -(-len(groups) // jobs)))
    starts = range(0, len(groups), size)
    return [[request for group in groups[start : start + size] for request in group] for start in starts]


class _Bar:
    """How much is done, and how long the rest may take."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._start = time.monotonic()

    def advance(self, by: int) -> None:
        self._done += by
        if sys.stderr.isatty():
            left = (time.monotonic() - self._start) / self._done * (self._total - self._done)
            filled = 30 * self._done // self._total
            bar = "#" * filled + "." * (30 - filled)
            end = "\n" if self._done == self._total else ""
            print(f"\r[{bar}] {self._done}/{self._total}, about {left:.0f} s left ", end=end, file=sys.stderr)
