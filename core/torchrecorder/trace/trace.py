"""One traced run, from `start` to the plain data that says what it depended on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from types import CodeType
from typing import Any

from torchrecorder.trace.environment import Environment
from torchrecorder.trace.executed import Executed, function_name
from torchrecorder.trace.files import Files, kind
from torchrecorder.trace.imports import Imports, origin
from torchrecorder.trace.installed import versions
from torchrecorder.trace.ownership import is_installed, is_users

_OWN = {__name__.partition(".")[0], "__main__", "__mp_main__"}


class Trace:
    """Traces this process. Not re-entrant; a fork goes on tracing in the child."""

    def __init__(self) -> None:
        self._before = set(sys.modules)
        self._files = Files()
        self._executed = Executed()
        self._imports = Imports(self._executed, self._files.note_source)
        self._environment = Environment()
        self._disturbed = False

    def start(self) -> None:
        """Trace from now on."""
        self._environment.start()
        self._files.start()
        self._imports.start()
        self._executed.start()

    def stop(self) -> None:
        """Trace no more, and leave everything as it was."""
        self._disturbed = not self._executed.stop()
        self._imports.stop()
        self._files.stop()
        self._environment.stop()

    def signatures(self) -> dict[str, Any]:
        """The files that were imported or read so far, each as it was."""
        return {**self._files.sources, **self._files.read}

    def notes(self) -> dict[str, Any]:
        """What was noted, as plain data.

        Returns:
            `modules`: file by name of each module of the user's that was imported. `executed`: by file, the functions
            that ran while modules were imported, and after that; None if nobody knows. `read`: signature by path,
            None if absent. `looked_for`: `file`, `folder` or None by path. `listed`, `environment`, `missing`,
            `untracked`: sorted. `sources`: signature by file when it was imported. `distributions`: version by name.
        """
        modules, installed = self._modules()
        read = set(self._files.read) - self._files.written
        looked_for = self._files.looked_for - read - self._files.written
        return {
            "modules": modules,
            "sources": dict(sorted(self._files.sources.items())),
            "executed": None if self._disturbed else self._executed_by_file(),
            "read": {path: self._files.read[path] for path in sorted(read)},
            "looked_for": {path: kind(path) for path in sorted(looked_for)},
            "listed": sorted(self._files.listed),
            "environment": sorted(self._environment.names),
            "missing": sorted(name for name in self._imports.missing if name not in sys.modules),
            "untracked": sorted(self._untracked()),
            "distributions": versions({"torch", *installed}),
        }

    def _untracked(self) -> set[str]:
        changed = {path for path in self._files.written if self._files.read.get(path) is not None}
        return {
            *self._files.untracked,
            *(f"reads and writes {PurePath(path).name}" for path in changed),
            *(["reads the whole environment"] if self._environment.copied else []),
        }

    def _modules(self) -> tuple[dict[str, str], set[str]]:
        """The user's modules with their files, and the top-level packages of what is installed."""
        modules: dict[str, str] = {}
        installed: set[str] = set()
        for name in sorted(set(sys.modules) - self._before):
            file = origin(getattr(sys.modules[name], "__spec__", None), sys.modules[name])
            if file is None or (top := name.partition(".")[0]) in _OWN:
                continue
            if is_installed(file):
                installed.add(top)
            elif is_users(file := os.path.abspath(file)):
                modules[name] = file
        return modules, installed

    def _executed_by_file(self) -> dict[str, tuple[list[str], list[str]]]:
        """The functions by file; files of the user's that ran without being a module are among them."""
        first, later = _by_file(self._executed.at_import), _by_file(self._executed.after_import)
        return {file: (sorted(first.get(file, ())), sorted(later.get(file, ()))) for file in sorted({*first, *later})}


def _by_file(codes: Iterable[CodeType]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for code in codes:
        found.setdefault(os.path.abspath(code.co_filename), set()).add(function_name(code))
    return found
