"""The path of a batch of diagrams: find what is still true, record what is not, draw what is missing.

    request --key--> manifest --fresh--> Graph --key--> drawing

Each arrow that fails costs its step only: a changed depth is drawn again without torch, a changed comment is recorded
again but, giving the same Graph, not drawn again. An error is told to its request and never kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from torchrecorder.diagram.finder import ModuleFinder
from torchrecorder.diagram.manifest import Freshness, Manifest
from torchrecorder.diagram.model import Diagram, Drawing
from torchrecorder.diagram.options import DiagramRequest, DrawingOptions
from torchrecorder.diagram.settings import Settings
from torchrecorder.diagram.store import Store
from torchrecorder.diagram.worker import Answer, Worker
from torchrecorder.errors import EngineNotFound, FormatError, TorchRecorderError
from torchrecorder.graph import Graph, from_json
from torchrecorder.renderer import REVISION
from torchrecorder.request import RecordingRequest

if TYPE_CHECKING:
    from torchrecorder.renderer.layout import Engine


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request: a diagram, an error, or both if the forward failed half-way."""

    request: DiagramRequest
    diagram: Diagram | None
    error: TorchRecorderError | None = None
    sources: tuple[Path, ...] = ()
    """Files of the model's code, also of one that failed, for a server to watch."""

    def signature(self) -> str:
        """Changes when what a page shows of the request changes."""
        shown = [
            self.diagram and self.diagram.drawing.to_json(),
            str(self.error),
            asdict(self.request.figure),
        ]
        return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a batch is."""

    stage: Literal["recording", "drawing"]
    target: str
    """What is being worked on now."""
    done: int
    total: int


@dataclass(slots=True)
class _Recording:
    """What is known of the Graph of one recording request."""

    text: bytes | None = None
    """The Graph as JSON, if it was read."""
    digest: str = ""
    error: TorchRecorderError | None = None
    sources: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class _RenderKey:
    graph: str
    drawing: DrawingOptions

    def digest(self) -> str:
        facts = {"graph": self.graph, "drawing": asdict(self.drawing), "renderer": REVISION}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _silent(progress: Progress) -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class Pipeline:
    """Draws diagrams; its parts are chosen here, so that tests can choose others."""

    settings: Settings
    open_worker: Callable[[Sequence[str]], AbstractContextManager[Worker]] = Worker
    store: Store = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.settings.cache)

    def run(
        self, requests: Iterable[DiagramRequest], on_progress: Callable[[Progress], None] = _silent
    ) -> dict[DiagramRequest, Outcome]:
        """The outcome of each request, in their order."""
        wanted = list(dict.fromkeys(requests))
        recordings = self._recordings(wanted, on_progress)
        if any(recording.digest for recording in recordings.values()):
            engine = _find_engine(self.settings.engine)
            drawings = self._drawings(wanted, recordings, engine, on_progress)
        else:
            drawings = {}
        return {
            request: self._outcome(request, recordings[request.recording], drawings.get(request)) for request in wanted
        }

    # -- source to Graph

    def _recordings(
        self, requests: Sequence[DiagramRequest], on_progress: Callable[[Progress], None]
    ) -> dict[RecordingRequest, _Recording]:
        freshness = Freshness(ModuleFinder(self.settings.path))
        found: dict[RecordingRequest, _Recording] = {}
        stale: dict[RecordingRequest, float] = {}
        for request in requests:
            if request.recording in found:
                continue
            known = self._known(request.recording, freshness)
            if known is None:
                stale[request.recording] = max(request.timeout_s, stale.get(request.recording, 0.0))
            else:
                found[request.recording] = known
        found.update(self._record(stale, on_progress))
        return found

    def _known(self, request: RecordingRequest, freshness: Freshness) -> _Recording | None:
        manifest = Manifest.from_json(self.store.entry("rec", request.key()))
        if manifest is None or freshness.why_stale(manifest):
            return None
        return _Recording(digest=manifest.graph, sources=freshness.files(manifest))

    def _record(
        self, stale: Mapping[RecordingRequest, float], on_progress: Callable[[Progress], None]
    ) -> dict[RecordingRequest, _Recording]:
        if not stale:
            return {}
        made: dict[RecordingRequest, _Recording] = {}
        with self.open_worker(self.settings.path) as worker:
            for request, timeout_s in stale.items():
                on_progress(Progress("recording", request.target, len(made), len(stale)))
                made[request] = self._keep(worker.record(request, timeout_s=timeout_s))
        return made

    def _keep(self, answer: Answer) -> _Recording:
        sources = tuple(map(Path, answer.dependencies.get("files", ())))
        if answer.graph is None:
            return _Recording(error=answer.error, sources=sources)
        text = answer.graph.encode()
        digest = hashlib.sha256(text).hexdigest()
        if answer.error is None:  # what failed half-way is shown once and tried again
            self.store.put_object(text)
            facts = {name: answer.dependencies[name] for name in ("modules", "distributions")}
            self.store.put_entry("rec", answer.request.key(), Manifest(digest, **facts).to_json())
        return _Recording(text, digest, answer.error, sources)

    # -- Graph to drawing

    def _drawings(
        self,
        requests: Sequence[DiagramRequest],
        recordings: dict[RecordingRequest, _Recording],
        engine: Engine | EngineNotFound,
        on_progress: Callable[[Progress], None],
    ) -> dict[DiagramRequest, Drawing | TorchRecorderError]:
        wanted = [request for request in requests if recordings[request.recording].digest]
        done: dict[DiagramRequest, Drawing | TorchRecorderError | None]
        done = {request: self._drawn(_key(request, recordings), engine) for request in wanted}
        missing = [request for request in wanted if done[request] is None]
        damaged = {r.recording: r.timeout_s for r in missing if not self._load(recordings[r.recording])}
        recordings.update(self._record(damaged, on_progress))
        orders = {_key(r, recordings): r.recording for r in missing if recordings[r.recording].digest}
        if orders:
            on_progress(Progress("drawing", "", 0, len(orders)))
        drawn = self._draw({key: recordings[recording] for key, recording in orders.items()}, engine)
        for request in missing:
            done[request] = drawn.get(_key(request, recordings))
        return {request: drawing for request, drawing in done.items() if drawing is not None}

    def _load(self, recording: _Recording) -> bool:
        """Have the Graph's text at hand; False if the cache has lost it."""
        if recording.text is None:
            recording.text = self.store.object(recording.digest)
        return recording.text is not None

    def _drawn(self, key: _RenderKey, engine: Engine | EngineNotFound) -> Drawing | None:
        """The kept drawing, if the engine of now made it; any engine's, if there is none."""
        entry = self.store.entry("ren", key.digest())
        if entry is None or (not isinstance(engine, EngineNotFound) and entry.get("engine") != engine.identity):
            return None
        data = self.store.object(str(entry.get("drawing")))
        try:
            return None if data is None else Drawing.from_json(json.loads(data))
        except ValueError:
            return None

    def _draw(
        self, missing: Mapping[_RenderKey, _Recording], engine: Engine | EngineNotFound
    ) -> dict[_RenderKey, Drawing | TorchRecorderError]:
        if isinstance(engine, EngineNotFound) or not missing:
            return dict.fromkeys(missing, engine) if isinstance(engine, EngineNotFound) else {}
        from torchrecorder.diagram.drawing import Order, draw

        done: dict[_RenderKey, Drawing | TorchRecorderError] = {}
        orders: dict[_RenderKey, Order] = {}
        for key, recording in missing.items():
            try:
                orders[key] = Order(from_json(recording.text or b""), key.digest(), key.drawing)
            except FormatError as error:
                done[key] = error
        for key, drawing in zip(orders, draw(list(orders.values()), engine), strict=True):
            done[key] = drawing
            if isinstance(drawing, Drawing) and missing[key].error is None:
                self._keep_drawing(key, drawing, engine)
        return done

    def _keep_drawing(self, key: _RenderKey, drawing: Drawing, engine: Engine) -> None:
        text = json.dumps(drawing.to_json(), ensure_ascii=False, separators=(",", ":"))
        digest = self.store.put_object(text.encode())
        self.store.put_entry("ren", key.digest(), {"engine": engine.identity, "drawing": digest})

    # -- the result

    def _outcome(
        self,
        request: DiagramRequest,
        recording: _Recording,
        drawing: Drawing | TorchRecorderError | None,
    ) -> Outcome:
        if not isinstance(drawing, Drawing):
            return Outcome(request, None, recording.error or drawing, recording.sources)

        def load_graph() -> Graph:
            if not self._load(recording):
                raise FormatError("a Graph of the cache", f"the object {recording.digest} is missing or damaged")
            return from_json(recording.text or b"")

        diagram = Diagram(drawing, recording.sources, load_graph=load_graph)
        return Outcome(request, diagram, recording.error, recording.sources)


def _key(request: DiagramRequest, recordings: Mapping[RecordingRequest, _Recording]) -> _RenderKey:
    return _RenderKey(recordings[request.recording].digest, request.drawing)


def _find_engine(setting: str) -> Engine | EngineNotFound:
    from torchrecorder.renderer.layout import find_engine

    try:
        return find_engine(setting)
    except EngineNotFound as error:
        return error
