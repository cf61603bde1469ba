"""What this machine knows of files, so that a build in which nothing changed need not read them.

An index is a JSON file in the cache of this machine: values by name, each beside the stamp that its file had. Only who
can write to that cache can change it. One that is damaged, or was written by another version, knows nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torchrecorder.cache.store import Store

Stamp = list[int]

SETTLED_NS = 2_000_000_000
"""A file that changed less than two seconds ago may change again without a new mtime."""

_TICK_NS = 10_000_000
"""How far the dates of files, which kernels take from a clock of 100 ticks a second or more, lag behind."""

real_stat = os.stat
"""Bound when it is imported: a trace covers `os.stat` later, and would take our questions for the model's."""


def stamp_of(file: str | Path) -> Stamp | None:
    """Changes when a file or folder does; None if there is none.

    The mtime alone is not enough: programs set it back, which leaves a new ctime, and move another file there, which
    has another inode.
    """
    try:
        found = real_stat(file)
    except (OSError, ValueError):
        return None
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]


def is_younger(file: str | Path, time_ns: int) -> bool:
    """Whether a file, or a link or folder of that name, came there or changed after some time; a move counts."""
    return max(os.lstat(file).st_ctime_ns, real_stat(file).st_ctime_ns) > time_ns - _TICK_NS


def is_settled(stamp: Sequence[int]) -> bool:
    """Whether a file can no longer change without its stamp doing so."""
    return time.time_ns() - max(stamp[:2]) > SETTLED_NS


class StampedIndex:
    """Values by name, each true as long as its stamp is the one of now. Serves one build."""

    def __init__(self, store: Store, file: str) -> None:
        self._store = store
        self._file = file
        self._loaded: dict[str, Any] | None = None
        self._has_changed = False

    def get(self, name: str, stamp: Stamp | str) -> Any:
        """The value that was put with that very stamp; None if there is none."""
        row = self._rows().get(name)
        return row[1] if isinstance(row, list) and len(row) == 2 and row[0] == stamp else None

    def put(self, name: str, stamp: Stamp | str, value: Any) -> None:
        self._rows()[name] = [stamp, value]
        self._has_changed = True

    def forget(self, name: str) -> None:
        self._rows().pop(name, None)

    def save(self, is_there: Callable[[str], object] = os.path.lexists) -> None:
        """Write it for the next build, without the names of what is gone."""
        if self._has_changed:
            rows = {name: row for name, row in sorted(self._rows().items()) if is_there(name)}
            self._store.write_index(self._file, rows)
            self._has_changed = False
        self._loaded = None  # of a large site, it takes more memory than all else

    def _rows(self) -> dict[str, Any]:
        if self._loaded is None:  # most builds do not ask all of them
            self._loaded = {**self._store.read_index(self._file)}
        return self._loaded
