"""Which files are read, which are looked for, and which folders are listed.

Python reports to its audit hooks every `open`, also one that finds nothing, and every listing, but not `os.stat`, which
asks whether a file exists and is therefore covered while a recording runs.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import PurePath
from types import FrameType
from typing import Any

from torchrecorder.cache.index import Stamp, stamp_of
from torchrecorder.trace.ownership import caller, is_stdlib, is_user_code

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_IMPORT_SYSTEM = "<frozen importlib"
_CODE = (".py", ".pyc", ".so", ".pyd")
_PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
_PRINTERS = ("warnings.py", "traceback.py")
"""They read source to print a line of it."""
_METADATA = f"importlib{os.sep}metadata{os.sep}"
"""Lists every folder on the path to find the version of one distribution."""


class Files:
    """What was asked of the file system from `start` to `stop`."""

    def __init__(self) -> None:
        self.read: dict[str, Stamp | None] = {}
        """By absolute path; None where there was nothing to read."""
        self.looked_for: set[str] = set()
        self.listed: set[str] = set()
        self.written: set[str] = set()
        self.untracked: set[str] = set()
        self.sources: dict[str, Stamp | None] = {}
        """The files of imported modules, as they were when they were imported."""
        self._is_on = False
        self._stat = os.stat

    def start(self) -> None:
        self._is_on = True
        sys.addaudithook(self._hook)
        stat_of = self._stat

        def watched(path: int | _Path, *args: Any, **kwargs: Any) -> os.stat_result:
            if self._is_on and not isinstance(path, int):
                with contextlib.suppress(Exception):
                    if not _is_within(_METADATA, sys._getframe(1)):
                        self._add(self.looked_for, path)
            return stat_of(path, *args, **kwargs)

        os.stat = watched

    def stop(self) -> None:
        self._is_on = False  # an audit hook can never be removed
        os.stat = self._stat

    def note_source(self, path: str) -> None:
        """A module is imported from that file."""
        self.sources.setdefault(os.path.abspath(path), stamp_of(path))

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._is_on or not event.startswith(("open", "os.", "subprocess.", "socket.", "ctypes.")):
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
                self._add(self.listed, args[0] or os.curdir)
        elif event == "ctypes.dlopen":
            if args[0] and os.path.isabs(os.fspath(args[0])):
                self._note_read(_absolute(args[0]))
        elif event in _PROCESSES:
            words = os.fsdecode(args[0]).split() if isinstance(args[0], bytes | os.PathLike | str) else []
            self._note_untracked("starts " + (PurePath(words[0]).name if words else "a program"), frame)
        elif event in ("socket.connect", "socket.getaddrinfo"):
            self._note_untracked("uses the network", frame)

    def _note_untracked(self, what: str, frame: FrameType) -> None:
        asker = caller(frame)
        if asker is not None and is_user_code(asker.f_code.co_filename):
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
        if is_user_code(full) and full not in self.written:
            self.read.setdefault(full, stamp_of(full))

    def _add(self, to: set[str], path: int | _Path) -> None:
        if not isinstance(path, int) and is_user_code(full := _absolute(path)):
            to.add(full)


def kind_of(path: str) -> str | None:
    """`file`, `folder`, or None if nothing is there."""
    try:
        return "folder" if stat.S_ISDIR(os.stat(path).st_mode) else "file"
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
