"""`torchrecorder update`: record what is missing or out of date in a project, into the cache that is committed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed

from torchrecorder.cli.shared import FAILED, Commands, add_docs, pipeline_of, read_docs
from torchrecorder.diagram import Collected, DiagramRequest, Verdict
from torchrecorder.request import RecordingRequest


def add_to(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "update",
        help="record what is missing or out of date in a project",
        description="Record what is missing or out of date in a project, into its committed cache.",
        allow_abbrev=False,
    )
    add_docs(parser)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many processes record at once")
    parser.set_defaults(execute=run)


def run(arguments: argparse.Namespace) -> int:
    """Update, and give the exit status."""
    found = read_docs(arguments)
    with ThreadPoolExecutor(max(1, arguments.jobs)) as executor:  # each thread has a worker process of its own
        errors = update(found, executor, jobs=max(1, arguments.jobs))
    for target, error in sorted(errors.items()):
        print(f"torchrecorder: error: {target}: {error}", file=sys.stderr)
    return FAILED if errors else 0


def update(found: Collected, executor: Executor, *, jobs: int) -> dict[str, str]:
    """Bring the cache of a project up to date.

    Args:
        found: What the project asks for.
        executor: Runs the parts; any `concurrent.futures.Executor`, whose workers share the cache's folder.
        jobs: Into how many parts the work is divided at least.

    Returns:
        What went wrong, by target.
    """
    recordings = pipeline_of(found).recordings()
    stale = [r for r in found.requests if recordings.look(r.recording)[1].verdict is not Verdict.FRESH]
    fresh = [r for r in found.requests if r not in set(stale)]
    print(f"{len(found.requests)} diagrams, {len(stale)} to be recorded", file=sys.stderr)
    parts = [part for part in (fresh, *_parts(stale, jobs)) if part]
    futures = {executor.submit(draw_part, Collected(found.settings, tuple(part))): len(part) for part in parts}
    errors: dict[str, str] = {}
    bar = _Bar(len(found.requests))
    for future in as_completed(futures):
        errors |= future.result()
        bar.advance(futures[future])
    return errors


def draw_part(part: Collected) -> dict[str, str]:
    """Record and draw some requests; a function of its own, so that any executor can take it elsewhere."""
    outcomes = pipeline_of(part).run(part.requests)
    return {r.recording.target: str(outcome.error) for r, outcome in outcomes.items() if outcome.error is not None}


def _parts(requests: Sequence[DiagramRequest], jobs: int) -> list[list[DiagramRequest]]:
    """The requests dealt out, those of one recording together, small enough that a bar can move."""
    together: dict[RecordingRequest, list[DiagramRequest]] = {}
    for request in sorted(requests, key=lambda request: request.recording.target):
        together.setdefault(request.recording, []).append(request)
    groups = list(together.values())
    size = max(1, min(8, -(-len(groups) // jobs)))
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
