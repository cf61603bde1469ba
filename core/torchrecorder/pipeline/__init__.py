"""The path of a batch of diagrams: find what is still true, record what is not, draw what is missing.

    request --key--> manifest --fresh--> Graph --key--> drawing

Each arrow that fails costs its step only: a changed depth is drawn again without torch, a changed comment is recorded
again but, giving the same Graph, not drawn again. An error goes to its request; what failed for reasons of its own is
remembered (`pipeline.failures`), and tried again when one of them changes.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Store
from torchrecorder.drawing.model import CachedDrawing, Drawing
from torchrecorder.errors import FormatError, LeftOut, NotDrawn
from torchrecorder.faults import unforeseen
from torchrecorder.installation import legacy_install
from torchrecorder.page import Diagram, Outcome
from torchrecorder.pipeline.collecting import VARIABLE, write_requests
from torchrecorder.pipeline.drawings import Drawings, Made, RenderKey, source_of
from torchrecorder.pipeline.failures import TRIES
from torchrecorder.pipeline.recordings import Recording, Recordings
from torchrecorder.request import DiagramRequest, DrawingOptions, RecordingRequest, is_pattern, parse_target
from torchrecorder.request.settings import Settings
from torchrecorder.trace.finder import ModuleFinder

if TYPE_CHECKING:
    from torchrecorder.graph import Graph
    from torchrecorder.worker.client import Worker

_MANY = 6
"""Recordings of a batch from which on drawing begins in another process before all are made; it takes a third of a
second to start, and a drawing takes about one."""
COPIES = "remote"
"""The part of this machine's cache that holds copies from the remote one."""

OnProgress = Callable[[str, str, int, int], object]
"""Called with each step: `recording` or `drawing`, which is one step for all; the model that is recorded now; how many
were before it, and how many there are."""


