"""Source to Graph: the kept Graph of a model while its code is as it was, else a new recording."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from torchrecorder.cache.index import StampedIndex, stamp_of
from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Store, object_name
from torchrecorder.errors import (
    OUT_OF_MEMORY,
    FormatError,
    HubFailed,
    InputError,
    OutOfDate,
    TorchMissing,
    TorchRecorderError,
    shown_target,
)
from torchrecorder.faults import failed_inside
from torchrecorder.pipeline.failures import REMEMBERED, Failures, files_of
from torchrecorder.request import RecordingRequest, parse_target
from torchrecorder.request.requests import TIMEOUT_S
from torchrecorder.request.settings import Settings
from torchrecorder.trace.freshness import Finding, Freshness, Verdict
from torchrecorder.trace.manifest import Manifest

if TYPE_CHECKING:
    from torchrecorder.graph import Graph
    from torchrecorder.trace.observed import TraceResult
    from torchrecorder.worker.client import Worker
    from torchrecorder.worker.messages import Answer

_RULES = "2"  # changes with what `graph.worth` says, so that answers of before are not taken for those of now
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_OF_THE_MACHINE = (*OUT_OF_MEMORY, "No space left on device", "Too many open files")


@dataclass(slots=True)
class Recording:
    """Graph of one request, as far as it is known."""

    digest: str = ""
    """Hash of the Graph's JSON; empty if there is none."""
    text: bytes | None = None
    """The JSON itself, once it is needed."""
    error: TorchRecorderError | None = None
    """The reason why there is no Graph, or only the part of one that ran."""
    sources: tuple[Path, ...] = ()
    moved: tuple[Path, ...] = ()
    """Sources whose lines may be others than those that were recorded."""
    info: str = ""
    """Remark that it may be out of date, though it most likely is not, or why it is not kept."""
    tried_ns: int = 0
    """Time of the last failure whose cause was not seen; 0 if all that it depended on was."""

    def graph(self) -> Graph:
        """Graph of the text; raises FormatError if there is none, or it is not a Graph."""
        if self.text is None:
            raise FormatError("a Graph of the cache", f"the object {self.digest} is missing or damaged")
        from torchrecorder.graph import from_json

        return from_json(self.text)

    def names(self) -> dict[str, str]:
        """The models that a pattern means, each with why it cannot be built: its text in place of a Graph."""
        try:
            return {str(name): str(why) for name, why in json.loads(self.text or b"").items()}
        except (ValueError, RecursionError, AttributeError) as error:  # others may have written the cache
            raise FormatError("names of models in the cache", str(error)) from error


