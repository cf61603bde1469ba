"""One traced run, from `start` to the plain data that says what it depended on."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import locale
import os
import sys
import time
from collections.abc import Iterable
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType

from torchrecorder.cache.index import Stamp, is_younger
from torchrecorder.trace.covers import Covers
from torchrecorder.trace.environment import Environment
from torchrecorder.trace.files import Files, kind_of
from torchrecorder.trace.imports import Executed, Imports, attributes, function_name, origin
from torchrecorder.trace.observed import TraceResult
from torchrecorder.trace.opened import Opened
from torchrecorder.trace.ownership import folders_of_project, is_asked_for_user, is_user_code
from torchrecorder.trace.readers import Readers

_OWN = {__name__.partition(".")[0], "__main__", "__mp_main__"}
_CLOCK = ("time", "time_ns", "localtime", "gmtime", "ctime", "strftime", "asctime")
_DATES = {"now", "today", "utcnow"}
"""What asks the clock too, but is a method of a compiled class that cannot be covered."""
_OF_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")


class Trace:
    """Traces this process. Not re-entrant; a fork goes on tracing in the child."""

    def __init__(self) -> None:
        self._before = set(sys.modules)
        self._begun_ns = time.time_ns()
        self._files = Files()
        self._readers = Readers(self._files.note_read)
        self._opened = Opened(lambda path, is_changed: self._files.note_opened(path, is_changed=is_changed))
        self._files.empty_queue = self._opened.read
        self._executed = Executed()
        self._imports = Imports(self._executed, self._files.note_source, self._readers.watch)
        self._environment = Environment()
        self._covers = Covers()
        self._asks_clock = False
        self._saw_all = True

    def start(self) -> None:
        self._opened.start(folders_of_project())
        self._environment.start()
        self._files.start()
        self._readers.start()
        for name in _CLOCK:
            self._covers.put(time, name, self._note_clock)
        for name in ("getlocale", "getdefaultlocale", "setlocale"):
            self._covers.put(locale, name, self._note_locale)
        self._imports.start()
        self._executed.start()

    def stop(self) -> None:
        self._saw_all = self._executed.stop()
        self._imports.stop()
        self._covers.remove()
        self._readers.stop()
        self._opened.stop()
        self._files.stop()
        self._environment.stop()

    def read_opened(self) -> None:
        """Note what has been opened until now: a forked child hears no more of it."""
        self._opened.read()

    def follow(self) -> None:
        """Go on in a forked child."""
        self._opened.follow()

    def stamps(self) -> dict[str, Stamp | None]:
        return {**self._files.sources, **self._files.read}

    def result(self, layers: Iterable[str] = ()) -> TraceResult:
        """What the run depended on; `layers` are the top-level packages of what was recorded."""
        files = self._files
        modules = self._modules()
        changed = files.changed()
        read, listed, measures = (
            files.not_made(files.read),
            files.not_made(files.listed),
            files.not_made(files.measured),
        )
        links = files.not_made(files.links)
        rivals = {path: kind_of(path) for path in sorted(_rivals_of_namespaces(sys.modules.keys() - self._before))}
        changed |= {path for path, kind in rivals.items() if kind is not None and is_younger(path, self._begun_ns)}
        asked = {**rivals, **files.not_made(files.looked_for)}
        looked_for = {path: kind for path, kind in asked.items() if path not in read}
        first, later = _by_file(self._executed.at_import), _by_file(self._executed.after_import)
        ran = {file: (sorted(first.get(file, ())), sorted(later.get(file, ()))) for file in sorted({*first, *later})}
        tops = {"torch", *layers, *_used_by(modules)} - {name.partition(".")[0] for name in modules}
        distributions = {name for top in tops for name in distribution_names().get(top, ())}
        return TraceResult(
            modules,
            dict(sorted(files.sources.items())),
            ran if self._saw_all else None,
            read,
            looked_for,
            listed,
            dict(sorted(self._environment.asked.items())),
            tuple(sorted(name for name in self._imports.missing if name not in sys.modules)),
            tuple(sorted(self._untracked())),
            {name: importlib.metadata.version(name) for name in sorted(distributions)},
            tuple(sorted(name for name in self._imports.not_found if name not in sys.modules)),
            files.has_connected,
            {path: measure for path, measure in measures.items() if measure is not None},
            links,
            tuple(sorted({*looked_for, *listed} - files.asked_for_user - {*rivals})),
            self._begun_ns,
            tuple(sorted(changed)),
        )

    def _untracked(self) -> set[str]:
        untracked = set(self._files.untracked)
        if self._environment.is_copied:
            untracked.add("reads the whole environment")
        codes = (self._executed.at_import, self._executed.after_import)
        if self._asks_clock or any(_asks_date(code) for found in codes for code in found):
            untracked.add("asks for the date or the time")
        if not self._opened.is_whole:
            untracked.add("opens more files at once than the kernel reports")
        for path in self._files.written:
            if self._files.read.get(path) is not None:
                untracked.add(f"reads and writes {PurePath(path).name}")
        return untracked

    def _note_clock(self, frame: FrameType, *args: object, **more: object) -> None:
        self._asks_clock = self._asks_clock or is_user_code(frame.f_code.co_filename)

    def _note_locale(self, frame: FrameType, *args: object, **more: object) -> None:
        if is_asked_for_user(frame):
            for name in _OF_LOCALE:
                self._environment.asked.setdefault(name, "python")

    def _modules(self) -> dict[str, str]:
        modules: dict[str, str] = {}
        for name in sorted(set(sys.modules) - self._before):
            file = origin(attributes(sys.modules[name]))
            if file is not None and name.partition(".")[0] not in _OWN and is_user_code(file := os.path.abspath(file)):
                modules[name] = file
        return modules


def _used_by(modules: Iterable[str]) -> set[str]:
    """The top-level packages that names of these modules come from.

    Objects are asked for their type alone: for its class, a proxy would load what it stands for.
    """
    values = [value for name in modules for value in list(attributes(sys.modules.get(name)).values())]
    names = [
        attributes(value).get("__name__") if issubclass(type(value), ModuleType) else getattr(value, "__module__", None)
        for value in values
        if issubclass(type(value), (ModuleType, type, FunctionType, BuiltinFunctionType))
    ]
    return {name.partition(".")[0] for name in names if isinstance(name, str)}


def _rivals_of_namespaces(names: Iterable[str]) -> set[str]:
    """The files that would be imported instead of packages that are only folders."""
    modules = [attributes(sys.modules[name]) for name in names]
    found = [known for known in modules if known.get("__file__") is None]
    folders: set[str] = set()
    for known in found:
        with contextlib.suppress(KeyError):  # one whose parent could not be imported in the end
            folders.update(os.path.abspath(str(folder)) for folder in known.get("__path__", ()))
    user = {folder for folder in folders if is_user_code(folder + os.sep)}
    return {file for folder in user for file in (os.path.join(folder, "__init__.py"), f"{folder}.py")}


def _asks_date(code: CodeType) -> bool:
    return not _DATES.isdisjoint(code.co_names) and not {"datetime", "date"}.isdisjoint(code.co_names)


def _by_file(codes: Iterable[CodeType]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for code in codes:
        names.setdefault(os.path.abspath(code.co_filename), set()).add(function_name(code))
    return names


@functools.cache
def distribution_names() -> dict[str, list[str]]:
    """The distributions by the top-level packages they bring; slow, so the worker asks once before it forks."""
    return {top: sorted(set(names)) for top, names in importlib.metadata.packages_distributions().items()}
