"""Removes damaged, old and unreferenced files from a cache folder."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torchrecorder.cache.store import FOLDERS, Kind, Store, divided, entry_of, object_of, objects_of
from torchrecorder.errors import FormatError

_YOUNG_S = 3600.0
"""What was written within the hour may be part of a build that is still running."""


@dataclass(slots=True)
class Swept:
    files: int = 0
    bytes: int = 0
    kept: int = 0
    young: int = 0
    """Files that would have been removed, but may be part of a build that is still running."""


def sweep(folder: Path, *, days: float | None = None, now: float | None = None) -> Swept:
    """Remove entries whose objects are missing or that are older than `days`, and objects that no entry names."""
    sweeper = _Sweeper(folder, time.time() if now is None else now, days)
    needed = {digest for kind in FOLDERS for digest in sweeper.entries(kind)}
    sweeper.objects(needed)
    return sweeper.swept


class _Sweeper:
    def __init__(self, folder: Path, now: float, days: float | None) -> None:
        self.swept = Swept()
        self._folder = folder
        self._store = Store(folder)
        self._now = now
        self._days = days

    def entries(self, kind: Kind) -> Iterator[str]:
        for file in self._files(FOLDERS[kind]):
            try:
                is_old = self._days is not None and self._age_s(file) > self._days * 86400
                data = file.read_bytes()
                _, behind = divided(data)
                wanted = [of for of in objects_of(kind, entry_of(data) or {}) if object_of(behind, of) is None]
                is_good = not is_old and all(map(self._store.object, wanted))
            except (OSError, KeyError, FormatError):
                wanted, is_good = [], False
            if is_good:
                self.swept.kept += 1
                yield from wanted
            else:
                self._remove(file)

    def objects(self, needed: set[str]) -> None:
        for file in self._files("obj"):
            if file.name in needed:
                self.swept.kept += 1
            else:
                self._remove(file)

    def _files(self, folder: str) -> list[Path]:
        return sorted(file for file in (self._folder / folder).glob("*/*") if file.is_file() and not file.is_symlink())

    def _age_s(self, file: Path) -> float:
        return self._now - file.stat().st_mtime

    def _remove(self, file: Path) -> None:
        with contextlib.suppress(OSError):
            if self._age_s(file) <= _YOUNG_S:
                self.swept.young += 1
                return
            size = file.stat().st_size
            file.unlink()
            self.swept.files += 1
            self.swept.bytes += size
