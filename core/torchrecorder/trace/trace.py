"""One traced run, from `start` to the plain data that says what it depended on."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from types import CodeType, FrameType
from typing import Any

from torchrecorder.cache.index import Stamp, stamp_of
from torchrecorder.trace.imports import Executed, Imports, function_name, origin
from torchrecorder.trace.manifest import TraceResult
from torchrecorder.trace.ownership import caller, is_installed, is_stdlib, is_user_code

_OWN = {__name__.partition(".")[0], "__main__", "__mp_main__"}
_BETWEEN = ("os.py", "_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")
"""Where `os.environ.get`, `os.getenv` and `in` are written, between a question and the code that asks it."""


class Trace:
    """Traces this process. Not re-entrant; a fork goes on tracing in the child."""

    def __init__(self) -> None:
        self._before = set(sys.modules)
        self._files = Files()
        self._executed = Executed()
        self._imports = Imports(self._executed, self._files.note_source)
        self._environment = _Environment()
        self._saw_all = True

    def start(self) -> None:
        self._environment.start()
        self._files.start()
        self._imports.start()
        self._executed.start()

    def stop(self) -> None:
        self._saw_all = self._executed.stop()
        self._imports.stop()
        self._files.stop()
        self._environment.stop()

    def stamps(self) -> dict[str, Stamp | None]:
        return {**self._files.sources, **self._files.read}

    def result(self) -> TraceResult:
        files = self._files
        modules, installed = self._modules()
        read = set(files.read) - files.written
        looked_for = files.looked_for - read - files.written
        untracked = {*files.untracked, *(["reads the whole environment"] if self._environment.is_copied else [])}
        for path in files.written:
            if files.read.get(path) is not None:
                untracked.add(f"reads and writes {PurePath(path).name}")
        first, later = _by_file(self._executed.at_import), _by_file(self._executed.after_import)
        ran = {file: (sorted(first.get(file, ())), sorted(later.get(file, ()))) for file in sorted({*first, *later})}
        tops = ("torch", "numpy", *installed, *self._imports.begun)  # every job has these two before it begins
        distributions = {name for top in tops for name in distribution_names().get(top, ())}
        return TraceResult(
            modules,
            dict(sorted(files.sources.items())),
            ran if self._saw_all else None,
            {path: files.read[path] for path in sorted(read)},
            {path: kind_of(path) for path in sorted(looked_for)},
            tuple(sorted(files.listed)),
            tuple(sorted(self._environment.names)),
            tuple(sorted(name for name in self._imports.missing if name not in sys.modules)),
            tuple(sorted(untracked)),
            {name: importlib.metadata.version(name) for name in sorted(distributions)},
            tuple(sorted(name for name in self._imports.not_found if name not in sys.modules)),
            files.has_connected,
        )

    def _modules(self) -> tuple[dict[str, str], set[str]]:
        modules: dict[str, str] = {}
        installed: set[str] = set()
        for name in sorted(set(sys.modules) - self._before):
            file = origin(getattr(sys.modules[name], "__spec__", None), sys.modules[name])
            if file is None or (top := name.partition(".")[0]) in _OWN:
                continue
            if is_installed(file):
                installed.add(top)
            elif is_user_code(file := os.path.abspath(file)):
                modules[name] = file
        return modules, installed


class _Environment:
    """Watches `os.environ` from `start` to `stop`.

    Only what the user's code asks for itself counts: libraries ask for dozens of variables that change nothing.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.is_copied = False
        """Whether all of it was read at once, so that the variables that count are not known."""
        self._class = type(os.environ)
        self._originals: dict[str, Callable[..., object]] = {}

    def start(self) -> None:
        get: Callable[..., str] = self._class.__getitem__
        iterate: Callable[..., Iterator[str]] = self._class.__iter__

        def watched_get(environ: object, name: object) -> str:
            if environ is os.environ and isinstance(name, str) and _is_asked_by_user(sys._getframe(1)):
                self.names.add(name)
            return get(environ, name)

        def watched_iterate(environ: object) -> Iterator[str]:
            if environ is os.environ and _is_asked_by_user(sys._getframe(1)):
                self.is_copied = True
            return iterate(environ)

        self._originals = {"__getitem__": get, "__iter__": iterate}
        for name, watched in (("__getitem__", watched_get), ("__iter__", watched_iterate)):
            setattr(self._class, name, watched)

    def stop(self) -> None:
        for name, original in self._originals.items():
            setattr(self._class, name, original)


def _is_asked_by_user(frame: FrameType | None) -> bool:
    while frame is not None and (frame.f_code.co_filename.endswith(_BETWEEN) or frame.f_code.co_name == "expandvars"):
        frame = frame.f_back
    return frame is not None and is_user_code(frame.f_code.co_filename)


def _by_file(codes: Iterable[CodeType]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for code in codes:
        names.setdefault(os.path.abspath(code.co_filename), set()).add(function_name(code))
    return names


@functools.cache
def distribution_names() -> dict[str, list[str]]:
    """The distributions by the top-level packages they bring; slow, so the worker asks once before it forks."""
    return {top: sorted(set(names)) for top, names in importlib.metadata.packages_distributions().items()}


_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_IMPORT_SYSTEM = "<frozen importlib"
_CODE = (".py", ".pyc", ".so", ".pyd")
_PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
_PRINTERS = ("warnings.py", "traceback.py")
"""They read source to print a line of it."""
_METADATA = f"importlib{os.sep}metadata{os.sep}"
"""Lists every folder on the path to find the version of one distribution."""


class Files:
    """What was asked of the file system from `start` to `stop`.

    Python reports to its audit hooks every `open`, also one that finds nothing, and every listing, but not `os.stat`,
    which asks whether a file exists and is therefore wrapped while a recording runs.
    """

    def __init__(self) -> None:
        self.read: dict[str, Stamp | None] = {}
        """By absolute path; None where there was nothing to read."""
        self.looked_for: set[str] = set()
        self.listed: set[str] = set()
        self.written: set[str] = set()
        self.untracked: set[str] = set()
        self.has_connected = False
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
            self.has_connected = True
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
