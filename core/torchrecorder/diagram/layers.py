"""Several caches as one: what this machine keeps, over what came with the project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchrecorder.diagram.store import Shelf, Store


class Layers:
    """Reads from all, writes to the first."""

    def __init__(self, first: Store, others: Sequence[Store] = ()) -> None:
        self._first = first
        self._all = [first, *others]

    def entries(self, shelf: Shelf, key: str) -> Iterator[tuple[dict[str, Any], bool]]:
        """The entries of a key, each with whether this machine made it."""
        for store in self._all:
            if (entry := store.entry(shelf, key)) is not None:
                yield entry, not store.is_shared

    def object(self, digest: str) -> bytes | None:
        """The object of a hash; its name proves it, wherever it lies."""
        return next((data for store in self._all if (data := store.object(digest)) is not None), None)

    def stamp(self, digest: str) -> list[int] | None:
        """Changes when the file of an object does; None if there is none."""
        return next((stamp for store in self._all if (stamp := store.stamp(digest)) is not None), None)

    def put_entry(self, shelf: Shelf, key: str, entry: Mapping[str, Any]) -> None:
        """Keep an entry."""
        self._first.put_entry(shelf, key, entry)

    def put_object(self, data: bytes) -> str:
        """Keep an object and give its hash."""
        return self._first.put_object(data)
