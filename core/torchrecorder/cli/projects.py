"""`torchrecorder update` and `torchrecorder check` of a documentation: recordings that are true to its models.

`update` records what is missing or out of date, into the cache that is committed; `check` only says what that is, and
needs no torch.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchrecorder.cli.shared import cache_remarks, report
from torchrecorder.errors import ClusterFailed, OptionError, shown_text
from torchrecorder.pipeline import Pipeline
from torchrecorder.pipeline.collecting import Collected, collect, configuration_of
from torchrecorder.pipeline.recordings import Recording
from torchrecorder.request import DiagramRequest, RecordingRequest, Settings, is_pattern, place
from torchrecorder.trace.freshness import Verdict

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from torchrecorder.worker.client import Worker

_PART = 8
"""The most recordings for one process that are handed out together, so that a bar can move and no last long part is
waited for."""

_WHERE = 'write torchrecorder_cache = "diagrams" in conf.py, or `cache: diagrams` under the plugin in mkdocs.yml'


def run_update(arguments: argparse.Namespace) -> int:
    from concurrent.futures import ThreadPoolExecutor  # with what starts processes, which `check` does not

    from torchrecorder.worker.client import processors

    collected = _collect(arguments.docs, retries=arguments.retry)
    project = replace(collected, retries=arguments.retry, asks_hub=arguments.hub)
    if arguments.remote:
        remote = place(project.settings.root, arguments.remote)
        project = replace(project, settings=replace(project.settings, remote=remote))
    # Each thread of an executor has a worker of its own, which forks for each job.
    at_once = 1 if arguments.dask else arguments.jobs or processors()
    project = replace(project, settings=replace(project.settings, jobs=at_once))
    with project.as_in_a_build():
        if arguments.dask:
            with connected(arguments.dask) as (executor, threads):
                done = update(project, executor, jobs=threads)
        else:
            with ThreadPoolExecutor(1) as executor:
                done = update(project, executor, jobs=1)
    remarks, errors = sorted(done.remarks | {project.remark} - {""}), dict(sorted(done.errors.items()))
    answer = {**asdict(done), "remarks": remarks}
    return report(arguments, answer, remarks=remarks, errors=errors, is_good=not errors)


def run_check(arguments: argparse.Namespace) -> int:
    project = _collect(arguments.docs)
    # What others have recorded is not in the project yet.
    project = replace(project, settings=replace(project.settings, remote=""), asks_hub=arguments.hub)
    with project.as_in_a_build():
        rows, remarks = checked(project, verify=arguments.verify)
    remarks += [project.remark] if project.remark else []
    wrong = sum(row.is_wrong for row in rows)
    printed = [{**row.request.to_json(), "verdict": row.verdict, "reason": row.reason} for row in rows]
    verdicts = ((row.verdict.upper() if row.is_wrong else "not provable", row) for row in rows if row.reason)
    lines = [f"{verdict:11} {row.request.target}: {row.reason}" for verdict, row in verdicts]
    lines.append(f"{_counted(len(rows))}, {f'{wrong} to be recorded' if wrong else 'all fresh'}")
    answer = {"recordings": printed, "to_be_recorded": wrong, "remarks": remarks}
    return report(arguments, answer, lines, remarks=remarks, is_good=not wrong)


@dataclass(frozen=True, slots=True)
class Checked:
    """State of one recording."""

    request: RecordingRequest
    verdict: str
    """That of a `Verdict`, or `failed`, or `differs`."""
    reason: str
    """Why it is not fresh; of one that is, what cannot be proved of it, if anything."""
    graph: str = ""
    """Hash of its Graph, if it was ever recorded."""

    @property
    def is_wrong(self) -> bool:
        return self.verdict != Verdict.FRESH.value


def checked(project: Collected, *, verify: bool = False) -> tuple[list[Checked], list[str]]:
    """States of the recordings that a project needs, and remarks on its caches."""
    pipeline = _pipeline(project)
    project = replace(project, requests=pipeline.with_models(project.requests))
    wanted = list(dict.fromkeys(request.recording for request in project.requests))
    recordings = pipeline.recordings()
    # What was tried and is not there most likely cannot be recorded; only the machine that tried it knows.
    tried = {it.recording for it in project.requests} - {it.recording for it in project.requests if not it.is_tried}
    wanted = [request for request in wanted if request not in tried or recordings.look(request)[0] is not None]
    different = _different(project) if verify else {}
    rows: list[Checked] = []
    for request in wanted:
        manifest, finding = recordings.look(request)
        verdict, reason = finding.verdict.value, str(finding)
        if finding.verdict is Verdict.FRESH:
            untracked = manifest.untracked if manifest is not None else ()
            reason = f"its code {shown_text(', '.join(untracked))}" if untracked else ""
            if request in different:
                verdict, reason = "differs", different[request]
        elif (failed := recordings.failed(request)) and failed.error:
            verdict, reason = "failed", failed.error.summary()
        rows.append(Checked(request, verdict, reason, "" if manifest is None else manifest.graph))
    recordings.save_indexes()
    pipeline.cache.close()
    return rows, cache_remarks(pipeline)


def _counted(recordings: int) -> str:
    return f"{recordings} recording{'' if recordings == 1 else 's'}"


@dataclass(slots=True)
class Done:
    errors: dict[str, str] = field(default_factory=dict)
    """What went wrong, by target."""
    remarks: set[str] = field(default_factory=set)
    """What users should know of the caches."""
    recordings: int = 0
    to_be_recorded: int = 0
    """How many of them, before they were."""


def update(project: Collected, executor: Executor, *, jobs: int) -> Done:
    from concurrent.futures import as_completed

    known = _known(project)
    stale = [request for request, recording in known.items() if recording is None]
    fresh = [request for request, recording in known.items() if recording is not None]
    failed = len({it.recording for it, kept in known.items() if kept and kept.error and not it.is_tried})
    again = f", {failed} failed before and are as they were (--retry tries them again)" if failed else ""
    count, missing = (len({request.recording for request in requests}) for requests in (known, stale))
    print(f"{_counted(count)}, {missing} to be recorded{again}", file=sys.stderr)
    # The fresh ones are looked at too, but do not count for the bar: they do not tell how long the others take.
    most = _PART * max(1, project.settings.jobs)
    parts = [part for part in (fresh, *_parts(stale, jobs, most)) if part]
    futures = {executor.submit(draw_part, replace(project, requests=tuple(part))): part for part in parts}
    all_done, bar = Done(recordings=count, to_be_recorded=missing), _Bar(len(stale))
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
    why = "it was recorded, but has changed since, or the workers do not share the folder of the cache"
    here = replace(project, settings=replace(project.settings, remote=""), requests=tuple(stale))
    all_done.errors |= {
        request.recording.target: why
        for request, recording in _known(here).items()
        if recording is None and request.recording.target not in all_done.errors and not request.is_tried
    }
    return all_done


def draw_part(part: Collected) -> Done:
    """Record and draw some requests; a function of its own, so that any executor can take it elsewhere."""
    from torchrecorder.worker.lasting import PersistentWorker

    pipeline = _pipeline(part, PersistentWorker.of_thread)
    with part.as_in_a_build():
        outcomes = pipeline.run(part.requests)
    each = [one for outcome in outcomes.values() for one in (outcome, *outcome.models)]
    errors = {it.request.recording.target: str(it.error) for it in each if it.error and not it.is_skipped}
    return Done(errors, set(cache_remarks(pipeline)))


def _collect(docs: Path, *, retries: bool = False) -> Collected:
    project = collect(docs)
    configuration = configuration_of(docs)
    # Builds of MkDocs keep what they record where this command finds it.
    is_found = retries and configuration is not None and configuration.name != "conf.py"
    if project.settings.committed is None and not is_found:
        more = "; a build of Sphinx tries again what failed with -E" if retries else ""
        raise OptionError((f"{docs} does not set a cache: {_WHERE}{more}",))
    return project


def _pipeline(
    project: Collected, open_worker: Callable[[Settings], AbstractContextManager[Worker]] | None = None
) -> Pipeline:
    asked = {"retries": project.retries, "asks_hub": project.asks_hub}
    return Pipeline(project.settings, open_worker, writes_committed=True, **asked)


def _known(project: Collected) -> dict[DiagramRequest, Recording | None]:
    """Recording of each request; None if it is to be made."""
    pipeline = _pipeline(project)
    recordings, requests = pipeline.recordings(), pipeline.with_models(project.requests)
    known = {request: recordings.kept(request.recording, is_tried=request.is_tried) for request in requests}
    pipeline.cache.close()
    return known


def _different(project: Collected) -> dict[RecordingRequest, str]:
    """The recordings that are fresh by their manifests and come out otherwise when made again, each with what does."""
    kept, different = _pipeline(project).recordings(), dict[RecordingRequest, str]()
    with tempfile.TemporaryDirectory(prefix="torchrecorder-") as scratch:
        here, cache = project.settings, Path(scratch)
        settings = replace(here, cache=cache, committed=None, remote="", project=here.root)
        requests = {it.recording: it.timeout_s for it in project.requests if not is_pattern(it.recording.target)}
        again = Pipeline(settings).recordings().make(requests, lambda *_: None)
    for request in again:
        manifest, finding = kept.look(request)
        if manifest is not None and finding.verdict is Verdict.FRESH and again[request].digest != manifest.graph:
            different[request] = str(again[request].error or "recorded again, it gives another graph")
    return different


@contextmanager
def connected(address: str) -> Iterator[tuple[Executor, int]]:
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


def _parts(requests: Sequence[DiagramRequest], jobs: int, most: int) -> list[list[DiagramRequest]]:
    """The requests dealt out, those of one recording together, neighbours by name because they share imports."""
    together: dict[RecordingRequest, list[DiagramRequest]] = {}
    for request in sorted(requests, key=lambda request: request.recording.target):
        together.setdefault(request.recording, []).append(request)
    groups = list(together.values())
    size = max(1, min(most, -(-len(groups) // jobs)))
    starts = range(0, len(groups), size)
    return [[request for group in groups[start : start + size] for request in group] for start in starts]


class _Bar:
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
