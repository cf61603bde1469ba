"""What a recording asked of the file system: what it read, listed, and looked for."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import PurePath
from types import FrameType
from typing import Any

from torchrecorder.cache.index import Stamp, stamp_of
from torchrecorder.trace.covers import Covers, caller_name
from torchrecorder.trace.digests import text_digest
from torchrecorder.trace.ownership import caller, is_asked_for_user, is_stdlib, is_user_code

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_IMPORT_SYSTEM = "<frozen importlib"
_CODE = (".py", ".pyc", ".so", ".pyd")
_PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
_PRINTERS = ("warnings.py", "traceback.py")
"""They read source to print a line of it."""
_METADATA = f"importlib{os.sep}metadata{os.sep}"
"""Lists every folder on the path to find the version of one distribution."""
_NO_FILES = ("/proc/", "/sys/", "/dev/")
"""What the kernel shows there is another each time; so do the questions of ours how much memory is left."""
_FACTS = {"", "stat", "getsize", "getmtime", "getctime", "getatime"}
"""Functions of Python's library that tell more of a file than that it is there; `os.stat` itself has no name here."""
_OF_FOLDER = {"", "cwd"}
_OF_LINK = {"", "lstat", "islink", "is_symlink"}
"""Functions that ask whether there is a link, and not only on the way to where it leads."""
_COMPILED_READERS = (f"torch{os.sep}jit{os.sep}_serialization.py",)
"""Look whether a file is there before compiled code reads it."""


class Files:
    """What was asked of the file system from `start` to `stop`.

    Python reports to its audit hooks every `open`, also one that finds nothing, and every listing, but neither
    `os.stat`, which asks whether a file exists, nor `os.readlink`: both are covered while a recording runs.
    """

    def __init__(self) -> None:
        self.read: dict[str, Stamp | None] = {}
        """By absolute path; None where there was nothing to read."""
        self.looked_for: set[str] = set()
        self.measured: set[str] = set()
        """Files of which the user's code asked the size or the date."""
        self.links: set[str] = set()
        """Links that were read as such, and what was asked whether it is one."""
        self.listed: set[str] = set()
        self.asked_for_user: set[str] = set()
        """Those of what was looked for and listed that a call of the user's code wanted."""
        self.written: set[str] = set()
        self.untracked: set[str] = set()
        self.has_connected = False
        self.sources: dict[str, Stamp | None] = {}
        """The files of imported modules, as they were when they were imported."""
        self._made: set[str] = set()
        """Folders that it made."""
        self._is_on = False
        self._covers = Covers()

    def start(self) -> None:
        self._is_on = True
        sys.addaudithook(self._hook)
        self._covers.put(os, "stat", self._note_stat)
        self._covers.put(os, "lstat", self._note_lstat)
        self._covers.put(os, "readlink", self._note_link)
        self._covers.put(os, "getcwd", self._note_current_folder)
        if (torch := sys.modules.get("torch")) is not None:
            self._covers.put(torch, "from_file", self._note_mapped)

    def stop(self) -> None:
        self._is_on = False  # an audit hook can never be removed
        self._covers.remove()

    def note_source(self, path: str) -> None:
        self.sources.setdefault(os.path.abspath(path), stamp_of(path))

    def note_read(self, path: _Path) -> None:
        """Note a file that compiled code reads, of which Python hears nothing."""
        if self._is_on:
            with contextlib.suppress(Exception):
                self._note_read(_absolute(path))

    def is_made(self, path: str) -> bool:
        """Whether the recording itself wrote the file, or made a folder that it lies in."""
        return path in self.written or any(path == made or path.startswith(made + os.sep) for made in self._made)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._is_on or not event.startswith(("open", "os.", "subprocess.", "socket.", "ctypes.", "sqlite3.")):
            return
        with contextlib.suppress(Exception):  # an exception of ours would be raised in the user's code
            frame = sys._getframe(1)
            if not _is_within(_METADATA, frame):
                self._note(event, args, frame)

    def _note(self, event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        if event == "open":
            path, mode, flags = args
            self._note_open(path, mode, flags, frame)
        elif event in ("os.listdir", "os.scandir"):
            if not frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
                self._add(self.listed, args[0] or os.curdir, frame)
        elif event == "os.mkdir":
            self._made.add(_absolute(args[0]))
        elif event == "ctypes.dlopen":
            if args[0] and os.path.isabs(os.fspath(args[0])):
                self._note_read(_absolute(args[0]))
        elif event == "sqlite3.connect":
            name = os.fsdecode(args[0])
            self._note_read(_absolute(name.removeprefix("file:").partition("?")[0]))
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
        if isinstance(path, int) or not is_user_code(full := _absolute(path)):
            return
        if full.endswith(_CODE) and (_is_importing(frame) or _is_within(_PRINTERS, frame)):
            return
        if any(c in mode for c in "wax+") if isinstance(mode, str) else (flags or 0) & os.O_ACCMODE:
            self.written.add(full)
        else:
            self._note_read(full)

    def _note_read(self, full: str) -> None:
        if is_user_code(full) and full not in self.written and not full.startswith(_NO_FILES):
            self.read.setdefault(full, stamp_of(full))

    def _note_stat(self, frame: FrameType, path: int | _Path, *, follow_symlinks: bool = True, **more: object) -> None:
        if isinstance(path, int) or _is_within(_METADATA, frame):
            return
        if not follow_symlinks:
            self._note_lstat(frame, path)
        self._add(self.looked_for, path, frame)
        asker = caller(frame)
        file = "" if asker is None else asker.f_code.co_filename
        if file.endswith(_COMPILED_READERS):
            self._note_read(_absolute(path))
        elif asker is not None and is_user_code(file) and caller_name(frame, asker) in _FACTS:
            self._add(self.measured, path, frame)

    def _note_lstat(self, frame: FrameType, path: _Path, **more: object) -> None:
        asker = caller(frame)
        if asker is not None and caller_name(frame, asker) in _OF_LINK:
            self._note_link(frame, path)

    def _note_mapped(self, frame: FrameType, filename: _Path, *args: object, **more: object) -> None:
        self.note_read(filename)

    def _note_link(self, frame: FrameType, path: _Path, **more: object) -> None:
        if is_asked_for_user(frame):
            self._add(self.links, path, frame)

    def _note_current_folder(self, frame: FrameType) -> None:
        asker = caller(frame)
        if asker is not None and is_user_code(asker.f_code.co_filename) and caller_name(frame, asker) in _OF_FOLDER:
            self.untracked.add("asks for the current folder")

    def _add(self, to: set[str], path: int | _Path, frame: FrameType) -> None:
        if isinstance(path, int) or (full := _absolute(path)).startswith(_NO_FILES):
            return
        if is_user_code(full):
            to.add(full)
            if full not in self.asked_for_user and is_asked_for_user(frame):
                self.asked_for_user.add(full)


def kind_of(path: str) -> str | None:
    """`file`, `folder`, or None if nothing is there."""
    try:
        return "folder" if stat.S_ISDIR(os.stat(path).st_mode) else "file"
    except (OSError, ValueError):
        return None


def measure_of(path: str | PurePath) -> str | None:
    """Size and date of a file, as a text that is only compared; None for a folder, or if nothing is there."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return None if stat.S_ISDIR(found.st_mode) else f"{found.st_size} bytes of {found.st_mtime_ns}"


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
