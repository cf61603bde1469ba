"""Which files are read, which are looked for, and which folders are listed.

Python tells its audit hooks of every `open`, also of one that finds nothing, and of every listing. Whether a file
exists is asked without telling, by `os.stat`, which is therefore covered while a recording runs.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import PurePath
from types import FrameType
from typing import Any

from torchrecorder.trace.ownership import caller, is_stdlib, is_users

Signature = tuple[int, int]
"""Time of the last change and size: whether a file changed while it was used."""

_IMPORT_SYSTEM = "<frozen importlib"
_CODE = (".py", ".pyc", ".so", ".pyd")
_PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
_TALKERS = ("warnings.py", "traceback.py")
"""They read source to print a line of it."""
_METADATA = f"importlib{os.sep}metadata{os.sep}"
"""Lists every folder on the path to find the version of one distribution."""


class Files:
    """What was asked of the file system. A hook can never be taken back, so `on` says whether it listens."""

    def __init__(self) -> None:
        self.read: dict[str, Signature | None] = {}
        """By absolute path; None where there was nothing to read."""
        self.looked_for: set[str] = set()
        self.listed: set[str] = set()
        self.written: set[str] = set()
        self.untracked: set[str] = set()
        self.sources: dict[str, Signature | None] = {}
        """The files of imported modules, as they were when they were imported."""
        self.on = False
        self._stat = os.stat

    def start(self) -> None:
        """Listen from now on."""
        self.on = True
        sys.addaudithook(self._hook)
        os.stat = self._covered(os.stat)

    def stop(self) -> None:
        """Listen no more."""
        self.on = False
        os.stat = self._stat

    def note_source(self, path: str) -> None:
        """A module is imported from that file."""
        self.sources.setdefault(os.path.abspath(path), self.signature(path))

    def signature(self, path: str) -> Signature | None:
        """That of the file as it is now; None if there is none."""
        try:
            found = self._stat(path)
        except (OSError, ValueError):
            return None
        return found.st_mtime_ns, found.st_size

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on or not event.startswith(("open", "os.", "subprocess.", "socket.", "ctypes.")):
            return
        with contextlib.suppress(Exception):  # an exception of ours would be raised in the user's code
            self._note(event, args, sys._getframe(1))

    def _note(self, event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        if _is_within(_METADATA, frame):
            return
        if event == "open":
            self._note_open(args, frame)
        elif event in ("os.listdir", "os.scandir"):
            if not frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
                self._add(self.listed, args[0] or os.curdir)
        elif event == "ctypes.dlopen":
            if args[0] and os.path.isabs(os.fspath(args[0])):
                self._note_read(args[0])
        elif event in _PROCESSES:
            self._note_untracked("starts " + _program(args), frame)
        elif event in ("socket.connect", "socket.getaddrinfo"):
            self._note_untracked("uses the network", frame)

    def _note_untracked(self, what: str, frame: FrameType) -> None:
        found = caller(frame)
        if found is not None and is_users(found.f_code.co_filename):
            self.untracked.add(what)

    def _note_open(self, args: tuple[Any, ...], frame: FrameType) -> None:
        path, mode, flags = args
        if isinstance(path, int) or not is_users(full := _absolute(path)):
            return
        if full.endswith(_CODE) and (_is_importing(frame) or _is_within(_TALKERS, frame)):
            return
        writes = any(c in mode for c in "wax+") if isinstance(mode, str) else bool((flags or 0) & os.O_ACCMODE)
        if writes:
            self.written.add(full)
        else:
            self._note_read(full)

    def _note_read(self, path: Any) -> None:
        full = _absolute(path)
        if is_users(full) and full not in self.written:
            self.read.setdefault(full, self.signature(full))

    def _covered(self, original: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def covered(path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
            if self.on and not isinstance(path, int):
                with contextlib.suppress(Exception):
                    if not _is_within(_METADATA, sys._getframe(1)):
                        self._add(self.looked_for, path)
            return original(path, *args, **kwargs)

        return covered

    def _add(self, to: set[str], path: Any) -> None:
        if not isinstance(path, int) and is_users(full := _absolute(path)):
            to.add(full)


def kind(path: str) -> str | None:
    """`file`, `folder`, or None if nothing is there."""
    try:
        return "folder" if stat.S_ISDIR(os.stat(path).st_mode) else "file"
    except (OSError, ValueError):
        return None


def _absolute(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))


def _program(args: tuple[Any, ...]) -> str:
    first = args[0]
    if isinstance(first, bytes | os.PathLike | str):
        words = os.fsdecode(first).split()
        return PurePath(words[0]).name if words else "a program"
    return "a program"


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the import system opens the file for itself, and not because somebody asked it for the text."""
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
