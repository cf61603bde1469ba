"""The import system, watched: which module is being imported, from which file, and which names nobody found."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

from torchrecorder.trace.executed import Executed
from torchrecorder.trace.ownership import caller, is_users

_EXECUTES = "exec_module"
_IMPORT_SYSTEM = "<frozen importlib._bootstrap_external>"


class Imports:
    """Watches from `start` to `stop`."""

    def __init__(self, executed: Executed, on_source: Callable[[str], None]) -> None:
        self.missing: set[str] = set()
        """Names that the user's code tried to import and nobody knew."""
        self._executed = executed
        self._on_source = on_source

    def start(self) -> None:
        """Watch from now on."""
        setattr(SourceFileLoader, _EXECUTES, self._watched(SourceFileLoader.exec_module))
        sys.meta_path.append(self)

    def stop(self) -> None:
        """Leave the import system as it was."""
        delattr(SourceFileLoader, _EXECUTES)  # it is inherited, and was only covered
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Asked last, when all other finders have given up."""
        frame = caller(sys._getframe(1))
        if frame is not None and is_users(frame.f_code.co_filename):
            self.missing.add(name)

    def find_distributions(self, *context: Any) -> tuple[()]:
        """None; `importlib.metadata` asks everything on `sys.meta_path`."""
        return ()

    def invalidate_caches(self) -> None:
        """There are none."""

    def _watched(self, exec_module: Callable[[Any, ModuleType], None]) -> Callable[[Any, ModuleType], None]:
        executed, on_source = self._executed, self._on_source

        def watched(loader: SourceFileLoader, module: ModuleType) -> None:
            importing, users = executed.importing, is_users(loader.path)
            if users:
                on_source(loader.path)
            importing.depth = getattr(importing, "depth", 0) + 1
            was_on = executed.pause(users)
            try:
                exec_module(loader, module)
            finally:
                executed.pause(was_on)
                importing.depth -= 1
                if not importing.depth:
                    executed.end_of_import()

        # Python leaves the frames of its import system out of tracebacks, if nothing stands between them.
        watched.__code__ = watched.__code__.replace(co_filename=_IMPORT_SYSTEM)
        return watched


def origin(spec: ModuleSpec | None, module: ModuleType) -> str | None:
    """The file that a module was made from."""
    found = getattr(spec, "origin", None) or getattr(module, "__file__", None)
    return found if isinstance(found, str) and not found.startswith("<") else None
