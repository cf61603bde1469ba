"""Graph to drawing: the kept picture, or a new one, laid out with all others that are missing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from torchrecorder import __version__
from torchrecorder.cache.index import StampedIndex
from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Entry, Store
from torchrecorder.drawing import REVISION
from torchrecorder.drawing.model import VERSION, CachedDrawing, Drawing
from torchrecorder.engine import Engine, find_engine
from torchrecorder.errors import EngineNotFound, FormatError, OptionError, TorchRecorderError
from torchrecorder.pipeline.failures import failed_drawing, put_failed_drawing
from torchrecorder.pipeline.recordings import Recording
from torchrecorder.request import DrawingOptions, parse_target
from torchrecorder.request.settings import Settings
from torchrecorder.trace.digests import source_digest
from torchrecorder.trace.finder import ModuleFinder

if TYPE_CHECKING:
    from torchrecorder.comparison.compared import Diff
    from torchrecorder.drawing.apart import Apart
    from torchrecorder.worker.client import Worker

_AT_ONCE = 100  # pictures that are drawn together: a large site would fill the memory with its Graphs

_UNSAID = "2.0.0.dev0"  # the version whose drawings do not say by which they were made

Made = Drawing | CachedDrawing | TorchRecorderError
"""A drawing, as it is or in the cache, or why there is none."""


class RenderKey(NamedTuple):
    """Key of a picture, but for the engine."""

    graph: str
    """Hash of the Graph's JSON."""
    options: DrawingOptions
    styler: str = ""
    """Digest of the file that the styler is written in, if the options name one."""
    old: str = ""
    """Hash of the other Graph's JSON, of a diff."""

    def digest(self) -> str:
        """Names the picture in the cache: SHA-256 in hexadecimal digits."""
        old = f"{self.old}\n" if self.old else ""
        return hashlib.sha256(f"{self.graph}\n{old}{self.styler}\n{_options_text(self.options)}".encode()).hexdigest()


@lru_cache(maxsize=256)  # the diagrams of a site mostly share them
def _options_text(options: DrawingOptions) -> str:
    """Text of the options and versions in a key.

    Options with their usual values are left out, so that caches still serve when an option is added.
    """
    usual = asdict(DrawingOptions())
    chosen = {name: value for name, value in asdict(options).items() if value != usual[name]}
    return json.dumps({"drawing": chosen, "renderer": REVISION, "kept": VERSION}, sort_keys=True)


class DrawingIndex:
    """Index of the drawings in caches that are good, so that not every build reads them.

    A drawing is examined once: its hash, and every field of it, also of its layouts; a file whose stamp is as it was
    needs no second look. Its hash is checked again when it goes into a page. Serves one build.
    """

    def __init__(self, cache: LayeredCache, machine: Store) -> None:
        self._cache = cache
        self._index = StampedIndex(machine, "layouts.json")

    def find(self, digest: str) -> CachedDrawing | None:
        """Drawing of a hash; None if there is none, or it is damaged."""
        file, stamp = self._cache.place(digest) or ("", [])
        known: tuple[str, list[str]] = self._index.get(file, stamp) or ("", [])
        examined, classes = known
        if examined != digest:
            drawing = self._read_object(digest)
            if drawing is None:
                return None
            classes = list(drawing.classes)
            if file:  # it is not far away
                self._index.put(file, stamp, [digest, classes])
        return CachedDrawing(digest, tuple(classes), partial(self._load, digest))

    def forget(self, digest: str) -> None:
        """Examine a drawing again before it is given away once more."""
        if (place := self._cache.place(digest)) is not None:
            self._index.forget(place[0])

    def save(self) -> None:
        self._index.save()

    def _load(self, digest: str) -> Drawing:
        drawing = self._read_object(digest)
        if drawing is None:
            raise FormatError("a drawing of the cache", f"the object {digest} went or changed during the build")
        return drawing

    def _read_object(self, digest: str) -> Drawing | None:
        data = self._cache.object(digest)
        return None if data is None else Drawing.from_bytes(data)


