"""Texts of a project that mention a name: its tests, examples, pages and configurations, and its own modules.

They are read for the examples in them, and never run. What a search came to is part of what a recording depended on,
but not that each text was looked at: a trace hears nothing of it, and keeps one digest of the texts with that name.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from sys import gettrace
from typing import NamedTuple

from torchrecorder.cache.index import SETTLED_NS, StampedIndex, real_stat, stamp_of
from torchrecorder.cache.store import Store
from torchrecorder.trace.digests import text_digest
from torchrecorder.trace.ownership import is_installed, repository

_FOLDERS = ("tests", "test", "examples", "example", "docs", "doc", "configs", "config", "conf")
"""Where projects show how their classes are built, the surest first."""
_SUFFIXES = (".py", ".md", ".rst", ".yaml", ".yml", ".json")
_NO_SOURCES = {"node_modules", "site-packages", "__pycache__", "_build", "build", "dist", "venv", "env", "data"}
_MOST_FILES = 5_000  # files of a project that are looked at; the largest library that was measured has 1,900
_MOST_BYTES = 1 << 20  # of one file: a test of 10,000 lines has half of it
_OF_TESTS = re.compile(r"(test_.*|.*_test|tests?|conftest)(\.py)?")

SEPARATOR = "\n"
"""Between the root of a project, its package and a name, which are a question."""
asked: dict[str, str] = {}
"""Digests of what was found, by root and name, for the recording that this process makes."""
looked_at: set[str] = set()
"""Files that were read for it."""
commits: dict[str, str] = {}
"""Commits of repositories on the hub whose files this process was given, by name and revision, `owner/name@main`."""

_searches: list[None] = []  # one for each search that is under way


def is_searching() -> bool:
    """Whether files are read for a search right now, and not for the user's code."""
    return bool(_searches)


@contextmanager
def untraced() -> Iterator[None]:
    """Pause the trace in this thread: on Python 3.11 it costs more than most of the calls that it sees."""
    before = gettrace()
    if is_ours := sys.gettrace() is not before:  # a trace hides its function; that of a debugger goes on
        sys.settrace(None)
    try:
        yield
    finally:
        if is_ours:
            sys.settrace(before)


@contextmanager
def searching() -> Iterator[None]:
    """Have the trace not take what is read and asked here for the user's doing."""
    _searches.append(None)
    try:
        with untraced():
            yield
    finally:
        _searches.pop()


class Place(NamedTuple):
    """Where the examples for a class may stand."""

    root: Path
    """Of its project; the folder of the package where none is known."""
    package: Path
    """The package's own folder, or the single file that it is."""

    @staticmethod
    def of(file: str, top: str) -> Place | None:
        """The place for a class in that file, of the package with that name; None if it lies in no folder of that."""
        parts = Path(os.path.abspath(file))
        package = next((folder for folder in parts.parents if folder.name == top), parts)
        if not is_installed(str(package)):
            return Place(Path(repository(str(package.parent))), package)
        here = Path(repository(os.path.realpath(os.getcwd())))  # the documentation of what was installed to be built
        is_here = any((here / folder / top).is_dir() for folder in ("", "src"))
        return Place(here if is_here else package, package)

    def examples(self, word: str, near: str, *, is_source: bool = False) -> Iterator[tuple[Path, str]]:
        """Texts with the word in tests, examples, pages and configurations, or the package's own modules with it.

        Those whose names are like `near` come first.
        """
        known = _projects[-1] if _projects else {}
        project = known[self] = known.get(self) or _Project.of(self)
        words = set(filter(None, near.split("_")))

        def rank(file: _File) -> tuple[int, int]:
            return -len(words & file.words) if words else 0, len(file.words - words)

        files = project.with_word(word) if _projects else project.files
        for file in sorted((file for file in files if file.is_source == is_source), key=rank):
            try:
                text = data.decode() if word.encode() in (data := _data(file.path)) else ""
            except ValueError:  # it is not UTF-8
                continue
            if text and re.search(rf"\b{re.escape(word)}\b", text):
                yield Path(file.path), text

    def digest(self, word: str) -> str:
        """Changes when an example with the word does, or another text gets it; modules are part of a trace anyway."""
        return text_digest("\0".join(sorted(f"{self.shown(path)}\n{text}" for path, text in self.examples(word, ""))))

    def shown(self, path: Path) -> str:
        return path.relative_to(self.root if path.is_relative_to(self.root) else self.package.parent).as_posix()

    def note(self, word: str) -> None:
        """Have the recording depend on all texts with the word."""
        asked[SEPARATOR.join((str(self.root), str(self.package), word))] = self.digest(word)

    def _files(self) -> Iterator[_File]:
        """All files with texts, ordered; the others of a package are its data."""
        package = str(self.package)
        tops = [str(self.root / name) for name in _FOLDERS]
        found = dict.fromkeys(map(str, sorted(self.root.glob("README*"))))
        for top in (*tops, package):
            for path in _walked(top, _MOST_FILES - len(found)):
                if top != package or path.endswith(".py"):
                    found.setdefault(path)
        for path in found:
            below = path.removeprefix(package + os.sep) if path.endswith(".py") else path
            is_within = below != path and not any(_OF_TESTS.fullmatch(part) for part in below.split(os.sep))
            stem = os.path.splitext(os.path.basename(path))[0].lower()
            words = frozenset(re.split(r"[\W_]+", stem)) - {"test", "tests"}
            yield _File(path, is_within or path == package, words)


