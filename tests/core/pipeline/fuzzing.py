"""Caches whose hashes are right and whose contents are wrong, drawn from random numbers."""

from __future__ import annotations

import hashlib
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
from tests.entries import behind, entries, facts_of, rewrite
from torchrecorder.cache.index import stamp_of
from torchrecorder.cache.store import Kind, Store
from torchrecorder.page.figure import CopyNumbers
from torchrecorder.page.remarks import log_entries
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import DiagramRequest, FigureOptions, Settings, read_request
from torchrecorder.trace.observed import TraceResult
from torchrecorder.worker.client import Request
from torchrecorder.worker.messages import Answer

OLD = Store(Path(__file__).parents[2] / "data" / "small_nets" / "diagrams")
TARGETS = ("nets.Tagger", "nets.Residual")
ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 3, 10**20, 1.5, float("nan"), float("inf")),
    *("", "\0", "a\ud800", "\x1b[2J\x07", "x" * 100_000, ".".join(["a"] * 3000), "<script>alert(1)</script>"),
    *("/proc/kmsg", "/dev/zero", "../../../etc/passwd", "~/x", "{fuz_nets}../../x", "{", "a" * 64),
    *([], {}, [[]], [None], {"a": 1}, {"": []}, [1, "a"], [[[[[[]]]]]]),
    *("\ud800", "\udfff\ud800", "x\udc80y", "\u202e", "\u2028", "\ufffe", "\x85", "a\nb\r\nc", "@everyone", "${HOME}"),
)
LIMIT_S = 60
EXTRA = ""
"""A file that the recordings read besides."""


def graph_of(target: str) -> str:
    """The Graph of a target in the cache that is committed for the tests."""
    found = (OLD.entry("recording", file.stem) or {} for file in entries(OLD.folder))
    digest = next(entry["graph"] for entry in found if target in entry["request"]["target"])
    return (OLD.object(digest) or b"").decode()


class Recorded(OneByOne):
    """Answers with a Graph of the tests, and a trace of files that are there."""

    def record(self, request: Request, *, timeout_s: float) -> Answer:
        root = Path(self._path[0]).parent
        source, data = str(root / "src" / "fuz_nets.py"), str(root / "data.yaml")
        trace = TraceResult(
            {"fuz_nets": source},
            {source: stamp_of(source)},
            {source: (["make"], ["run"])},
            {data: stamp_of(data), str(root / "absent"): None, **({EXTRA: stamp_of(EXTRA)} if EXTRA else {})},
            {str(root / "src"): "folder"},
            {str(root / "src"): stamp_of(root / "src")},
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
        Pipeline(settings, Recorded.of, writes_committed=True).run(self.requests)
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
        target = (self._store.entry("recording", key) or {})["request"]["target"]
        files = entries(self._store.folder, "ren")
        return next(f.name for f in files if json.loads(behind(f).partition(b"\n")[0])["facts"]["model"] in target)

    def change(self, kind: Kind, change: Callable[[dict[str, Any]], object], data: bytes | None = None) -> None:
        """Change the entry of its kind, under a right checksum, and the object behind it, if one is given."""
        file = Path(self._store.entry_file(kind, self.key(kind)))
        entry = facts_of(file)
        change(entry)
        rewrite(file, entry, data)

    def drawing(self) -> bytes:
        """The drawing of the request that is spoilt."""
        return behind(Path(self._store.entry_file("drawing", self.key("drawing"))))

    def settings(self, machine: str, *, is_remote: bool = False) -> Settings:
        remote, committed = (str(self.root / "diagrams"), "") if is_remote else ("", "diagrams")
        return Settings.for_project(self.root, path=["src"], machine_cache=machine, remote=remote, cache=committed)

    def shown(self, *, is_remote: bool = False) -> dict[DiagramRequest, str]:
        """What a page shows of each request, and a log says, as the front ends make it.

        The spoilt cache is committed with the project, or that of a team.
        """
        shutil.rmtree(self.root / "machine", ignore_errors=True)
        pipeline = Pipeline(self.settings("machine", is_remote=is_remote), NoTorch.of)
        outcomes = {request: outcome.loaded() for request, outcome in pipeline.run(self.requests).items()}
        for entry in log_entries(outcomes.items(), pipeline.problems(), pipeline.cache.notice, str):
            f"{entry.text}\n{entry.details}".encode()
        pages = {}
        for request, outcome in outcomes.items():
            diagram = outcome.diagram
            if diagram is None:
                assert outcome.error is not None
                pages[request] = ""
                continue
            page = "\n".join(
                [CopyNumbers().contents(diagram, FigureOptions()), diagram.text, diagram.alt, *diagram.notes]
            )
            page.encode()
            assert "<script" not in page
            pages[request] = page
        return pages

    def spoil(self, seed: int) -> str:
        """Spoil what the cache has of one request; says what was changed."""
        self.heal()
        chance = random.Random(seed)
        part = chance.choice(PARTS)
        kind: Kind = "drawing" if part in ("drawing", "picture") else "recording"
        said = spoil(Path(self._store.entry_file(kind, self.key(kind))), part, chance)
        return f"seed {seed}: {said}"


PARTS = ("recording", "table", "graph", "drawing", "picture")
"""Of an entry and the object behind it."""


def spoil(file: Path, part: str, chance: random.Random) -> str:
    """Spoil a part of an entry, or of the object behind it, under right checksums; says what was changed."""
    entry, data = facts_of(file), behind(file)
    if part in ("graph", "picture"):
        head, end, rest = data.partition(b"\n" if part == "picture" else b"\0")
        said = mutate(facts := json.loads(head), chance)
        data = json.dumps(facts).encode() + end + rest
        entry["drawing" if part == "picture" else part] = hashlib.sha256(data).hexdigest()
    else:
        said = mutate(entry["table"] if part == "table" else entry, chance)
    rewrite(file, entry, data)
    return f"{part}: {said}"


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
        elif way > 0.9 and isinstance(holder[key], str):  # half a pair within what is right otherwise
            at = chance.randint(0, len(holder[key]))
            holder[key] = holder[key][:at] + chance.choice("\ud800\udc41\udfff") + holder[key][at:]
        elif way > 0.8:  # of the right type, and empty
            holder[key] = type(holder[key])() if holder[key] is not None else ""
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
