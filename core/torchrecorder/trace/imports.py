"""Which functions of the user's ran, while modules were imported and after that, and which imports failed.

From Python 3.12 `sys.monitoring` reports each function once, at next to no cost. On 3.11 `sys.settrace` reports every
call, which doubles the time, so it is paused while modules of others are imported: they call nothing of the user's.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType, ModuleType
from typing import Any

from torchrecorder.trace.ownership import caller, is_user_code

_EXECUTES = "exec_module"
_IMPORT_SYSTEM = "<frozen importlib._bootstrap_external>"
_gettrace = sys.gettrace
_FREE_TOOLS = (4, 3)
"""The tool ids of `sys.monitoring` that are not meant for debuggers, coverage, profilers or optimizers."""


class Executed:
    """The code objects of the user's that ran, in every thread, from `start` to `stop`."""

    def __init__(self) -> None:
        self.at_import: set[CodeType] = set()
        self.after_import: set[CodeType] = set()
        self.importing = threading.local()
        """`depth`: how many modules this thread is in the middle of importing."""
        self._tool: int | None = None

    def start(self) -> None:
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

    def pause(self, want: bool) -> bool:
        """Whether this thread was traced; from now on it is if `want`."""
        if sys.version_info >= (3, 12):
            return True
        was_on = _gettrace() == self._on_event
        if was_on != want and (was_on or _gettrace() is None):
            sys.settrace(self._on_event if want else None)
        return was_on

    def end_of_import(self) -> None:
        """Report functions anew that ran while modules were imported, because now it means more."""
        if sys.version_info >= (3, 12) and self._tool is not None:
            sys.monitoring.restart_events()

    if sys.version_info >= (3, 12):

        def _on_start(self, code: CodeType, offset: int) -> object:
            self._note(code)
            return sys.monitoring.DISABLE

    def _shown_trace(self) -> Any:
        """None in place of this: python-dotenv, for one, looks elsewhere for its file if it believes in a debugger."""
        found = _gettrace()
        return None if found == self._on_event else found

    def _on_event(self, frame: FrameType, event: str, argument: object) -> None:
        self._note(frame.f_code)

    def _note(self, code: CodeType) -> None:
        if is_user_code(code.co_filename):
            (self.at_import if getattr(self.importing, "depth", 0) else self.after_import).add(code)


class Imports:
    """Watches the import system from `start` to `stop`: which module is imported, and which names are not found."""

    def __init__(
        self, executed: Executed, on_source: Callable[[str], None], on_import: Callable[[ModuleType], None]
    ) -> None:
        self.missing: set[str] = set()
        """Names that the user's code tried to import, and that no finder knew."""
        self.not_found: set[str] = set()
        """The same for all code."""
        self._executed = executed
        self._on_source = on_source
        self._on_import = on_import

    def start(self) -> None:
        setattr(SourceFileLoader, _EXECUTES, self._watched(SourceFileLoader.exec_module))
        sys.meta_path.append(self)

    def stop(self) -> None:
        delattr(SourceFileLoader, _EXECUTES)  # it is inherited, and was only covered
        if self in sys.meta_path:
            sys.meta_path.remove(self)

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
        executed, on_source, on_import = self._executed, self._on_source, self._on_import

        def watched(loader: SourceFileLoader, module: ModuleType) -> None:
            importing, is_user = executed.importing, is_user_code(loader.path)
            if is_user:
                on_source(loader.path)
            importing.depth = getattr(importing, "depth", 0) + 1
            was_on = executed.pause(is_user)
            try:
                exec_module(loader, module)
                if not is_user:
                    on_import(module)
            finally:
                executed.pause(was_on)
                importing.depth -= 1
                if not importing.depth:
                    executed.end_of_import()

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
    """Those that a module has by now: asked for another, a lazy one would import what it stands for, which may fail."""
    return getattr(module, "__dict__", {})


def origin(known: Mapping[str, Any]) -> str | None:
    found = getattr(known.get("__spec__"), "origin", None) or known.get("__file__")
    return found if isinstance(found, str) and not found.startswith("<") else None
