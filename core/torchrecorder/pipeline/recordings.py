"""Source to Graph: the kept Graph of a model while its code is as it was, else a new recording."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Store, object_name
from torchrecorder.errors import FormatError, OutOfDate, TorchMissing, TorchRecorderError, shown_target
from torchrecorder.faults import failed_inside
from torchrecorder.pipeline.failures import Failures, files_of
from torchrecorder.request import RecordingRequest
from torchrecorder.request.settings import Settings
from torchrecorder.trace.digests import FileDigests
from torchrecorder.trace.finder import ModuleFinder
from torchrecorder.trace.freshness import Finding, Freshness, Verdict
from torchrecorder.trace.installed import Installed, what_changed
from torchrecorder.trace.manifest import Manifest, table_from_json

if TYPE_CHECKING:
    from torchrecorder.graph import Graph
    from torchrecorder.worker.client import Worker


@dataclass(slots=True)
class Recording:
    """What is known of the Graph of one request."""

    digest: str = ""
    """Hash of the Graph's JSON; empty if there is none."""
    text: bytes | None = None
    """The JSON itself, once it is needed."""
    error: TorchRecorderError | None = None
    """Why there is no Graph, or only the part of one that ran."""
    sources: tuple[Path, ...] = ()
    info: str = ""
    """Why it may be out of date, though it most likely is not, or why it is not kept."""

    tried_ns: int = 0
    """When it last failed for a cause that was not seen; 0 if all that it depended on was."""
    is_from_names: bool = False
    """Whether its inputs were guessed from the names of parameters alone."""

    def graph(self) -> Graph:
        """The Graph, from its text.

        Raises:
            FormatError: There is no text, or it is not a Graph.
        """
        if self.text is None:
            raise FormatError("a Graph of the cache", f"the object {self.digest} is missing or damaged")
        from torchrecorder.graph import from_json

        return from_json(self.text)


