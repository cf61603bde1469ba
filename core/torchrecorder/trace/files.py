"""What a recording asked of the file system: what it read, listed, and looked for."""

from __future__ import annotations

import contextlib
import importlib
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import PurePath
from types import FrameType
from typing import Any, TypeVar

from torchrecorder.cache.index import Stamp, is_younger, real_stat, stamp_of
from torchrecorder.trace.digests import is_passing, names_in, text_digest
from torchrecorder.trace.mentions import is_searching, looked_at
from torchrecorder.trace.ownership import caller, is_asked_for_user, is_stdlib, is_user_code
from torchrecorder.trace.readers import Covers, caller_name, files_of_database

_T = TypeVar("_T")
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_IMPORT_SYSTEM = "<frozen importlib"
_CODE = (".py", ".pyc", ".so", ".pyd")
_PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
_EVENTS = {
    *("open", "os.listdir", "os.scandir", "os.mkdir", "os.rename", "os.link", "os.symlink", "os.fork", "os.forkpty"),
    *("ctypes.dlopen", "sqlite3.connect", "socket.connect", "socket.getaddrinfo", *_PROCESSES),
}
"""Python reports far more, and each look at the code of a frame."""
_PRINTERS = ("warnings.py", "traceback.py")  # they read source to print a line of it
_METADATA = f"importlib{os.sep}metadata{os.sep}"
"""Lists every folder on the path to find the version of one distribution."""
_NO_FILES = ("/proc/", "/sys/", "/dev/")
"""What the kernel shows there is another each time; so do the questions of ours how much memory is left."""
_FACTS = {"", "stat", "getsize", "getmtime", "getctime", "getatime", "cmp", "run"}
"""Functions of Python's library that tell more of a file than that it is there; `os.stat` itself has no name here, but
that of what a thread of a pool runs."""
_OF_FOLDER = {"", "cwd"}
_OF_LINK = {"", "lstat", "islink", "is_symlink", "run"}
"""Functions that ask whether there is a link, and not only on the way to where it leads."""
_QUEUE = 4096  # files that are opened between two readings of the kernel's queue, which has room for 16,384