class Recordings:
    def __init__(
        self,
        cache: LayeredCache,
        machine: Store,
        settings: Settings,
        open_worker: Callable[[], AbstractContextManager[Worker]],
        *,
        retries: bool = False,
        asks_hub: bool = False,
    ) -> None:
        """Make ready for a build.

        `machine` is the cache that remembers failures and what files say; with `retries` what failed is tried again,
        though nothing that it read has changed; with `asks_hub` a recording is out of date too if the hub has another
        commit of what it shows.
        """
        self._cache = cache
        self._machine = machine
        self._settings = settings
        self._open_worker = open_worker
        python = None
        if settings.python:
            from torchrecorder.worker.client import ask

            python = ask(settings.python, machine)
        self._freshness = Freshness(
            settings.root, settings.path, machine, lambda digest: cache.object(digest) or machine.object(digest), python
        )
        self._remembered = ""
        """The digest of what was installed when the first of the new recordings was kept."""
        self._worth = StampedIndex(machine, "worth.json")
        self._failures = Failures(machine, self._freshness, settings.allow)
        self._retries = retries
        self._asks_hub = asks_hub
        self._kept: dict[tuple[RecordingRequest, bool], Recording] = {}
        self.seconds: dict[str, float] = {}
        """Seconds of each new recording, by target."""

    def kept(self, request: RecordingRequest, *, is_tried: bool = False) -> Recording | None:
        """The kept recording, or failure; None if there is none or what it depended on has changed.

        What was found is not looked for again; what was not is, for another build may have recorded it by then.
        """
        asked = request, is_tried
        found = self._kept.get(asked)
        if found is None:
            manifest, finding = self.look(request)
            if manifest is None or finding.verdict is not Verdict.FRESH:
                failed = self.failed(request, is_tried=is_tried)
                found = failed and (self._old(request, failed.error) or failed)
            else:
                info, moved = _commits_shown(request, manifest), self._freshness.moved(manifest)
                found = Recording(manifest.graph, sources=self._freshness.files(manifest), moved=moved, info=info)
        if found is not None:
            self._kept[asked] = found
        return found

    def failed(self, request: RecordingRequest, *, is_tried: bool = False) -> Recording | None:
        """Failure that is remembered; None if the request is to be tried again."""
        if self._retries or (found := self._failures.of(request, is_tried=is_tried)) is None:
            return None
        manifest, error = found
        sources = (*self._freshness.files(manifest), *files_of(error))
        tried_ns = self._failures.tried_ns(request) if manifest.untracked and not is_tried else 0
        return Recording(manifest.graph, error=error, sources=tuple(dict.fromkeys(sources)), tried_ns=tried_ns)

    def names(self, pattern: RecordingRequest, timeout_s: float = TIMEOUT_S) -> Recording:
        """The recording of a pattern, made if there may be other models now than it has."""
        return self.names_kept(pattern) or self.make({pattern: timeout_s}, lambda *_: None)[pattern]

    def names_kept(self, pattern: RecordingRequest) -> Recording | None:
        """The same if it is kept and was not lost, or its failure."""
        found = self.kept(pattern)
        return found if found is not None and (found.error or self.load(found)) else None

    def look(self, request: RecordingRequest) -> tuple[Manifest | None, Finding]:
        """The best manifest there is, with its verdict; raises HubFailed if the hub is asked and does not answer."""
        best: tuple[Manifest | None, Finding] = None, Finding(Verdict.MISSING, ("it was never recorded",))
        key, is_of_machine = request.key(), False
        for entry, is_local in self._cache.entries("recording", key):
            if is_of_machine and not is_local:  # others do not know of what changed here
                break
            try:
                manifest = Manifest.from_json(entry)
                if manifest is None or object_name(manifest.graph) is None or not manifest.is_of(request):
                    continue
                manifest = manifest if is_local else manifest.shared()
                finding = self._finding(manifest)
                if finding.verdict is Verdict.FRESH:
                    self._cache.copy_remote("recording", key, entry)
                    return manifest, finding
            except HubFailed:
                raise
            except Exception as error:  # of a cache that others wrote, in ways that no check foresees
                self._cache.note_unreadable("recording", key, error)
                continue
            if best[0] is None or finding.verdict is Verdict.IMPORT_ONLY:
                best = manifest, finding
            is_of_machine = is_of_machine or finding.is_of_machine
        return best

    def _finding(self, manifest: Manifest) -> Finding:
        finding = self._freshness.of(manifest)
        if self._asks_hub and manifest.commits and finding.verdict is Verdict.FRESH:
            from torchrecorder.hub.files import moved  # a build asks nothing of the hub

            reasons = tuple(moved(manifest.commits))
            return Finding(Verdict.STALE, reasons) if reasons else finding
        return finding

    def against(self, recording: Recording) -> str:
        """Reason why it makes no picture unasked; empty if it is worth one, or its Graph is lost.

        This machine keeps the answers, so that a build in which nothing changed reads no Graph.
        """
        known: str | None = self._worth.get(recording.digest, _RULES)
        if known is None:
            from torchrecorder.graph.worth import against

            with suppress(FormatError):
                self.load(recording)
                known = against(recording.graph())
                self._worth.put(recording.digest, _RULES, known)
        return known or ""

    def save_indexes(self) -> None:
        self._freshness.save_indexes()
        self._worth.save(lambda digest: self._cache.place(digest) or self._machine.object_file(digest))
        self._cache.save_index()

    def make(
        self,
        requests: Mapping[RecordingRequest, float],
        on_each: Callable[[str, int, int], object],
        on_made: Callable[[RecordingRequest, Recording], object] = lambda *_: None,
        *,
        tried: Container[RecordingRequest] = (),
        trials: Collection[RecordingRequest] = (),
        also: Mapping[RecordingRequest, Sequence[RecordingRequest]] = MappingProxyType({}),
    ) -> dict[RecordingRequest, Recording]:
        """New recordings of requests, each given with its time-out in seconds.

        `on_each` is called as each begins: its target, how many began before it, and how many there are; `on_made` with
        each that is made. Failures of those that are `tried` are remembered whatever the cause; `trials` are those of
        them that may take little time and memory; `also` has what else a class is asked as by its other names.
        """
        made: dict[RecordingRequest, Recording] = {}
        if not requests:
            return made
        self._remembered = ""
        with self._open_worker() as worker:
            worker.expect(requests, trials)
            begun = count()
            for request, answer in worker.record_all(
                requests, lambda request: on_each(shown_target(request.target), next(begun), len(requests))
            ):
                for named in (request, *also.get(request, ())):
                    try:
                        made[named] = self._keep(named, answer, is_tried=named in tried)
                    except Exception as error:  # an answer is what the model's code made of it
                        made[named] = Recording(error=failed_inside(named.target, error))
                    made[named] = self._old(named, answer.error) or made[named]
                    on_made(named, made[named])
                name = shown_target(request.target)
                self.seconds[name] = max(answer.seconds, self.seconds.get(name, 0.0))
        return made

    def _keep(self, request: RecordingRequest, answer: Answer, *, is_tried: bool) -> Recording:
        """A new recording; it leaves behind the Graph with all that it depended on, or the failure with all it did."""
        from torchrecorder.trace.observed import ChangedWhileRecorded

        # A name that the system gave may hold half of a surrogate pair, which no file in UTF-8 can.
        graph = answer.graph or "" if answer.names is None else json.dumps(dict(answer.names))
        text = _HALF_PAIR.sub("\N{REPLACEMENT CHARACTER}", graph).encode()
        made = Recording(hashlib.sha256(text).hexdigest() if text else "", text or None, answer.error)
        made.sources = () if answer.trace is None else tuple(map(Path, answer.trace.stamps()))
        try:
            if answer.error is not None:
                made.sources = (*made.sources, *files_of(answer.error))
                if (lasts := _is_lasting(answer)) or (is_tried and not isinstance(answer.error, TorchMissing)):
                    trace = _trace_of_failure(request, answer.trace, self._freshness.file_now)
                    manifest = self._manifest(request, made.digest, trace, self._machine)
                    self._failures.put(request, answer.error, manifest, text, was_tried=not lasts)
            elif text and answer.trace is not None:
                manifest = self._manifest(request, made.digest, answer.trace, self._cache)
                self._cache.put_entry("recording", request.key(), manifest.to_json(), text, manifest.shared().to_json())
                made.info = _commits_shown(request, manifest)
        except ChangedWhileRecorded as changed:
            made.info = (
                f"{shown_target(request.target)}: {changed} changed while it was recorded, so the recording is not"
                " kept, and the next build makes another"
            )
        return made

    def _manifest(
        self, request: RecordingRequest, digest: str, trace: TraceResult, objects: LayeredCache | Store
    ) -> Manifest:
        self._remembered = self._remembered or self._freshness.remember_installed()
        # A cache without salted digests needs no salt, so it is made when it is asked for.
        return self._freshness.manifest(
            request, digest, trace, objects.put_object, lambda: objects.salt, self._remembered
        )

    def load(self, recording: Recording) -> bool:
        """Load the text of a Graph; False if the cache has lost it."""
        if recording.text is None:
            recording.text = self._cache.object(recording.digest) or self._machine.object(recording.digest)
        return recording.text is not None

    def _old(self, request: RecordingRequest, error: TorchRecorderError | None) -> Recording | None:
        """Recording of before, if the new one failed for want of torch or of a package that the model is made of."""
        if error is None:
            return None
        manifest, finding = self.look(request)
        if manifest is None or finding.verdict in (Verdict.MISSING, Verdict.FRESH):
            return None  # a fresh one is asked for again only where its Graph is lost
        if not isinstance(error, TorchMissing) and self._freshness.has_packages_of(manifest):
            return None
        sources, moved = self._freshness.files(manifest), self._freshness.moved(manifest)
        if finding.verdict is Verdict.IMPORT_ONLY:
            return Recording(manifest.graph, sources=sources, moved=moved, info=f"{request.target}: {finding}")
        is_fatal = self._settings.on_stale == "error"
        error = OutOfDate(request.target, finding.reasons, is_fatal, shlex.quote(self._settings.shown_root))
        shown = manifest.graph if self._settings.on_stale == "warn" else ""
        return Recording(shown, error=error, sources=sources, moved=moved)