@dataclass(slots=True)
class Pipeline:
    """Draws diagrams; its parts are chosen here, so that tests can choose others."""

    settings: Settings
    open_worker: Callable[[Settings], AbstractContextManager[Worker]] | None = None
    writes_committed: bool = False
    """Whether what is made goes into the committed cache, which alone is read then."""
    retries: bool = False
    """Whether what failed before is tried again, though nothing that it read has changed."""
    asks_hub: bool = False
    """Whether the hub is asked if it has another commit of what is shown."""
    is_alone: bool = False
    """Whether the builder forks no processes, so that what is expected can be recorded while others are still read."""
    collects_into: str = field(init=False)
    """The file that requests are only written to, if a command asks for them."""
    store: Store = field(init=False)
    cache: LayeredCache = field(init=False)
    has_worked: bool = field(init=False, default=False)
    """Whether anything had to be recorded or drawn."""
    seconds: Mapping[str, float] = field(init=False, default_factory=dict)
    """Seconds of each recording of the last run, by target."""
    _looked: Recordings | None = field(init=False, default=None)
    """Recordings that were looked at before the run."""
    _firsts: dict[RecordingRequest, RecordingRequest] = field(init=False, default_factory=dict)
    _early: ExitStack = field(init=False, default_factory=ExitStack)
    _worker: Worker | None = field(init=False, default=None)
    """The worker that was started before the run, or lasts for all of it."""
    _keeps_worker: bool = field(init=False, default=False)
    """Whether the worker that records waits for the drawings, since it is asked for the answers of stylers too."""

    def __post_init__(self) -> None:
        self.collects_into = os.environ.get(VARIABLE, "")
        self.store = Store(self.settings.cache)
        self.cache = self._layered()

    def problems(self) -> dict[str, str]:
        """Warnings for the whole build, by the last part of their names.

        The old distribution is looked for only where there was something to do: a build without changes does not wait
        for it, and does not warn again.
        """
        problems = {"cache": self.cache.problem, "install": legacy_install() if self.has_worked else ""}
        return {kind: text for kind, text in problems.items() if text}

    def recordings(self) -> Recordings:
        asked = {"retries": self.retries, "asks_hub": self.asks_hub}
        return Recordings(self.cache, self.store, self.settings, self.open_worker_of_run, **asked)

    def expect(self, request: DiagramRequest) -> None:
        """Start the worker if the request is to be recorded, so that it imports torch while others are still read."""
        if self.collects_into or (self._worker is not None and not self.is_alone):
            return
        with suppress(Exception):  # the run meets it again, and says so
            self._looked = self._looked or self.recordings()
            if self._looked.kept(request.recording, is_tried=request.is_tried) is None:
                worker = self._started()
                if self.is_alone and self.first_of(request) == request.recording:
                    worker.submit(request.recording, request.timeout_s, is_trial=request.is_trial)

    def first_of(self, request: DiagramRequest) -> RecordingRequest:
        """The recording that a class is first asked for, whatever its name: one class may be documented by several."""
        asked = request.recording
        target = parse_target(asked.target)
        named = asked if not request.defined else replace(asked, target=str(replace(target, dotted=request.defined)))
        return self._firsts.setdefault(named, asked)

    def expect_any(self) -> None:
        """Start the worker before a request is known, if no build has been before: this one most likely needs it."""
        known = self.settings.cache.exists() or self.settings.committed or self.settings.remote
        if self.is_alone and not known and not self.collects_into:
            self._started()

    def _started(self) -> Worker:
        if self._worker is None:
            self._worker = self._early.enter_context(self._new_worker())
            with suppress(OSError):  # the run meets it again, and says so
                self._worker.start()
        return self._worker

    def advance(self) -> None:
        """Let the worker go on with what is expected; to be called now and then, for it never waits."""
        if self._worker is not None and self.is_alone:
            self._worker.advance()

    def close(self) -> None:
        """End a worker that was started before a run; a run does so itself."""
        self._worker, self._keeps_worker = None, False
        self._early.close()

    def open_worker_of_run(self) -> AbstractContextManager[Worker]:
        """The worker of the whole run if there is one, else one for the caller."""
        if self._worker is None and self._keeps_worker:
            self._worker = self._early.enter_context(self._new_worker())
        return self._new_worker() if self._worker is None else nullcontext(self._worker)

    def _new_worker(self) -> AbstractContextManager[Worker]:
        if self.open_worker is not None:
            return self.open_worker(self.settings)
        from torchrecorder.worker.client import Worker  # a build that records nothing does not wait for it

        return Worker.of(self.settings)

    def run(
        self, requests: Iterable[DiagramRequest], on_progress: OnProgress = lambda *_: None
    ) -> dict[DiagramRequest, Outcome]:
        """Outcome of each request, in their order; that of a pattern has those of its models."""
        wanted = [*dict.fromkeys(requests)]
        patterns = [it for it in wanted if is_pattern(it.recording.target)]
        if not patterns or self.collects_into:
            return self._run(wanted, on_progress)
        self._looked, self._keeps_worker = self._looked or self.recordings(), True
        lists = {it: self._list(self._looked, it) for it in patterns}
        models = [one for each in lists.values() for one in _models(each)]
        outcomes = self._run([*(it for it in wanted if it not in lists), *models], on_progress)
        return {it: lists[it].with_models(outcomes) if it in lists else outcomes[it] for it in wanted}

    def with_models(self, requests: Iterable[DiagramRequest]) -> tuple[DiagramRequest, ...]:
        """The requests, and those of the models of their patterns, as far as these are known without a recording."""
        recordings, each = self.recordings(), [*requests]
        for request in [it for it in each if is_pattern(it.recording.target)]:
            kept = recordings.names_kept(request.recording)
            if kept is not None:
                each += _models(listed(request, kept))
        return tuple(dict.fromkeys(each))

    def _list(self, recordings: Recordings, request: DiagramRequest) -> Outcome:
        """Outcome of a pattern with the requests of its models, none of which is recorded yet."""
        try:
            return listed(request, recordings.names(request.recording, request.timeout_s))
        except Exception as error:  # a cache or a file system that no check foresees ends no build
            return Outcome(request, None, unforeseen(request.recording.target, error))

    def _run(self, requests: Iterable[DiagramRequest], on_progress: OnProgress) -> dict[DiagramRequest, Outcome]:
        singles = {request: request.singles() for request in requests}
        switches = any(request.depths for request in singles)
        each = list(dict.fromkeys(one for ones in singles.values() for one in ones)) if switches else [*singles]
        if self.collects_into:
            olds = (replace(it, recording=it.old, drawing=DrawingOptions()) for it in each if it.old is not None)
            write_requests(self.collects_into, self.settings, [*dict.fromkeys((*each, *olds))])
            return {request: Outcome(request, None, NotDrawn()) for request in singles}
        recordings, self._looked = self._looked or self.recordings(), None
        self._keeps_worker = self._keeps_worker or any(one.drawing.styler for one in each)
        try:
            outcomes = _each_alone(
                lambda wanted: self._outcomes(recordings, wanted, on_progress),
                each,
                lambda one, error: Outcome(one, None, unforeseen(one.recording.target, error)),
            )
        finally:
            self.close()
            self.cache.close()
        self.seconds = recordings.seconds
        if not switches:
            return outcomes
        return {
            request: Outcome.of_depths(request, [outcomes[one] for one in ones]) for request, ones in singles.items()
        }

    def _outcomes(
        self, recordings: Recordings, wanted: Sequence[DiagramRequest], on_progress: OnProgress
    ) -> dict[DiagramRequest, Outcome]:
        batch = _Batch(self, recordings, wanted, on_progress)
        try:
            return batch.outcomes()
        finally:
            batch.drawings.close()
            self.has_worked = self.has_worked or batch.has_worked

    def graphs(self, requests: Sequence[DiagramRequest]) -> list[Graph]:
        """Graphs of some requests, recorded where nothing true is kept; raises what failed."""
        recordings = self.recordings()
        found = {request.recording: recordings.kept(request.recording) for request in requests}
        missing = {it.recording: it.timeout_s for it in requests if not (kept := found[it.recording]) or kept.error}
        try:
            recorded = {**found, **recordings.make(missing, lambda *_: None)}
            graphs = []
            for request in requests:
                recording = recorded[request.recording]
                assert recording is not None
                if recording.error is not None:
                    raise recording.error
                recordings.load(recording)
                graphs.append(recording.graph())
            return graphs
        finally:
            recordings.save_indexes()
            self.cache.close()

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


