"""Caches whose hashes are right and whose contents are wrong, drawn from random numbers."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.core.answering import NoTorch, OneByOne
from torchrecorder.cache.index import stamp_of
from torchrecorder.cache.store import Entry, Kind, Store
from torchrecorder.page import contents, log_entries
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import DiagramRequest, FigureOptions, RecordingRequest, Settings, read_request
from torchrecorder.trace.manifest import TraceResult
from torchrecorder.worker.messages import Answer

OLD = Store(Path(__file__).parents[2] / "data" / "small_nets" / "diagrams")
TARGETS = ("nets.Tagger", "nets.Residual")
ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 3, 10**20, 1.5, float("nan"), float("inf")),
    *("", "\0", "a\ud800", "\x1b[2J\x07", "x" * 100_000, ".".join(["a"] * 3000), "<script>alert(1)</script>"),
    *("/proc/kmsg", "/dev/zero", "../../../etc/passwd", "~/x", "{fuz_nets}../../x", "{", "a" * 64),
    *([], {}, [[]], [None], {"a": 1}, {"": []}, [1, "a"], [[[[[[]]]]]]),
)
LIMIT_S = 60
EXTRA = ""
"""A file that the recordings read besides."""


def graph_of(target: str) -> str:
    """The Graph of a target in the cache that is committed for the tests."""
    entries = (Store.entry(OLD, "recording", file.stem) or {} for file in (OLD.folder / "rec").glob("*/*.json"))
    digest = next(entry["graph"] for entry in entries if target in entry["request"]["target"])
    return (OLD.object(digest) or b"").decode()


class Recorded(OneByOne):
    """Answers with a Graph of the tests, and a trace of files that are there."""

    def record(self, request: RecordingRequest, *, timeout_s: float) -> Answer:
        root = Path(self._path[0]).parent
        source, data = str(root / "src" / "fuz_nets.py"), str(root / "data.yaml")
        trace = TraceResult(
            {"fuz_nets": source},
            {source: stamp_of(source)},
            {source: (["make"], ["run"])},
            {data: stamp_of(data), str(root / "absent"): None, **({EXTRA: stamp_of(EXTRA)} if EXTRA else {})},
            {str(root / "src"): "folder"},
            (str(root / "src"),),
            {"FUZ_SECRET": "user", "FUZ_NOT_SET": "user", "PATH": "user"},
            ("fuz_missing.part",),
            ("starts git",),
            {"pytest": "1"},
        )
        return Answer(graph_of(request.target), trace=trace)


class FuzzedSite:
    """A project without torch, whose committed cache is spoilt and made whole again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "src").mkdir(parents=True)
        (root / "src" / "fuz_nets.py").write_text("def make(): pass\ndef run(): pass\n")
        (root / "data.yaml").write_text("width: 3\n")
        self.requests = [read_request(target, {"shape": "1,3", "table": "", "depth": "1"}) for target in TARGETS]
        self.good, self.spoilt = self.requests
        settings = self.settings("first")
        Pipeline(settings, lambda path: Recorded(path), writes_committed=True).run(self.requests)
        shutil.copytree(root / "diagrams", root / "whole")
        self.whole = self.shown()
        """What is shown of each request while nothing is spoilt."""
        assert all(self.whole.values())
        self.picture = self.whole[self.good]

    @property
    def _store(self) -> Store:
        return Store(self.root / "diagrams", is_committed=True)

    def heal(self) -> None:
        shutil.rmtree(self.root / "diagrams")
        shutil.copytree(self.root / "whole", self.root / "diagrams")

    def put(self, data: object) -> str:
        """Put an object of JSON into the cache; gives its hash."""
        return self._store.put_object(json.dumps(data).encode())

    def key(self, kind: Kind) -> str:
        """The key of the one entry of its kind that is spoilt."""
        key = self.spoilt.recording.key()
        if kind == "recording":
            return key
        entry = self._store.entry("recording", key) or {}
        files = (self._store.folder / "ren").glob("*/*.json")
        return next(file.stem for file in files if self._is_of(file.stem, entry))

    def change(self, kind: Kind, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the entry of its kind, under a right checksum."""
        entry = dict(self._store.entry(kind, self.key(kind)) or {})
        change(entry)
        self._store.put_entry(kind, self.key(kind), entry)

    def drawing(self) -> bytes:
        """The drawing of the request that is spoilt."""
        return self._store.object((self._store.entry("drawing", self.key("drawing")) or {})["drawing"]) or b""

    def settings(self, machine: str) -> Settings:
        return Settings.for_project(self.root, path=["src"], cache=machine, committed="diagrams")

    def shown(self) -> dict[DiagramRequest, str]:
        """What a page shows of each request, and a log says, as the front ends make it."""
        shutil.rmtree(self.root / "machine", ignore_errors=True)
        pipeline = Pipeline(self.settings("machine"), lambda path: NoTorch(path))
        outcomes = {request: outcome.loaded() for request, outcome in pipeline.run(self.requests).items()}
        for entry in log_entries(outcomes.items(), pipeline.problems(), pipeline.cache.notice):
            f"{entry.text}\n{entry.details}".encode()
        pages = {}
        for request, outcome in outcomes.items():
            diagram = outcome.diagram
            if diagram is None:
                assert outcome.error is not None
                pages[request] = ""
                continue
            page = "\n".join([contents(diagram, FigureOptions()), diagram.text, diagram.alt, *diagram.notes])
            page.encode()
            assert "<script" not in page
            pages[request] = page
        return pages

    def spoil(self, seed: int) -> str:
        """Spoil what the cache has of one request; says what was changed."""
        self.heal()
        store, chance, said = self._store, random.Random(seed), ""
        part = chance.choice(("recording", "modules", "graph", "drawing", "picture"))
        kind: Kind = "drawing" if part in ("drawing", "picture") else "recording"

        def change(entry: dict[str, Any]) -> None:
            nonlocal said
            if part == kind:
                said = mutate(entry, chance)
                return
            name = "drawing" if part == "picture" else part
            head, _, rest = (store.object(entry[name]) or b"").partition(b"\n" if part == "picture" else b"\0")
            data = json.loads(head)
            said = mutate(data, chance)
            entry[name] = store.put_object(json.dumps(data).encode() + (b"\n" + rest if part == "picture" else b""))

        self.change(kind, change)
        return f"seed {seed}: {part}: {said}"

    def _is_of(self, key: str, entry: Entry) -> bool:
        data = self._store.object((self._store.entry("drawing", key) or {})["drawing"]) or b""
        title = json.loads(data.partition(b"\n")[0])["facts"]["model"]
        return bool(title in entry["request"]["target"])


def mutate(data: Any, chance: random.Random) -> str:
    """Change one to three values of JSON data in place; says which, and to what."""
    said = []
    for _ in range(chance.randint(1, 3)):
        places = list(_places(data))
        if not places:
            break
        holder, key = chance.choice(places)
        value = chance.choice(ODD) if chance.random() < 0.7 else _at(*chance.choice(places))
        way = chance.random()
        if way < 0.1:
            del holder[key]
        elif way < 0.2 and isinstance(holder, dict):
            holder[str(chance.choice(ODD))[:5000]] = holder.pop(key)
        elif way < 0.3 and isinstance(holder, list):
            holder.append(holder[key])
        else:
            holder[key] = json.loads(json.dumps(value))
        said.append(f"{str(key)[:30]!r} {way:.1f} {value!r:.60}")
    return "; ".join(said)


def _at(holder: Any, key: Any) -> Any:
    return holder[key]


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Each value within JSON data, by what holds it."""
    rows = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in rows:
        yield data, key
        yield from _places(value)


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise where the code hangs; only where there are such signals."""
    if os.name == "nt":
        yield
        return

    def stop(*_: object) -> None:
        raise AssertionError(f"it takes longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
