"""The path of a batch of diagrams: find what is still true, record what is not, draw what is missing.

    request --key--> manifest --fresh--> Graph --key--> drawing

Each arrow that fails costs its step only: a changed depth is drawn again without torch, a changed comment is recorded
again but, giving the same Graph, not drawn again. An error goes to its request; what failed for reasons of its own is
remembered (`pipeline.failures`), and tried again when one of them changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Store
from torchrecorder.drawing.model import CachedDrawing, Drawing
from torchrecorder.errors import FormatError, NotDrawn, TorchRecorderError
from torchrecorder.installation import legacy_install
from torchrecorder.page.diagram import Diagram, Outcome
from torchrecorder.pipeline import collecting
from torchrecorder.pipeline.drawings import Drawings, RenderKey
from torchrecorder.pipeline.recordings import Recording, Recordings
from torchrecorder.request import DiagramRequest, RecordingRequest
from torchrecorder.request.settings import Settings
from torchrecorder.trace.finder import ModuleFinder

if TYPE_CHECKING:
    from torchrecorder.graph import Graph
    from torchrecorder.worker.client import Worker

COPIES = "remote"
"""The part of this machine's cache that holds copies from the remote one."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a batch is."""

    stage: Literal["recording", "drawing"]
    target: str
    """What is being recorded now; empty while drawing, which is one step for all."""
    done: int
    total: int


@dataclass(slots=True)
class Pipeline:
    """Draws diagrams; its parts are chosen here, so that tests can choose others."""

    settings: Settings
    open_worker: Callable[[Sequence[str]], AbstractContextManager[Worker]] | None = None
    writes_committed: bool = False
    """Whether what is made goes into the committed cache, which alone is read then."""
    retries: bool = False
    """Whether what failed before is tried again, though nothing that it read has changed."""
    store: Store = field(init=False)
    cache: LayeredCache = field(init=False)
    has_worked: bool = field(init=False, default=False)
    """Whether anything had to be recorded or drawn."""
    seconds: Mapping[str, float] = field(init=False, default_factory=dict)
    """How long each recording of the last run took by the clock, by target."""
    _looked: Recordings | None = field(init=False, default=None)
    """What was looked at before the run."""
    _early: ExitStack = field(init=False, default_factory=ExitStack)
    _worker: Worker | None = field(init=False, default=None)
    """One that was started before the run."""

    def __post_init__(self) -> None:
        self.store = Store(self.settings.cache)
        self.cache = self._layered()

    def problems(self) -> dict[str, str]:
        """What a build warns of once, whatever its pages show, by the last part of the warning's name.

        The old distribution is looked for only where there was something to do: a build without changes does not wait
        for it, and does not warn again.
        """
        problems = {"cache": self.cache.problem, "install": legacy_install() if self.has_worked else ""}
        return {kind: text for kind, text in problems.items() if text}

    def recordings(self) -> Recordings:
        """What finds and makes recordings for one build."""
        return Recordings(self.cache, self.store, self.settings, self._opened, retries=self.retries)

    def expect(self, request: DiagramRequest) -> None:
        """Start the worker if the request is to be recorded, so that it imports torch while others are still read."""
        if self._worker is not None or collecting.VARIABLE in os.environ:
            return
        self._looked = self._looked or self.recordings()
        if self._looked.kept(request.recording) is None:
            self._worker = self._early.enter_context(self._opened(self.settings.path))
            with suppress(OSError):  # the run meets it again, and says so
                self._worker.start()

    def close(self) -> None:
        """End a worker that was started before a run; a run does so itself."""
        self._worker = None
        self._early.close()

    def _opened(self, path: Sequence[str]) -> AbstractContextManager[Worker]:
        if self._worker is not None:
            return nullcontext(self._worker)
        if self.open_worker is not None:
            return self.open_worker(path)
        from torchrecorder.worker.client import Worker  # a build that records nothing does not wait for it

        return Worker.of(self.settings, path)

    def run(
        self, requests: Iterable[DiagramRequest], on_progress: Callable[[Progress], None] = lambda progress: None
    ) -> dict[DiagramRequest, Outcome]:
        """The outcome of each request, in their order."""
        singles = {request: request.singles() for request in requests}
        switches = any(request.depths for request in singles)
        each = list(dict.fromkeys(one for ones in singles.values() for one in ones)) if switches else [*singles]
        if file := os.environ.get(collecting.VARIABLE):
            collecting.write_requests(file, self.settings, each)
            return {request: Outcome(request, None, NotDrawn()) for request in singles}
        batch = _Batch(self, self._looked or self.recordings(), each, on_progress)
        self._looked = None
        try:
            outcomes = batch.outcomes()
        finally:
            self.close()
            self.cache.close()
        self.has_worked = self.has_worked or batch.has_worked
        self.seconds = batch.recordings.seconds
        if not switches:
            return outcomes
        return {
            request: Outcome.of_depths(request, [outcomes[one] for one in ones]) for request, ones in singles.items()
        }

    def _layered(self) -> LayeredCache:
        settings = self.settings
        committed = [] if settings.committed is None else [Store(settings.committed, is_committed=True)]
        remote = None
        if settings.remote:
            from torchrecorder.cache.remote import Remote

            remote = Remote(settings.remote)
        if self.writes_committed and committed:
            return LayeredCache(committed[0], remote=remote, machine=self.store)
        copies = [Store(settings.cache / COPIES, is_shared=True)] if remote else []
        return LayeredCache(self.store, [*copies, *committed], remote=remote, copies=copies[0] if copies else None)


