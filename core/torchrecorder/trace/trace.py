"""One traced run, from `start` to the plain data that says what it depended on."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import locale
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from inspect import CO_OPTIMIZED
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from torchrecorder.cache.index import Stamp, is_younger
from torchrecorder.trace import mentions
from torchrecorder.trace.environment import Environment
from torchrecorder.trace.files import Files, kind_of
from torchrecorder.trace.observed import TraceResult
from torchrecorder.trace.ownership import caller, folders_of_project, is_asked_for_user, is_user_code
from torchrecorder.trace.readers import Covers, Opened, Readers

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
        self.opened = Opened(lambda path, is_changed: self._files.note_opened(path, is_changed=is_changed))
        """Is to `read` before a fork, since the child hears no more of what was opened, and to `follow` in it."""
        self._files.empty_queue = self.opened.read
        self._executed = Executed(self._files.note_source, self._readers.watch)
        self._environment = Environment()
        self._covers = Covers()
        self._asks_clock = False
        self._saw_all = True

    def start(self) -> None:
        mentions.asked.clear()
        mentions.commits.clear()
        self.opened.start(folders_of_project())
        self._environment.start()
        self._files.start()
        self._readers.start()
        for name in _CLOCK:
            self._covers.put(time, name, self._note_clock)
        for name in ("getlocale", "getdefaultlocale", "setlocale"):
            self._covers.put(locale, name, self._note_locale)
        self._executed.start()

    def stop(self) -> None:
        self._saw_all = self._executed.stop()
        self._covers.remove()
        self._readers.stop()
        self.opened.stop()
        self._files.stop()
        self._environment.stop()

    def stamps(self) -> dict[str, Stamp | None]:
        return {**self._files.sources, **self._files.read}

    def result(self, layers: Iterable[str] = ()) -> TraceResult:
        """The dependencies of the run; `layers` are the top-level packages of what was recorded."""
        files = self._files
        modules = self._modules()
        changed = files.changed()
        read, listed = files.not_made(files.read), files.not_made(files.listed)
        measures, links = files.not_made(files.measured), files.not_made(files.links)
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
            tuple(sorted(name for name in self._executed.missing if name not in sys.modules)),
            tuple(sorted(self._untracked())),
            {name: _version(name) for name in sorted(distributions)},
            tuple(sorted(name for name in self._executed.not_found if name not in sys.modules)),
            files.has_connected,
            {path: measure for path, measure in measures.items() if measure is not None},
            links,
            tuple(sorted({*looked_for, *listed} - files.asked_for_user - {*rivals})),
            self._begun_ns,
            dict(sorted(mentions.asked.items())),
            tuple(sorted(changed)),
            dict(sorted(mentions.commits.items())),
        )

    def _untracked(self) -> set[str]:
        untracked = set(self._files.untracked)
        if self._environment.is_copied:
            untracked.add("reads the whole environment")
        named = ({*code.co_names} for code in {*self._executed.at_import, *self._executed.after_import})
        if self._asks_clock or any(names & _DATES and names & {"datetime", "date"} for names in named):
            untracked.add("asks for the date or the time")
        if not self.opened.is_whole:
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


def _by_file(codes: Iterable[CodeType]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for code in codes:
        names.setdefault(os.path.abspath(code.co_filename), set()).add(function_name(code))
    return names


_version = functools.cache(importlib.metadata.version)


def look_up_versions() -> None:
    """Look up the versions of what is imported, which takes as long as many a recording, once for all children."""
    with mentions.searching():
        for top in {name.partition(".")[0] for name in sys.modules}:
            for name in distribution_names().get(top, ()):
                _version(name)


@functools.cache
def distribution_names() -> dict[str, list[str]]:
    """The distributions by the top-level packages they bring; slow, so the worker asks once before it forks."""
    return {top: sorted(set(names)) for top, names in importlib.metadata.packages_distributions().items()}


_EXECUTES = "exec_module"
_IMPORT_SYSTEM = "<frozen importlib._bootstrap_external>"
_gettrace = sys.gettrace
_FREE_TOOLS = (4, 3)
"""The tool ids of `sys.monitoring` that are not meant for debuggers, coverage, profilers or optimizers."""


class Executed:
    """The code objects of the user's that ran, in every thread, from `start` to `stop`, and what was imported.

    From Python 3.12 `sys.monitoring` reports each function once, at next to no cost. On 3.11 `sys.settrace` reports
    every call, which doubles the time: it pauses while modules of others are imported, which call nothing of the user.
    """

    def __init__(self, on_source: Callable[[str], None], on_import: Callable[[ModuleType], None]) -> None:
        self.at_import: set[CodeType] = set()
        self.after_import: set[CodeType] = set()
        self.importing = threading.local()
        """`depth`: how many modules this thread is in the middle of importing."""
        self.missing: set[str] = set()
        """Names that the user's code tried to import, and that no finder knew."""
        self.not_found: set[str] = set()
        """The same for all code."""
        self._tool: int | None = None
        self._known: dict[int, CodeType] = {}
        """Code that was noted, by id, before 3.12: what a code object is equal to takes longer to find than to run."""
        self._on_source = on_source
        self._on_import = on_import

    def start(self) -> None:
        setattr(SourceFileLoader, _EXECUTES, self._watched(SourceFileLoader.exec_module))
        sys.meta_path.append(self)
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            self._tool = next((tool for tool in _FREE_TOOLS if monitoring.get_tool(tool) is None), None)
            if self._tool is not None:
                monitoring.use_tool_id(self._tool, "torchrecorder")
                monitoring.register_callback(self._tool, monitoring.events.PY_START, self._on_start)
                monitoring.set_events(self._tool, monitoring.events.PY_START)
                monitoring.restart_events()
        else:
            threading.settrace(self._on_event)
            sys.settrace(self._on_event)
            sys.gettrace = self._shown_trace

    def stop(self) -> bool:
        """Whether it saw everything: False if other code had switched it off before."""
        delattr(SourceFileLoader, _EXECUTES)  # it is inherited, and was only covered
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if sys.version_info >= (3, 12):
            if self._tool is None or sys.monitoring.get_tool(self._tool) != "torchrecorder":
                return False
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)
            return True
        sys.gettrace = _gettrace
        was_on = sys.gettrace() == self._on_event
        threading.settrace(None)
        sys.settrace(None)
        return was_on

    def _pause(self, want: bool) -> bool:
        """Whether this thread was traced; from now on it is if `want`."""
        if sys.version_info >= (3, 12):
            return True
        was_on = _gettrace() == self._on_event
        if was_on != want and (was_on or _gettrace() is None):
            sys.settrace(self._on_event if want else None)
        return was_on

    if sys.version_info >= (3, 12):

        def _on_start(self, code: CodeType, offset: int) -> object:
            self._note(code)
            return sys.monitoring.DISABLE

    def _shown_trace(self) -> Any:
        """None in place of this: python-dotenv, for one, looks elsewhere for its file if it believes in a debugger."""
        found = _gettrace()
        return None if found == self._on_event else found

    def _on_event(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if id(code) not in self._known:
            self._known[id(code)] = code
            self._note(code)

    def _note(self, code: CodeType) -> None:
        if is_user_code(code.co_filename):
            (self.at_import if getattr(self.importing, "depth", 0) else self.after_import).add(code)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Asked last, when all other finders have given up."""
        self.not_found.add(name)
        frame = caller(sys._getframe(1))
        if frame is not None and is_user_code(frame.f_code.co_filename):
            self.missing.add(name)

    def find_distributions(self, *context: Any) -> tuple[()]:
        return ()  # `importlib.metadata` asks everything on `sys.meta_path`

    def invalidate_caches(self) -> None:
        pass

    def _watched(self, exec_module: Callable[[Any, ModuleType], None]) -> Callable[[Any, ModuleType], None]:
        importing = self.importing

        def watched(loader: SourceFileLoader, module: ModuleType) -> None:
            if is_user := is_user_code(loader.path):
                self._on_source(loader.path)
            importing.depth = getattr(importing, "depth", 0) + 1
            was_on = self._pause(is_user)
            try:
                exec_module(loader, module)
                if not is_user:
                    self._on_import(module)
            finally:
                self._pause(was_on)
                importing.depth -= 1
                # Functions that ran while modules were imported are reported anew, because now it means more.
                if not importing.depth:
                    self._known.clear()
                    if sys.version_info >= (3, 12) and self._tool is not None:
                        sys.monitoring.restart_events()

        # Python leaves the frames of its import system out of tracebacks, if nothing stands between them.
        watched.__code__ = watched.__code__.replace(co_filename=_IMPORT_SYSTEM)
        return watched


def function_name(code: CodeType) -> str:
    """The qualified name of a function; empty for a module.

    Lambdas, comprehensions and classes have code of their own but are part of the text of the function that holds them.
    Only the text shows which of the names around them are functions, so theirs end with a dot: `Net.forward.`.
    """
    parts = code.co_qualname.split(".")
    generated = next((i for i, part in enumerate(parts) if part.startswith("<") and part != "<locals>"), None)
    if generated is None:
        return code.co_qualname if code.co_flags & CO_OPTIMIZED else f"{code.co_qualname}."
    return ".".join(parts[:generated]) + "." if generated else ""


def attributes(module: object) -> Mapping[str, Any]:
    """The attributes that a module has by now: asked for another, a lazy one would import what it stands for."""
    return getattr(module, "__dict__", {})


def origin(known: Mapping[str, Any]) -> str | None:
    found = getattr(known.get("__spec__"), "origin", None) or known.get("__file__")
    return found if isinstance(found, str) and not found.startswith("<") else None
