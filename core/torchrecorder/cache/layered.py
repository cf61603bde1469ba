"""Several caches as one: what this machine keeps, over what came with the project, over what a team shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchrecorder.cache.index import Stamp, StampedIndex, is_settled, stamp_of
from torchrecorder.cache.store import Entry, Kind, Store, entry_name, objects_of
from torchrecorder.errors import shown_text

if TYPE_CHECKING:
    from torchrecorder.cache.remote import Remote


class LayeredCache:
    """Reads from all, writes to the first, and to the remote one if there is any. Serves one build."""

    def __init__(
        self,
        first: Store,
        others: Sequence[Store] = (),
        *,
        remote: Remote | None = None,
        copies: Store | None = None,
        machine: Store | None = None,
    ) -> None:
        """`copies` keeps what came from the remote cache, and is not trusted either; `machine` indexes entries."""
        self._first = first
        self._all = [first, *others]
        self._remote = remote
        self._copies = copies or first
        self._index = StampedIndex(machine or first, "entries.json")
        self._unreadable = ""

    def entries(self, kind: Kind, key: str) -> Iterator[tuple[Entry, bool]]:
        """The entries of a key, each with whether this machine made it."""
        for store, file in [(of, file) for of in self._all for file in of.entry_files(kind, key)]:
            if (stamp := stamp_of(file)) is None:
                continue
            if (entry := self._index.get(file, stamp)) is None:
                entry = store.entry_in(file)
                if entry is not None and is_settled(stamp):
                    self._index.put(file, stamp, entry)
            if entry is not None:
                store.note(kind, key, file, entry)
                yield entry, not store.is_shared
        if self._remote is not None and (entry := self._remote.entry(kind, key)) is not None:
            yield entry, False

    def note_unreadable(self, kind: Kind, key: str, error: Exception) -> None:
        """Says of an entry that it is not used, because reading what it says raised an exception."""
        cause = shown_text(f"{type(error).__name__}: {error}", 200)
        self._unreadable = self._unreadable or (
            f"{entry_name(kind, key)} in a cache cannot be read, so what it stands for is made again: {cause}"
        )

    def copy_remote(self, kind: Kind, key: str, entry: Entry) -> None:
        """Copies an entry that was found good to this machine, with its objects, if it is the remote cache's."""
        if self._remote is not None and entry is self._remote.asked(kind, key):
            digests = objects_of(kind, entry)
            data, *_ = [self.object(digest) for digest in digests]
            self._copies.put_entry(kind, key, entry, data or b"")
            self._remote.behind.pop(digests[0], None)

    @property
    def salt(self) -> str:
        return self._first.salt

    def object(self, digest: str) -> bytes | None:
        for store in self._all:
            if (data := store.object(digest)) is not None:
                return data
        if self._remote is None:
            return None
        if (data := self._remote.behind.get(digest)) is None and (data := self._remote.object(digest)) is not None:
            self._copies.put_object(data)
        return data

    def place(self, digest: str) -> tuple[str, Stamp] | None:
        """The file of an object, with its stamp; None if none of the caches on disk has it."""
        for store in self._all:
            file = store.object_file(digest)
            if file is not None and (stamp := stamp_of(file)) is not None:
                return file, stamp
        return None

    def put_entry(self, kind: Kind, key: str, entry: Entry, data: bytes, shared: Entry | None = None) -> None:
        """Keeps an entry and its object; `shared` is what of it means something elsewhere, if that is not all."""
        self._first.put_entry(kind, key, shared if shared is not None and self._first.is_shared else entry, data)
        if self._remote is not None:
            self._remote.put_entry(kind, key, entry if shared is None else shared, data)

    def put_object(self, data: bytes) -> str:
        digest = self._first.put_object(data)
        if self._remote is not None:
            self._remote.put_object(digest, data)
        return digest

    def save_index(self) -> None:
        self._index.save()

    def close(self) -> None:
        if self._remote is not None:
            self._remote.close()

    @property
    def problem(self) -> str:
        problems = [store.problem for store in self._all]
        problems += [self._unreadable, "" if self._remote is None else self._remote.problem]
        return "\n".join(filter(None, problems))

    @property
    def notice(self) -> str:
        return "" if self._remote is None else self._remote.notice
