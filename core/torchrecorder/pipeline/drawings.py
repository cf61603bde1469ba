"""Graph to drawing: the kept picture, or a new one, laid out with all others that are missing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from torchrecorder.cache.layered import Layers
from torchrecorder.cache.store import Store
from torchrecorder.drawing import REVISION
from torchrecorder.drawing.model import VERSION, CachedDrawing, Drawing
from torchrecorder.drawing.styler_process import modules_changed
from torchrecorder.engine import find_engine
from torchrecorder.errors import EngineNotFound, FormatError, TorchRecorderError
from torchrecorder.pipeline.kept import KeptDrawings
from torchrecorder.pipeline.recordings import Recording
from torchrecorder.request import DrawingOptions
from torchrecorder.request.settings import Settings
from torchrecorder.trace.finder import ModuleFinder

if TYPE_CHECKING:
    from torchrecorder.drawing.draw import DrawJob
    from torchrecorder.engine import Engine


@dataclass(frozen=True, slots=True)
class RenderKey:
    """What decides a picture, but for the engine."""

    graph: str
    """Hash of the Graph's JSON."""
    options: DrawingOptions
    styler: str = ""
    """Digest of the file that the styler is written in, if the options name one."""

    def digest(self) -> str:
        """Names the picture in the cache: SHA-256 in hexadecimal digits."""
        return hashlib.sha256(f"{self.graph}\n{self.styler}\n{_options_text(self.options)}".encode()).hexdigest()


@lru_cache(maxsize=256)
def _options_text(options: DrawingOptions) -> str:
    """What decides a picture besides its Graph, and how it is kept; the diagrams of a site mostly share it."""
    return json.dumps({"drawing": asdict(options), "renderer": REVISION, "kept": VERSION}, sort_keys=True)


class Drawings:
    """Finds and makes drawings for one build."""

    def __init__(self, store: Layers, notes: Store, settings: Settings, finder: ModuleFinder) -> None:
        self._store = store
        self._finder = finder
        self._kept = KeptDrawings(store, notes)
        self._settings = settings
        self._engine = _engine(settings.engine)

    def kept(self, key: RenderKey) -> CachedDrawing | None:
        """The kept drawing, if the engine of now made it; any engine's, if there is none now, or it is shared."""
        digest = key.digest()
        for entry, is_local in self._store.entries("ren", digest):
            if is_local and not self._is_by_the_engine_of_now(entry):
                continue
            if key.options.styler and modules_changed(entry.get("styler"), self._finder):
                continue
            if (drawing := self._kept.find(str(entry.get("drawing")), is_trusted=is_local)) is not None:
                self._store.keep("ren", digest, entry)
                return drawing
        return None

    def forget(self, digest: str) -> None:
        """Look at a drawing again before it is given away once more."""
        self._kept.forget(digest)

    def save(self) -> None:
        """Leave notes that save the next build time."""
        self._kept.save()

    def _is_by_the_engine_of_now(self, entry: Mapping[str, object]) -> bool:
        return isinstance(self._engine, EngineNotFound) or entry.get("engine") == self._engine.identity

    def make(self, missing: Mapping[RenderKey, Recording]) -> dict[RenderKey, Drawing | TorchRecorderError]:
        """New drawings, or what prevented them."""
        if isinstance(self._engine, EngineNotFound):
            return dict.fromkeys(missing, self._engine)
        return self._make(missing, self._engine) if missing else {}

    def _make(
        self, missing: Mapping[RenderKey, Recording], engine: Engine
    ) -> dict[RenderKey, Drawing | TorchRecorderError]:
        from torchrecorder.drawing.draw import draw  # loads Graphviz, which a build without a miss does not need

        orders, done = _orders(missing)
        modules: dict[str, Mapping[str, str]] = {}
        path, python = self._settings.path, self._settings.python
        made = draw(list(orders.values()), engine, path, python, modules.__setitem__)
        for (key, order), drawing in zip(orders.items(), made, strict=True):
            done[key] = drawing
            if isinstance(drawing, Drawing) and missing[key].error is None:
                self._keep(order.digest, drawing, engine, modules.get(key.options.styler))
        return done

    def _keep(self, digest: str, drawing: Drawing, engine: Engine, modules: Mapping[str, str] | None) -> None:
        kept = self._store.put_object(drawing.to_bytes())
        styler = {} if modules is None else {"styler": dict(modules)}
        self._store.put_entry("ren", digest, {"engine": engine.identity, "drawing": kept, **styler})


def _orders(
    missing: Mapping[RenderKey, Recording],
) -> tuple[dict[RenderKey, DrawJob], dict[RenderKey, Drawing | TorchRecorderError]]:
    """What to draw, and the errors of Graphs that cannot be read."""
    from torchrecorder.drawing.draw import DrawJob

    orders: dict[RenderKey, DrawJob] = {}
    failed: dict[RenderKey, Drawing | TorchRecorderError] = {}
    for key, recording in missing.items():
        try:
            orders[key] = DrawJob(recording.graph(), key.digest(), key.options)
        except FormatError as error:
            failed[key] = error
    return orders, failed


def _engine(setting: str) -> Engine | EngineNotFound:
    try:
        return find_engine(setting)
    except EngineNotFound as error:
        return error