class Drawings:
    def __init__(
        self,
        cache: LayeredCache,
        machine: Store,
        settings: Settings,
        finder: ModuleFinder,
        open_worker: Callable[[], AbstractContextManager[Worker]],
    ) -> None:
        """`open_worker` gives the worker that is asked for the answers of stylers."""
        self.index = DrawingIndex(cache, machine)
        self.of_others: dict[RenderKey, CachedDrawing] = {}
        """Drawings that another version of this distribution made, which serve where the Graph is lost."""
        self._cache = cache
        self._machine = machine
        self._finder = finder
        self._open_worker = open_worker
        self._apart: Apart | None = None
        self._setting = settings.engine
        self._engine: Engine | EngineNotFound
        try:
            self._engine = find_engine(settings.engine)
        except EngineNotFound as error:
            self._engine = error

    def kept(self, key: RenderKey) -> CachedDrawing | OptionError | None:
        """The kept drawing, if this version and the engine of now made it; any engine's, if it is shared.

        One of another version is drawn again from its Graph, which needs no torch; where there is no engine it serves.
        Else why its options cannot be drawn, if that is known.
        """
        digest = key.digest()
        for entry, is_local in self._cache.entries("drawing", digest):
            try:
                drawing = self._examined(key, digest, entry, is_local)
                if drawing is None:
                    continue
                if entry.get("version", _UNSAID) == __version__ or isinstance(self._engine, EngineNotFound):
                    self._cache.copy_remote("drawing", digest, entry)
                    return drawing
                self.of_others.setdefault(key, drawing)
            except Exception as error:  # of a cache that others wrote, in ways that no check foresees
                self._cache.note_unreadable("drawing", digest, error)
        return None if key.options.styler else failed_drawing(self._machine, digest)

    def _examined(self, key: RenderKey, digest: str, entry: Entry, is_local: bool) -> CachedDrawing | None:
        if entry.get("key") != digest:  # it was made for another picture, and moved
            return None
        if is_local and isinstance(self._engine, Engine) and entry.get("engine") != self._engine.identity:
            return None
        modules = entry.get("styler") if key.options.styler else {}  # those that were imported for it
        if not isinstance(modules, dict):
            return None
        if any(not digest or _source(str(name), self._finder) != digest for name, digest in modules.items()):
            return None
        return self.index.find(str(entry.get("drawing")))

    def make(
        self, missing: Mapping[RenderKey, Recording], olds: Mapping[RenderKey, Recording]
    ) -> dict[RenderKey, Made]:
        """New drawings, or what prevented them; `olds` are the other models of diffs."""
        engine = self._engine
        if isinstance(engine, EngineNotFound):
            return dict.fromkeys(missing, engine)
        done: dict[RenderKey, Made] = {}
        apart = self._apart
        keys = [key for key in missing if apart is None or not apart.has(key.digest())]
        for first in range(0, len(keys), _AT_ONCE):
            done |= self._made({key: missing[key] for key in keys[first : first + _AT_ONCE]}, olds, engine)
        return done if apart is None else {**done, **self._rest(missing.keys() - done.keys(), missing, apart, engine)}

    def _rest(
        self, keys: Set[RenderKey], missing: Mapping[RenderKey, Recording], apart: Apart, engine: Engine
    ) -> dict[RenderKey, Made]:
        """Drawings that were ordered; of those that the other process has not begun, this one makes its part."""
        by_digest = {key.digest(): key for key in keys}
        done: dict[RenderKey, Made] = {}
        while digest := apart.take_back():
            if (key := by_digest.get(digest)) is not None:
                done |= self._made({key: missing[key]}, {}, engine)
        for digest, drawn in apart.made():
            if (key := by_digest.get(digest)) is not None:
                done[key] = self._put(key, missing[key], drawn, engine)
        lost = {key: missing[key] for key in keys if key not in done}
        return {**done, **self._made(lost, {}, engine)} if lost else done

    def order(self, key: RenderKey, graph: bytes) -> None:
        """Have a drawing made in another process while this one does other things; `make` gives it."""
        if isinstance(self._engine, Engine) and self.kept(key) is None:
            if self._apart is None:
                from torchrecorder.drawing.apart import Apart  # a build that draws little does not wait for it

                self._apart = Apart(self._setting)
            self._apart.order(key.digest(), graph, _name(key, graph), key.options)

    def close(self) -> None:
        if self._apart is not None:
            self._apart.close()
            self._apart = None

    def _made(
        self, missing: Mapping[RenderKey, Recording], olds: Mapping[RenderKey, Recording], engine: Engine
    ) -> dict[RenderKey, Made]:
        from torchrecorder.drawing.draw import (  # loads Graphviz, which a build without a miss does not need
            DrawJob,
            draw,
        )

        orders: dict[RenderKey, DrawJob] = {}
        done: dict[RenderKey, Made] = {}
        diffs: dict[RenderKey, Diff] = {}
        for key, recording in missing.items():
            try:
                if key in olds:
                    from torchrecorder.comparison.compared import Diff  # most sites compare nothing

                    diffs[key] = Diff(olds[key].graph(), recording.graph())
                job = diffs[key].job if key in diffs else partial(DrawJob, recording.graph())
                orders[key] = job(_name(key, recording.text or b""), key.options)
            except TorchRecorderError as error:
                done[key] = error
        modules: dict[str, Mapping[str, str]] = {}
        made = draw(list(orders.values()), engine, self._open_worker, modules.__setitem__)
        for key, drawing in zip(orders, made, strict=True):
            if key in diffs and isinstance(drawing, Drawing):
                drawing = diffs[key].described(drawing)
            done[key] = self._put(key, missing[key], drawing, engine, modules.get(key.options.styler))
        return done

    def _put(
        self,
        key: RenderKey,
        recording: Recording,
        drawing: Drawing | bytes | TorchRecorderError,
        engine: Engine,
        styler: Mapping[str, str] | None = None,
    ) -> Made:
        """The drawing, kept; `styler` has digests of the modules imported for its styler."""
        digest = key.digest()
        if isinstance(drawing, TorchRecorderError):
            if isinstance(drawing, OptionError) and not key.options.styler:
                put_failed_drawing(self._machine, digest, drawing)
            return drawing
        # What ran of a forward that failed is of interest on this machine only.
        cache = self._cache if recording.error is None else self._machine
        data = drawing if isinstance(drawing, bytes) else drawing.to_bytes()
        entry: dict[str, object] = {"key": digest, "engine": engine.identity, "version": __version__}
        entry["drawing"] = named = hashlib.sha256(data).hexdigest()
        if styler is not None:
            entry["styler"] = dict(styler)
        cache.put_entry("drawing", digest, entry, data)
        made = Drawing.from_bytes(data) if isinstance(drawing, bytes) else drawing
        return self.index.find(named) or made or FormatError("a drawing", "another process wrote something else")


def _name(key: RenderKey, graph: bytes) -> str:
    """Name of a picture in its page, which stays when only lines of the code move."""
    from torchrecorder.graph.codec import digest_without_lines

    return key._replace(graph=digest_without_lines(graph, key.graph)).digest()


def source_of(styler: str, finder: ModuleFinder) -> str:
    """Digest of the file that a styler is written in; empty if there is none."""
    parts = parse_target(styler).dotted.split(".")
    names = [".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]
    return next((digest for name in names if (digest := _source(name, finder))), "")


def _source(module: str, finder: ModuleFinder) -> str:
    try:
        file = finder.file(module)
        return "" if file is None else source_digest(file.read_bytes())
    except (OSError, ValueError):
        return ""