class Files:
    """Questions to the file system from `start` to `stop`, each with its answer, as in a `TraceResult`.

    Python reports to its audit hooks every `open`, also one that finds nothing, and every listing, but neither
    `os.stat`, which asks whether a file exists, nor `os.readlink`: both are covered while a recording runs.
    """

    def __init__(self) -> None:
        self.read: dict[str, Stamp | None] = {}
        """By absolute path; None where there was nothing to read."""
        self.looked_for: dict[str, str | None] = {}
        self.measured: dict[str, str | None] = {}
        """Files of which the user's code asked the size, the date or the mode, and folders of which it asked for those
        of all that is in them."""
        self.links: dict[str, str | None] = {}
        """Links that were read as such, and what was asked whether it is one."""
        self.listed: dict[str, Stamp | None] = {}
        """The stamp that each folder had before it was listed."""
        self.asked_for_user: set[str] = set()
        """Those of what was looked for and listed that a call of the user's code wanted."""
        self.written: set[str] = set()
        self.untracked: set[str] = set()
        self.has_connected = False
        self.sources: dict[str, Stamp | None] = {}
        """The files of imported modules, as they were when they were imported."""
        self._changed: set[str] = set()  # paths of which the answer was another one the second time
        self._names: dict[str, set[str]] = {}  # by each folder that was listed, the names in it
        self._made: set[str] = set()  # folders that the recording made
        self.empty_queue: Callable[[], None] = lambda: None
        """Has the kernel's reports of opened files read, which it keeps only so many of."""
        self._opens = 0
        self._is_on = False
        self._begun_ns = 0
        self._covers = Covers()

    def start(self) -> None:
        self._is_on = True
        self._begun_ns = time.time_ns()
        sys.addaudithook(self._hook)
        for name, note in (("stat", self._note_stat), ("lstat", self._note_lstat), ("readlink", self._note_link)):
            self._covers.put(os, name, note, is_after=True)
        self._covers.put(os, "getcwd", self._note_current_folder)
        with contextlib.suppress(ImportError):  # Windows has none
            self._covers.put(importlib.import_module("_posixsubprocess"), "fork_exec", self._note_spawned)

    def stop(self) -> None:
        self._is_on = False  # an audit hook can never be removed
        self._covers.remove()

    def note_source(self, path: str) -> None:
        self.sources.setdefault(os.path.abspath(path), stamp_of(path))

    def note_read(self, path: _Path) -> None:
        """Notes a file that compiled code reads, of which Python hears nothing."""
        if self._is_on:
            with contextlib.suppress(Exception):
                self._note_read(_absolute(path))

    def note_opened(self, path: str, *, is_changed: bool) -> None:
        """Notes a file that the kernel reports, with whether another process wrote it during the recording."""
        is_known = path in self.sources or path in looked_at
        if not is_known and not path.endswith((*_CODE, "-shm")) and not self.is_made(path):
            if is_changed and is_user_code(path):
                self._changed.add(path)
            elif path.endswith("-wal"):
                self.read.pop(path, None)  # SQLite gives it another owner where it may
            self._note_read(path)

    def is_made(self, path: str) -> bool:
        """Whether the recording itself wrote the file, or made a folder that it lies in."""
        return path in self.written or any(path == made or path.startswith(made + os.sep) for made in self._made)

    def not_made(self, answers: Mapping[str, _T]) -> dict[str, _T]:
        """The files and folders that the recording did not write itself, sorted."""
        return {path: answers[path] for path in sorted(answers) if not self.is_made(path)}

    def changed(self) -> set[str]:
        """Files and folders that changed during the recording, but not by it, as far as this process can see."""
        found = {path for path in self._changed if not self.is_made(path)}
        for folder, names in self._names.items():
            own = {os.path.basename(path) for path in {*self.written, *self._made} if os.path.dirname(path) == folder}
            if own or _has_new_passing(folder, self._begun_ns):
                self.listed[folder] = stamp_of(folder)  # before the names are: what comes between is seen later
                self.measured[folder] = measure_of(folder, self.measured.get(folder) or "")
                (found.discard if names ^ {*(names_in(folder) or ())} <= own else found.add)(folder)
        return found

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in _EVENTS or not self._is_on or is_searching():
            return
        with contextlib.suppress(Exception):  # an exception of ours would be raised in the user's code
            frame = sys._getframe(1)
            if not _is_within(_METADATA, frame):
                if event == "open":
                    path, mode, flags = args
                    self._note_open(path, mode, flags, frame)
                elif event in ("os.listdir", "os.scandir"):
                    if not frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
                        self._note_listing(args[0] or os.curdir, frame, has_facts=event == "os.scandir")
                elif event == "os.mkdir":
                    if not os.path.lexists(args[0]):
                        self._made.add(_absolute(args[0]))
                elif event in ("os.rename", "os.link", "os.symlink"):
                    self.written.add(_absolute(args[1]))
                elif event == "ctypes.dlopen":
                    if args[0] and os.path.isabs(os.fspath(args[0])):
                        self._note_read(_absolute(args[0]))
                elif event == "sqlite3.connect":
                    for path in files_of_database(os.fsdecode(args[0])):
                        self._note_read(_absolute(path))
                elif event in _PROCESSES:
                    words = os.fsdecode(args[0]).split() if isinstance(args[0], bytes | os.PathLike | str) else []
                    self._note_untracked("starts " + (PurePath(words[0]).name if words else "a program"), frame)
                elif event in ("os.fork", "os.forkpty"):
                    self._note_untracked("forks a process", frame)
                elif event in ("socket.connect", "socket.getaddrinfo"):
                    self.has_connected = True
                    self._note_untracked("uses the network", frame)

    def _note_untracked(self, what: str, frame: FrameType) -> None:
        if is_asked_for_user(frame):
            self.untracked.add(what)

    def _note_open(self, path: int | _Path, mode: str | None, flags: int | None, frame: FrameType) -> None:
        self._opens += 1
        if self._opens % _QUEUE == 0:
            self.empty_queue()
        if isinstance(path, int) or not is_user_code(full := _absolute(path)):
            return
        if full.endswith(_CODE) and (_is_importing(frame) or _is_within(_PRINTERS, frame)):
            return
        if any(c in mode for c in "wax+") if isinstance(mode, str) else (flags or 0) & os.O_ACCMODE:
            may_read = "+" in mode if isinstance(mode, str) else (flags or 0) & os.O_RDWR
            if may_read and not (flags or 0) & os.O_TRUNC and os.path.exists(full):
                self._note_read(full)  # what was in it stays
            self.written.add(full)
        else:
            self._note_read(full)

    def _note_read(self, full: str) -> None:
        if is_user_code(full) and full not in self.written and not full.startswith(_NO_FILES):
            self.read.setdefault(full, stamp_of(full))

    def _note_listing(self, folder: int | _Path, frame: FrameType, *, has_facts: bool) -> None:
        if isinstance(folder, int):
            return
        full, stamp = _absolute(folder), stamp_of(os.fsdecode(folder))
        if full not in self.listed and is_user_code(full):
            self._is_on = False  # the hook would hear this, too
            self._names[full] = {*(names_in(full) or ())}
            self._is_on = True
        self._add(self.listed, folder, stamp, frame)
        if has_facts:
            asker = caller(frame)
            is_own = asker is not None and is_user_code(asker.f_code.co_filename) and caller_name(frame, asker) == ""
            self._is_on = False
            self._add(self.measured, folder, measure_of(full, "sizes" if is_own else "kinds"), frame)
            self._is_on = True

    def _note_stat(
        self,
        frame: FrameType,
        answer: os.stat_result | None,
        path: int | _Path,
        *,
        follow_symlinks: bool = True,
        **more: object,
    ) -> None:
        if isinstance(path, int) or is_searching() or _is_within(_METADATA, frame):
            return
        if not follow_symlinks:
            self._note_lstat(frame, answer, path)
            answer = real_stat(path) if os.path.lexists(path) else None
        self._add(self.looked_for, path, _kind_in(answer), frame)
        asker = caller(frame)
        file = "" if asker is None else asker.f_code.co_filename
        name = caller_name(frame, asker)
        if (asker is None or is_user_code(file)) and name in _FACTS:
            self._add(self.measured, path, _measure_in(answer), frame)
        elif name == "samefile":
            self._note_link(frame, None, path)

    def _note_lstat(self, frame: FrameType, answer: object, path: _Path, **more: object) -> None:
        if caller_name(frame, caller(frame)) in _OF_LINK:
            self._note_link(frame, answer, path)

    def _note_spawned(self, frame: FrameType, *args: object) -> None:
        if not _is_within(("subprocess.py",), frame):  # which reports what it starts
            self._note_untracked("spawns a process", frame)

    def _note_link(self, frame: FrameType, answer: object, path: _Path, **more: object) -> None:
        if is_asked_for_user(frame):
            self._add(
                self.links,
                path,
                text_digest(os.fsdecode(answer)) if isinstance(answer, str | bytes) else link_of(os.fsdecode(path)),
                frame,
            )

    def _note_current_folder(self, frame: FrameType) -> None:
        asker = caller(frame)
        if asker is not None and is_user_code(asker.f_code.co_filename) and caller_name(frame, asker) in _OF_FOLDER:
            self.untracked.add("asks for the current folder")

    def _add(self, to: dict[str, Any], path: int | _Path, answer: object, frame: FrameType) -> None:
        if isinstance(path, int) or (full := _absolute(path)).startswith(_NO_FILES):
            return
        if is_user_code(full):
            if to.setdefault(full, answer) != answer:
                self._changed.add(full)
            if full not in self.asked_for_user and is_asked_for_user(frame):
                self.asked_for_user.add(full)


