"""The drawings that caches hold: which of them are good, known without reading them at every build.

A drawing is examined once: its hash, its fields, and if somebody else made it, the whitelist. A note on this machine
remembers that; a file whose date, size and number are as they were needs no second look. Its hash is checked again when
it goes into a page.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from torchrecorder.cache.layered import Layers
from torchrecorder.cache.store import Store
from torchrecorder.drawing.model import CachedDrawing, Drawing
from torchrecorder.errors import FormatError

_NOTE = "drawings.json"


class _Row(NamedTuple):
    """What the note holds of a drawing."""

    stamp: list[int]
    is_safe: bool | None
    """None as long as nobody had to know."""
    classes: list[str]


class KeptDrawings:
    """Serves one build."""

    def __init__(self, store: Layers, notes: Store) -> None:
        self._store = store
        self._notes = notes
        self._known: dict[str, Any] | None = None
        self._read: dict[str, Drawing] = {}
        self._has_changed = False

    def find(self, digest: str, *, is_trusted: bool) -> CachedDrawing | None:
        """The drawing of a hash; None if there is none, it is damaged, or the whitelist refuses what nobody trusts."""
        stamp = self._store.stamp(digest)
        if stamp is None and self._store.object(digest) is not None:  # from far away; now there may be a copy
            stamp = self._store.stamp(digest)
        if stamp is None:
            return None
        row = self._row(digest)
        if row is None or row.stamp != stamp or (row.is_safe is None and not is_trusted):
            row = self._examine(digest, stamp, is_trusted)
        if row is None or not (is_trusted or row.is_safe):
            return None
        return CachedDrawing(digest, tuple(row.classes), partial(self._load, digest))

    def forget(self, digest: str) -> None:
        """Examine a drawing again before it is given away once more."""
        if self._known is not None:
            self._known.pop(digest, None)
        self._read.pop(digest, None)

    def save(self) -> None:
        """Leave a note for the next build."""
        if self._has_changed and self._known is not None:
            known = {digest: row for digest, row in sorted(self._known.items()) if self._store.stamp(digest)}
            self._notes.put_note(_NOTE, known)
            self._has_changed = False

    def _row(self, digest: str) -> _Row | None:
        if self._known is None:
            self._known = self._notes.note(_NOTE)
        try:
            return _Row(*self._known[digest])
        except (KeyError, TypeError):
            return None

    def _examine(self, digest: str, stamp: list[int], is_trusted: bool) -> _Row | None:
        drawing = self._drawing(digest)
        if drawing is None:
            return None
        self._read[digest] = drawing
        from torchrecorder.drawing.svg import is_safe  # a build whose drawings are all known does not need it

        row = _Row(stamp, None if is_trusted else all(map(is_safe, drawing.svgs)), list(drawing.classes))
        assert self._known is not None
        self._known[digest] = row
        self._has_changed = True
        return row

    def _load(self, digest: str) -> Drawing:
        drawing = self._read.get(digest) or self._drawing(digest)
        if drawing is None:
            raise FormatError("a drawing of the cache", f"the object {digest} went or changed during the build")
        return drawing

    def _drawing(self, digest: str) -> Drawing | None:
        data = self._store.object(digest)
        return None if data is None else Drawing.from_bytes(data)