class _File(NamedTuple):
    path: str
    is_source: bool  # whether it is a module of the package, and no test
    words: frozenset[str]  # of its name


@dataclass(frozen=True, slots=True)
class _Project:
    """Files of a project at one time."""

    files: tuple[_File, ...]
    _by_word: dict[bytes, list[_File]] = field(default_factory=dict)

    @staticmethod
    def of(place: Place) -> _Project:
        with searching():
            return _Project(tuple(place._files()))

    def with_word(self, word: str) -> list[_File]:
        """The files whose texts have a word, in the same order."""
        if not self._by_word:
            for file in self.files:
                for each in set(_WORD.findall(_data(file.path))):
                    self._by_word.setdefault(each, []).append(file)
        return self._by_word.get(word.encode(), [])


_WORD = re.compile(rb"[A-Za-z_]\w*")
_projects: list[dict[Place, _Project]] = []  # those that are known, while names are looked for in one go


@contextmanager
def looking_once() -> Iterator[None]:
    """A while in which many names are looked for, and projects are taken to stay as they are: each is read once."""
    _projects.append({})
    try:
        yield
    finally:
        _projects.pop()


class Searches:
    """Searches that were made before, as they would end now; serves one build.

    An index keeps what each came to as long as all files with texts are the same ones by their stamps: so a build in
    which nothing changed reads none of them.
    """

    def __init__(self, machine: Store) -> None:
        self._index = StampedIndex(machine, "searched.json")
        self._states: dict[tuple[str, str], tuple[str, int]] = {}

    def digest(self, question: str) -> str | None:
        """What a search comes to; None if its project is gone."""
        root, package, word = question.split(SEPARATOR)
        if not os.path.isdir(root):
            return None
        state, newest = self._state(root, package)
        known: str | None = self._index.get(question, state)
        if known is None:
            known = Place(Path(root), Path(package)).digest(word)
            if time.time_ns() - newest > SETTLED_NS:
                self._index.put(question, state, known)
        return known

    def keep(self, found: Mapping[str, str], begun_ns: int) -> None:
        """Keep what searches of a recording came to that has just been made, if no text changed since it began."""
        for question, digest in found.items():
            root, package, _ = question.split(SEPARATOR)
            state, newest = self._state(root, package)
            if newest < begun_ns - SETTLED_NS:
                self._index.put(question, state, digest)

    def save(self) -> None:
        self._index.save(lambda question: os.path.isdir(question.partition(SEPARATOR)[0]))

    def _state(self, root: str, package: str) -> tuple[str, int]:
        """The digest of the stamps of a project's texts besides its modules, and the newest date of one."""
        if (root, package) not in self._states:
            paths = (file.path for file in Place(Path(root), Path(package))._files() if not file.is_source)
            stamps = {path: stamp_of(path) for path in paths}
            newest = max((max(stamp[:2]) for stamp in stamps.values() if stamp), default=0)
            self._states[root, package] = text_digest(json.dumps(sorted(stamps.items()))), newest
        return self._states[root, package]


def _walked(top: str, most: int) -> Iterator[str]:
    if os.path.isfile(top):
        yield top
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in _NO_SOURCES and not name.startswith("."))
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                most -= 1
                if most < 0:
                    return
                yield os.path.join(folder, name)


_TEXTS: dict[str, tuple[tuple[int, int], bytes]] = {}
"""Of files that were read, by path, with size and date: a build asks for many names."""


def _data(path: str) -> bytes:
    with searching():
        try:
            found = real_stat(path)
            stamp, known = (found.st_size, found.st_mtime_ns), _TEXTS.get(path)
            if known is None or known[0] != stamp:
                data = Path(path).read_bytes() if found.st_size <= _MOST_BYTES else b""
                known = _TEXTS[path] = stamp, data
                looked_at.add(path)
            return known[1]
        except OSError:  # it may be a link to nowhere
            return b""
