"""Entries of caches, each read once: while its file is as it was, a note on this machine knows what it says.

The note holds the entry itself, so nothing depends on the file but whether it is still there and the same. Who cannot
write to the cache of this machine cannot change the note.
"""

from __future__ import annotations

import os
from typing import Any

from torchrecorder.cache.store import Shelf, Store, is_settled, stamp_of

_NOTE = "entries.json"


class KnownEntries:
    """Serves one build."""

    def __init__(self, notes: Store) -> None:
        self._notes = notes
        self._rows: dict[str, Any] | None = None
        self._has_changed = False

    def entry(self, store: Store, shelf: Shelf, key: str) -> dict[str, Any] | None:
        """The entry that a cache has for a key; None if there is none or it cannot be read."""
        file = store.entry_file(shelf, key)
        if (stamp := stamp_of(file)) is None:
            return None
        if self._rows is None:
            self._rows = self._notes.note(_NOTE)
        if (row := self._rows.get(file)) and row[0] == stamp:
            known: dict[str, Any] = row[1]
            return known
        entry = store.entry(shelf, key)
        if entry is not None and is_settled(stamp):
            self._rows[file] = [stamp, entry]
            self._has_changed = True
        return entry

    def save(self) -> None:
        """Leave a note for the next build."""
        if self._has_changed and self._rows is not None:
            there = {file: row for file, row in self._rows.items() if os.path.lexists(file)}
            self._notes.put_note(_NOTE, there)
            self._has_changed = False