class Recordings:
    """Finds and makes recordings for one build."""

    def __init__(
        self,
        cache: LayeredCache,
        machine: Store,
        settings: Settings,
        open_worker: Callable[[Sequence[str]], AbstractContextManager[Worker]],
        *,
        retries: bool = False,
    ) -> None:
        """Make ready for a build.

        Args:
            cache: Where recordings are kept.
            machine: The cache of this machine, which remembers failures and what files say.
            settings: Those of the project.
            open_worker: Gives a worker that imports from some folders.
            retries: Whether what failed is tried again, though nothing that it read has changed.
        """
        self._cache = cache
        self._machine = machine
        self._settings = settings
        self._open_worker = open_worker
        self._digests = FileDigests(machine)
        self._own_path: list[str] | None = None
        self._python = ""
        if settings.python:
            from torchrecorder.worker.interpreter import ask

            if (interpreter := ask(settings.python, machine)) is not None:
                self._own_path, self._python = interpreter
        self._freshness = Freshness(
            settings.root,
            self._finder(),
            self._digests,
            lambda digest: table_from_json(cache.object(digest) or machine.object(digest)),
            self._own_path,
            self._what_changed,
        )
        self._installed: tuple[Installed, str] | None = None
        self._failures = Failures(machine, self._freshness, settings.allow)
        self._retries = retries
        self._kept: dict[tuple[RecordingRequest, bool], Recording] = {}
        self.seconds: dict[str, float] = {}
        """How long each new recording took by the clock, by target."""

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
                sources = self._freshness.files(manifest)
                found = Recording(manifest.graph, sources=sources, is_from_names=manifest.is_from_names)
        if found is not None:
            self._kept[asked] = found
        return found

    def failed(self, request: RecordingRequest, *, is_tried: bool = False) -> Recording | None:
        """What is remembered of a recording that failed; None if it is to be tried again."""
        if self._retries or (found := self._failures.of(request, is_tried=is_tried)) is None:
            return None
        manifest, error = found
        sources = (*self._freshness.files(manifest), *files_of(error))
        tried_ns = self._failures.tried_ns(request) if manifest.untracked and not is_tried else 0
        return Recording(manifest.graph, error=error, sources=tuple(dict.fromkeys(sources)), tried_ns=tried_ns)

    def look(self, request: RecordingRequest) -> tuple[Manifest | None, Finding]:
        """The best that is known of a request, fresh or not."""
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
                finding = self._freshness.of(manifest)
                if finding.verdict is Verdict.FRESH:
                    self._cache.copy_remote("recording", key, entry)
                    return manifest, finding
            except Exception as error:  # of a cache that others wrote, in ways that no check foresees
                self._cache.note_unreadable("recording", key, error)
                continue
            if best[0] is None or finding.verdict is Verdict.IMPORT_ONLY:
                best = manifest, finding
            is_of_machine = is_of_machine or finding.is_of_machine
        return best

    def save_indexes(self) -> None:
        """Leave to the next build what this one read of files."""
        self._digests.save_indexes()
        self._cache.save_index()

    def make(
        self,
        requests: Mapping[RecordingRequest, float],
        on_each: Callable[[str, int, int], None],
        tried: Container[RecordingRequest] = (),
    ) -> dict[RecordingRequest, Recording]:
        """New recordings.

        Args:
            requests: The requests, each with its time-out in seconds.
            on_each: Called as each begins with its target, how many began before it, and how many there are.
            tried: Those that a site only tries: their failures are remembered, whatever the cause.
        """
        made: dict[RecordingRequest, Recording] = {}
        if not requests:
            return made
        from torchrecorder.graph.codec import is_from_names
        from torchrecorder.pipeline.making import Keeper  # what a build needs that finds all as it was, ends here

        keeper = Keeper(
            self._cache, self._machine, self._settings, self._digests, self._failures, self._finder, self._installed_now
        )
        with self._open_worker(self._settings.path) as worker:
            worker.expect(requests)
            begun = count()
            for request, answer in worker.record_all(
                requests, lambda request: on_each(shown_target(request.target), next(begun), len(requests))
            ):
                try:
                    digest, text, sources, info = keeper.keep(request, answer, is_tried=request in tried)
                    made[request] = Recording(digest, text or None, answer.error, sources, info)
                    made[request].is_from_names = is_from_names(text)
                except Exception as error:  # an answer is what the model's code made of it
                    made[request] = Recording(error=failed_inside(request.target, error))
                name = shown_target(request.target)
                self.seconds[name] = max(answer.seconds, self.seconds.get(name, 0.0))
                made[request] = self._old(request, answer.error) or made[request]
        return {request: made[request] for request in requests}

    def load(self, recording: Recording) -> bool:
        """Load the text of a Graph; False if the cache has lost it."""
        if recording.text is None:
            recording.text = self._cache.object(recording.digest) or self._machine.object(recording.digest)
        return recording.text is not None

    def _old(self, request: RecordingRequest, error: TorchRecorderError | None) -> Recording | None:
        """What was recorded before, if it failed now for want of torch or of a package that the model is made of."""
        if error is None:
            return None
        manifest, finding = self.look(request)
        if manifest is None or finding.verdict in (Verdict.MISSING, Verdict.FRESH):
            return None  # a fresh one is asked for again only where its Graph is lost
        if not isinstance(error, TorchMissing) and self._freshness.has_packages_of(manifest):
            return None
        sources = self._freshness.files(manifest)
        if finding.verdict is Verdict.IMPORT_ONLY:
            return Recording(manifest.graph, sources=sources, info=f"{request.target}: {finding}")
        is_fatal = self._settings.on_stale == "error"
        error = OutOfDate(request.target, finding.reasons, is_fatal, shlex.quote(self._settings.shown_root))
        return Recording(manifest.graph if self._settings.on_stale == "warn" else "", error=error, sources=sources)

    def _installed_now(self) -> Installed:
        return Installed.on(self._settings.path, self._own_path, self._python)

    def _what_changed(self, then: str) -> str:
        """What was installed or removed since a recording; nothing where none can be made, which needs other things."""
        if self._installed is None:
            now = self._installed_now()
            self._installed = now, now.digest()
        now, digest = self._installed
        return "" if then == digest or "torch" not in now.distributions else what_changed(self._machine, then, now)

    def _finder(self) -> ModuleFinder:
        """Finds modules where the worker does."""
        path = self._settings.path
        if self._own_path is None:
            return ModuleFinder(path)
        from torchrecorder.worker.interpreter import foreign_path

        return ModuleFinder(foreign_path(path), self._own_path)