_Asked = TypeVar("_Asked")
_Got = TypeVar("_Got")


def _each_alone(
    work: Callable[[Sequence[_Asked]], dict[_Asked, _Got]],
    asked: Sequence[_Asked],
    failed: Callable[[_Asked, Exception], _Got],
) -> dict[_Asked, _Got]:
    """What comes of all; where our own code raises in the midst of them, of each by itself, with an error for that."""
    try:
        return work(asked)
    except Exception as error:  # a cache or a file system that no check foresees ends no build
        if len(asked) == 1:
            return {asked[0]: failed(asked[0], error)}
    return {one: got for it in asked for one, got in _each_alone(work, [it], failed).items()}


def listed(request: DiagramRequest, recording: Recording) -> Outcome:
    """Outcome of a pattern, with one for each name that it means: `LeftOut`, or `NotDrawn` if it is still to be drawn.

    Raises:
        FormatError: The recording has no names.
    """
    models: list[Outcome] = []
    for name, obstacle in () if recording.error else recording.names().items():
        named = replace(request.recording, target=name)
        model = replace(request, recording=named, is_tried=True, left_out=())
        models.append(Outcome(model, None, LeftOut(name, obstacle) if obstacle else NotDrawn()))
    return Outcome(request, None, recording.error, recording.sources, models=tuple(models))


def _models(listed: Outcome) -> list[DiagramRequest]:
    return [it.request for it in listed.models if isinstance(it.error, NotDrawn)]


def _to_try_again(kept: Mapping[RecordingRequest, Recording | None]) -> list[RecordingRequest]:
    """The failures of which it is not known what would cure them, as many as a build tries; first the oldest."""
    unsure = {it: found for it, found in kept.items() if found is not None and found.tried_ns}
    ordered = sorted(unsure, key=lambda it: unsure[it].tried_ns)
    for it in ordered[TRIES:]:
        unsure[it].info = (
            f"of the diagrams that fail on something outside of what was seen, a build tries {TRIES} again; "
            "`sphinx-build -E` or `torchrecorder update --retry` tries all"
        )
    return ordered[:TRIES]


def _timeouts(requests: Iterable[DiagramRequest]) -> dict[RecordingRequest, float]:
    found: dict[RecordingRequest, float] = {}
    for request in requests:
        for recording in filter(None, (request.recording, request.old)):
            found[recording] = max(request.timeout_s, found.get(recording, 0.0))
    return found


@dataclass(slots=True, eq=False)
class _Item:
    request: DiagramRequest
    recording: Recording
    old: Recording | None = None
    key: RenderKey | None = None  # None without a Graph
    drawing: Made | None = None