def kind_of(path: str) -> str | None:
    """`file`, `folder`, or None if nothing is there."""
    try:
        return _kind_in(real_stat(path))
    except (OSError, ValueError):
        return None


def _kind_in(found: os.stat_result | None) -> str | None:
    return None if found is None else "folder" if stat.S_ISDIR(found.st_mode) else "file"


def measure_of(path: str | PurePath, of: str = "") -> str | None:
    """Size, date and mode of a file, as a text that is only compared; None if nothing is there.

    For a folder `of` is `kinds`, or `sizes` for sizes and dates of its entries as well, or a text that began so before.
    """
    kind, _, _ = of.partition(" ")
    try:
        if kind not in ("kinds", "sizes"):
            return _measure_in(real_stat(path))
        with os.scandir(path) as entries:
            kept = [entry for entry in entries if not is_passing(entry.name)]
            facts = [(it.name, it.is_dir(), *((_measure_in(it.stat()),) if kind == "sizes" else ())) for it in kept]
        return f"{kind} {text_digest(repr(sorted(facts)))}"
    except (OSError, ValueError):
        return None


def _measure_in(found: os.stat_result | None) -> str | None:
    if found is None or stat.S_ISDIR(found.st_mode):
        return None
    return f"{found.st_size} bytes of {found.st_mtime_ns}, mode {stat.S_IMODE(found.st_mode):o}"


def _has_new_passing(folder: str, since_ns: int) -> bool:
    """Whether a folder has got something that comes and goes, our cache for one, by which its stamp changed."""
    with contextlib.suppress(OSError):
        names = [os.path.join(folder, name) for name in os.listdir(folder) if is_passing(name)]
        return any(is_younger(name, since_ns) for name in names)
    return False


def link_of(path: str | PurePath) -> str | None:
    """The digest of where a link leads; None if it is not a link."""
    try:
        return text_digest(os.fsdecode(os.readlink(path)))
    except (OSError, ValueError):
        return None


def _absolute(path: _Path) -> str:
    return os.path.abspath(os.fsdecode(path))


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the import system opens the file for itself, and not because other code asked it for the text."""
    name = ""
    while frame is not None and frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
        name, frame = frame.f_code.co_name, frame.f_back
        if name == "get_source":
            return False
    return name not in ("", "get_data")


def _is_within(modules: str | tuple[str, ...], frame: FrameType | None) -> bool:
    """Whether one of Python's own modules acts here: the names end with one of the texts, or hold the one text."""
    while frame is not None and is_stdlib(file := frame.f_code.co_filename):
        if file.endswith(modules) if isinstance(modules, tuple) else modules in file:
            return True
        frame = frame.f_back
    return False
