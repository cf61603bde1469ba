"""Which functions of the user's ran, while modules were imported and after that.

From Python 3.12 `sys.monitoring` tells each function once, at next to no cost. On 3.11 `sys.settrace` tells every call,
which doubles the time, so it is paused while modules of others are imported: they call nothing of the user's.
"""

from __future__ import annotations

import sys
import threading
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

from torchrecorder.trace.ownership import is_users

_FREE_TOOLS = (4, 3)
"""The tool numbers of `sys.monitoring` that are not meant for debuggers, coverage, profilers or optimizers."""


class Executed:
    """The code objects that ran. Nothing is noted while `importing` before the first start."""

    def __init__(self) -> None:
        self.at_import: set[CodeType] = set()
        self.after_import: set[CodeType] = set()
        self.importing = threading.local()
        """`depth`: how many modules this thread is in the middle of importing."""
        self._tool: int | None = None

    def start(self) -> None:
        """Note what runs from now on, in every thread."""
        if sys.version_info >= (3, 12):
            self._start_monitoring()
        else:
            threading.settrace(self._on_event)
            sys.settrace(self._on_event)

    def stop(self) -> bool:
        """Note no more; False if somebody had switched it off before."""
        if sys.version_info >= (3, 12):
            return self._stop_monitoring()
        undisturbed = sys.gettrace() == self._on_event
        threading.settrace(None)
        sys.settrace(None)
        return undisturbed

    def pause(self, want: bool) -> bool:
        """Whether this thread was traced; from now on it is if `want`."""
        if sys.version_info >= (3, 12):
            return True
        was_on = sys.gettrace() == self._on_event
        if was_on != want and (was_on or sys.gettrace() is None):
            sys.settrace(self._on_event if want else None)
        return was_on

    def end_of_import(self) -> None:
        """Tell functions anew that ran while modules were imported, because now it means more."""
        if sys.version_info >= (3, 12) and self._tool is not None:
            sys.monitoring.restart_events()

    def _note(self, code: CodeType) -> None:
        if is_users(code.co_filename):
            (self.at_import if getattr(self.importing, "depth", 0) else self.after_import).add(code)

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> None:
        self._note(frame.f_code)

    if sys.version_info >= (3, 12):

        def _start_monitoring(self) -> None:
            monitoring = sys.monitoring
            self._tool = next((tool for tool in _FREE_TOOLS if monitoring.get_tool(tool) is None), None)
            if self._tool is None:
                return
            monitoring.use_tool_id(self._tool, "torchrecorder")
            monitoring.register_callback(self._tool, monitoring.events.PY_START, self._on_start)
            monitoring.set_events(self._tool, monitoring.events.PY_START)
            monitoring.restart_events()

        def _stop_monitoring(self) -> bool:
            if self._tool is None or sys.monitoring.get_tool(self._tool) != "torchrecorder":
                return False
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)
            return True

        def _on_start(self, code: CodeType, offset: int) -> Any:
            self._note(code)
            return sys.monitoring.DISABLE


def function_name(code: CodeType) -> str:
    """The qualified name of a function; empty for a module.

    Lambdas, comprehensions and classes have code of their own but are part of the text of the function that holds them.
    Which of the names around them are functions only the text tells, so theirs end with a dot: `Net.forward.`.
    """
    parts = code.co_qualname.split(".")
    generated = next((i for i, part in enumerate(parts) if part.startswith("<") and part != "<locals>"), None)
    if generated is None:
        return code.co_qualname if code.co_flags & CO_OPTIMIZED else f"{code.co_qualname}."
    return ".".join(parts[:generated]) + "." if generated else ""