def _source_of(styler: str, finder: ModuleFinder) -> str:
    from torchrecorder.drawing.styler_process import source_of  # most sites have no styler

    return source_of(styler, finder)


@dataclass(slots=True, eq=False)
class _Item:
    """What is known so far of one request."""

    request: DiagramRequest
    recording: Recording
    key: RenderKey | None = None
    """None without a Graph."""
    drawing: Drawing | CachedDrawing | TorchRecorderError | None = None


class _Batch:
    """One run: what is wanted, and what is known of it so far."""

    def __init__(
        self,
        pipeline: Pipeline,
        recordings: Recordings,
        wanted: Sequence[DiagramRequest],
        on_progress: Callable[[Progress], None],
    ) -> None:
        self.wanted = wanted
        self.has_worked = False
        self.cache = pipeline.cache
        self.on_progress = on_progress
        self.recordings = recordings
        finder = ModuleFinder(pipeline.settings.path)
        self.drawings = Drawings(pipeline.cache, pipeline.store, pipeline.settings, finder)
        self.styler_source = cache(partial(_source_of, finder=finder))
        self.recorded: dict[RecordingRequest, Recording] = {}

    def outcomes(self) -> dict[DiagramRequest, Outcome]:
        kept = {request: self.recordings.kept(request) for request in dict.fromkeys(it.recording for it in self.wanted)}
        self.recorded = {request: recording for request, recording in kept.items() if recording is not None}
        if len(self.recorded) < len(kept):
            self._record([request for request in self.wanted if kept[request.recording] is None])
        items = [_Item(request, self.recorded[request.recording]) for request in self.wanted]
        self._find_drawings(items)
        self.recordings.save_indexes()
        self.drawings.index.save()
        return {item.request: self._outcome(item) for item in items}

    def _find_drawings(self, items: Sequence[_Item]) -> None:
        missing: list[_Item] = []
        for item in items:
            item.key = self._key(item)
            item.drawing = self.drawings.kept(item.key) if item.key else None
            if item.drawing is None:
                missing.append(item)
        if missing:
            self._draw(missing)

    def _draw(self, items: Sequence[_Item]) -> None:
        lost = [item for item in items if item.key and not self.recordings.load(item.recording)]
        self._record([item.request for item in lost])
        for item in lost:
            item.recording = self.recorded[item.request.recording]
            item.key = self._key(item)
        if not (missing := {item.key: item.recording for item in items if item.key}):
            return
        self.has_worked = True
        self.on_progress(Progress("drawing", "", 0, len(missing)))
        made = self.drawings.make(missing)
        for item in items:
            item.drawing = made[item.key] if item.key else None

    def _record(self, requests: Sequence[DiagramRequest]) -> None:
        self.has_worked = self.has_worked or bool(requests)
        timeouts: dict[RecordingRequest, float] = {}
        for request in requests:
            timeouts[request.recording] = max(request.timeout_s, timeouts.get(request.recording, 0.0))
        self.recorded |= self.recordings.make(
            timeouts, lambda target, done, total: self.on_progress(Progress("recording", target, done, total))
        )

    def _key(self, item: _Item) -> RenderKey | None:
        if not item.recording.digest:
            return None
        styler = item.request.drawing.styler
        return RenderKey(item.recording.digest, item.request.drawing, self.styler_source(styler) if styler else "")

    def _outcome(self, item: _Item) -> Outcome:
        request, recording, drawing = item.request, item.recording, item.drawing
        if not isinstance(drawing, Drawing | CachedDrawing):
            return Outcome(request, None, recording.error or drawing, recording.sources)
        if isinstance(drawing, CachedDrawing):
            drawing = CachedDrawing(drawing.digest, drawing.classes, partial(self._load, item, drawing))

        def load_graph() -> Graph:
            self.recordings.load(recording)
            return recording.graph()

        diagram = Diagram(drawing, recording.sources, load_graph=load_graph)
        return Outcome(request, diagram, recording.error, recording.sources, recording.info)

    def _load(self, item: _Item, kept: CachedDrawing) -> Drawing:
        """The drawing; a new one, if it has left the cache or is damaged since it was found."""
        try:
            return kept.load()
        except FormatError:
            self.drawings.index.forget(kept.digest)
        try:
            self._find_drawings([item])
        finally:
            self.cache.close()
        if isinstance(item.drawing, CachedDrawing):  # another build has put it back
            return item.drawing.load()
        if isinstance(item.drawing, Drawing):
            return item.drawing
        error = item.recording.error or item.drawing
        assert error is not None
        raise error
