"""Several caches as one: what this machine keeps, over what came with the project, over what a team shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchrecorder.cache.index import KnownEntries
from torchrecorder.cache.remote import Remote
from torchrecorder.cache.store import POINTERS, Shelf, Store


class Layers:
    """Reads from all, writes to the first, and to the remote one if there is any."""

    def __init__(
        self,
        first: Store,
        others: Sequence[Store] = (),
        *,
        remote: Remote | None = None,
        copies: Store | None = None,
        notes: Store | None = None,
    ) -> None:
        """Put caches over one another.

        Args:
            first: Where things are put.
            others: Where they are looked for too.
            remote: Asked last, and given what is new.
            copies: Keeps what came from the remote one, which stays as little trusted as it was.
            notes: The cache of this machine, which remembers what entries say; the first, if it is not given.
        """
        self._first = first
        self._all = [first, *others]
        self._remote = remote
        self._copies = copies or first
        self._known = KnownEntries(notes or first)

    def entries(self, shelf: Shelf, key: str) -> Iterator[tuple[dict[str, Any], bool]]:
        """The entries of a key, each with whether this machine made it."""
        for store in self._all:
            if (entry := self._known.entry(store, shelf, key)) is not None:
                yield entry, not store.is_shared
        if self._remote is not None and (entry := self._remote.entry(shelf, key)) is not None:
            yield entry, False

    def keep(self, shelf: Shelf, key: str, entry: Mapping[str, Any]) -> None:
        """Have an entry that was found good at hand the next time, with all it leads to."""
        if self._remote is not None and entry is self._remote.known(shelf, key):
            for name in POINTERS[shelf]:
                self.object(str(entry.get(name)))
            self._copies.put_entry(shelf, key, entry)

    def object(self, digest: str) -> bytes | None:
        """The object of a hash; its name proves it, wherever it lies."""
        found = next((data for store in self._all if (data := store.object(digest)) is not None), None)
        if found is None and self._remote is not None and (found := self._remote.object(digest)) is not None:
            self._copies.put_object(found)
        return found

    def stamp(self, digest: str) -> list[int] | None:
        """Changes when the file of an object does; None if there is none."""
        return next((stamp for store in self._all if (stamp := store.stamp(digest)) is not None), None)

    def put_entry(self, shelf: Shelf, key: str, entry: Mapping[str, Any]) -> None:
        """Keep an entry."""
        self._first.put_entry(shelf, key, entry)
        if self._remote is not None:
            self._remote.put_entry(shelf, key, entry)

    def put_object(self, data: bytes) -> str:
        """Keep an object and give its hash."""
        digest = self._first.put_object(data)
        if self._remote is not None:
            self._remote.put_object(digest, data)
        return digest

    def save(self) -> None:
        """Leave notes that save the next build time."""
        self._known.save()

    def close(self) -> None:
        """Let go of what a batch needed."""
        if self._remote is not None:
            self._remote.close()

    @property
    def problem(self) -> str:
        """What is worth a warning; a build goes on without, and says so once."""
        problems = [self._first.problem, "" if self._remote is None else self._remote.problem]
        return "\n".join(filter(None, problems))

    @property
    def notice(self) -> str:
        """What is worth a line in the log."""
        return "" if self._remote is None else self._remote.notice