class _Batch:
    def __init__(
        self, pipeline: Pipeline, recordings: Recordings, wanted: Sequence[DiagramRequest], on_progress: OnProgress
    ) -> None:
        self.wanted = wanted
        self.has_worked = False
        self.cache = pipeline.cache
        self.on_progress = on_progress
        self.recordings = recordings
        self.at_once = pipeline.settings.jobs or os.cpu_count() or 1
        finder = ModuleFinder(pipeline.settings.path)
        self.drawings = Drawings(pipeline.cache, pipeline.store, pipeline.settings, finder, pipeline.open_worker_of_run)
        self.styler_source = cache(partial(source_of, finder=finder))
        self.recorded: dict[RecordingRequest, Recording] = {}
        self.tried = {it.recording for it in wanted} - {it.recording for it in wanted if not it.is_tried}
        self.trials = {it.recording for it in wanted} - {it.recording for it in wanted if not it.is_trial}
        self.firsts = {it.recording: pipeline.first_of(it) for it in wanted}
        self.shown: dict[RecordingRequest, list[DiagramRequest]] = defaultdict(list)
        for request in wanted:
            self.shown[request.recording].append(request)

    def outcomes(self) -> dict[DiagramRequest, Outcome]:
        needed = _timeouts(self.wanted)
        kept = {it: self.recordings.kept(it, is_tried=it in self.tried) for it in needed}
        kept |= dict.fromkeys(_to_try_again(kept))
        self.recorded = {request: recording for request, recording in kept.items() if recording is not None}
        if len(self.recorded) < len(kept):
            self._record({request: seconds for request, seconds in needed.items() if kept[request] is None})
        items = [self._item(request) for request in self.wanted]
        self._find_drawings(items)
        self.recordings.save_indexes()
        self.drawings.index.save()
        return {item.request: self._outcome(item) for item in items}

    def _item(self, request: DiagramRequest) -> _Item:
        recording = self.recorded[request.recording]
        if request.is_ranked and recording.error is None and (reason := self.recordings.against(recording)):
            recording = Recording(error=LeftOut(request.recording.target, reason), sources=recording.sources)
        return _Item(request, recording, self.recorded[request.old] if request.old else None)

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
        load = self.recordings.load
        lost = [it for it in items if it.key and not (load(it.recording) and (it.old is None or load(it.old)))]
        for item in lost:
            item.drawing = self.drawings.of_others.get(item.key) if item.key else None
        lost = [item for item in lost if item.drawing is None]
        self._record(_timeouts([item.request for item in lost]))
        for item in lost:
            again = self._item(item.request)
            item.recording, item.old = again.recording, again.old
            item.key = self._key(item)
        if not (missing := {item.key: item.recording for item in items if item.key and item.drawing is None}):
            return
        olds = {item.key: item.old for item in items if item.key and item.old is not None}
        self.has_worked = True
        self.on_progress("drawing", "", 0, len(missing))
        targets = {item.key: item.request.recording.target for item in items if item.key}
        made: dict[RenderKey, Made] = _each_alone(
            lambda keys: self.drawings.make({key: missing[key] for key in keys}, olds),
            [*missing],
            lambda key, error: unforeseen(targets[key], error),
        )
        for item in items:
            if item.drawing is None and item.key:
                item.drawing = made[item.key]

    def _record(self, timeouts: Mapping[RecordingRequest, float]) -> None:
        self.has_worked = self.has_worked or bool(timeouts)
        also: dict[RecordingRequest, list[RecordingRequest]] = {}
        for request in timeouts:
            first = self.firsts.get(request, request)
            if first != request and first in timeouts:
                also.setdefault(first, []).append(request)
        others = {request for requests in also.values() for request in requests}
        alone = {request: seconds for request, seconds in timeouts.items() if request not in others}
        make = partial(self.recordings.make, tried=self.tried, trials=self.trials, also=also)
        on_made = self._order if len(alone) >= _MANY and self.at_once > 1 else lambda *_: None
        self.recorded |= make(alone, partial(self.on_progress, "recording"), on_made)

    def _order(self, recorded: RecordingRequest, recording: Recording) -> None:
        """Have what is shown of a recording drawn while others are made, in another process."""
        self.recorded[recorded] = recording
        for request in self.shown[recorded] if recording.error is None else ():
            if request.old is None and not request.drawing.styler:
                key = self._key(self._item(request))
                if key is not None and recording.text is not None:
                    self.drawings.order(key, recording.text)

    def _key(self, item: _Item) -> RenderKey | None:
        old = item.old
        if not item.recording.digest or (old is not None and (old.error is not None or not old.digest)):
            return None
        styler, options = item.request.drawing.styler, item.request.drawing
        source = self.styler_source(styler) if styler else ""
        return RenderKey(item.recording.digest, options, source, "" if old is None else old.digest)

    def _outcome(self, item: _Item) -> Outcome:
        request, recording, drawing = item.request, item.recording, item.drawing
        sources = recording.sources if item.old is None else (*recording.sources, *item.old.sources)
        if not isinstance(drawing, Drawing | CachedDrawing):
            error = recording.error or (item.old.error if item.old is not None else None) or drawing
            return Outcome(request, None, error, sources, recording.info)
        if isinstance(cached := drawing, CachedDrawing):
            drawing = CachedDrawing(drawing.digest, drawing.classes, lambda: self._load(item, cached))

        def load_graph() -> Graph:
            self.recordings.load(recording)
            return recording.graph()

        diagram = Diagram(drawing, sources, recording.moved, load_graph=load_graph, options=request.drawing)
        return Outcome(request, diagram, recording.error, sources, recording.info)

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