def _commits_shown(request: RecordingRequest, manifest: Manifest) -> str:
    """Remark on the commit of the hub that is shown, where the target names no revision."""
    commit = next((commit for key, commit in manifest.commits.items() if "@" not in key), "")
    pinned = f"{request.target}@{commit}"
    return commit and f"{request.target} shows commit {commit[:7]} of the hub; {pinned} stays at it"


def _is_lasting(answer: Answer) -> bool:
    """Whether the failure is reproducible until a traced dependency changes."""
    error, trace = answer.error, answer.trace
    if trace is None or not isinstance(error, REMEMBERED) or trace.has_connected:
        return False
    if isinstance(error, InputError) and error.ran_out_of_time:
        return False
    said = f"{error}\n{error.details()}"
    return not any(text in said for text in _OF_THE_MACHINE)


def _trace_of_failure(
    request: RecordingRequest, trace: TraceResult | None, file_of: Callable[[str], Path | None]
) -> TraceResult:
    """Trace by which a failure is compared; without one, as after a time-out, the file of the model's module.

    It has every name that was not found: the target's own is asked for by us, not by the user's code, and what
    installed packages try to import counts too, since one of them may be what failed. Sources are compared as whole
    files, because an error says lines of them.
    """
    from torchrecorder.trace.observed import TraceResult

    if trace is None:
        files = [str(file) for name in _prefixes(request.target) if (file := file_of(name)) is not None]
        trace = TraceResult({}, {}, None, {file: stamp_of(file) for file in files}, {}, {}, {}, (), (), {})
    names = {*trace.missing, *trace.not_found, *_prefixes(request.target), *_prefixes(request.inputs)}
    return replace(trace, executed=None, missing=tuple(sorted(names)))


def _prefixes(target: str) -> Iterator[str]:
    with suppress(ValueError):
        parts = parse_target(target).dotted.split(".")
        yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))
