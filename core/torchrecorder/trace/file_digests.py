"""Digests of files and of the functions in them, each computed once.

Two notes in the local cache make that hold from build to build: a file whose date, size and number are as they were is
not read again, and a source whose digest is known is not parsed again. Neither is ever part of a shared cache.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from torchrecorder.cache.store import Store, is_settled
from torchrecorder.trace.digest import data_digest, folder_digest
from torchrecorder.trace.source_blocks import Blocks, read_blocks

_STATS, _BLOCKS = "stats.json", "blocks.json"


class FileDigests:
    """Serves one build, during which files are taken to stay as they are until `forget`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._digests: dict[str, str | None] = {}
        self._stats: dict[str, Any] = store.note(_STATS)
        self._blocks: dict[str, Any] | None = None
        self._changed: set[str] = set()

    def file(self, path: Path) -> str | None:
        """The digest of a file; None if it cannot be read."""
        name = str(path)
        if name not in self._digests:
            self._digests[name] = self._file(name)
        return self._digests[name]

    def folder(self, path: Path) -> str | None:
        """The digest of the names in a folder; None if it cannot be listed."""
        try:
            return folder_digest(os.listdir(path))
        except OSError:
            return None

    def blocks(self, path: Path) -> Blocks | None:
        """The parts of a source file; None if it cannot be read or parsed."""
        digest = self.file(path)
        known = self._known_blocks()
        if digest is not None and (row := known.get(digest)):
            return Blocks(row[0], row[1])
        try:
            found = read_blocks(path.read_bytes())
        except OSError:
            return None
        if digest is not None and found is not None:
            known[digest] = [found.skeleton, found.functions]
            self._changed.add(_BLOCKS)
        return found

    def forget(self) -> None:
        """Look at every file again: a recording may have seen it later than the check before."""
        self._digests.clear()

    def save(self) -> None:
        """Leave notes for the next build."""
        if _STATS in self._changed:
            self._store.put_note(_STATS, {name: self._stats[name] for name in self._stats if os.path.exists(name)})
        if _BLOCKS in self._changed and self._blocks is not None:
            self._store.put_note(_BLOCKS, self._blocks)
        self._changed.clear()

    def _file(self, name: str) -> str | None:
        try:
            found = os.stat(name)
            if not stat.S_ISREG(found.st_mode):
                return None  # a shared cache may name a device that never ends
            stamp = [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]
            known = self._stats.get(name)
            if isinstance(known, list) and known[:-1] == stamp and isinstance(known[-1], str):
                return known[-1]
            digest = data_digest(Path(name).read_bytes())
        except (OSError, ValueError):
            return None
        if is_settled(stamp):
            self._stats[name] = [*stamp, digest]
            self._changed.add(_STATS)
        return digest

    def _known_blocks(self) -> dict[str, Any]:
        if self._blocks is None:
            self._blocks = self._store.note(_BLOCKS)
        return self._blocks
