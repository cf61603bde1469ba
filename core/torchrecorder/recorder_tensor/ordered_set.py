"""A set that remembers the order in which its elements came.

Nodes are kept in it, so that one model always gives one and the same text of DOT.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, MutableSet, TypeVar  # noqa: UP035 - torchview's users may subscript the class as typing does

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set whose iteration order is the order of insertion."""

    def __init__(self, iterable: Any | None = None) -> None:
        elements: Iterable[T] = () if iterable is None else iterable
        self.map: dict[T, None] = dict.fromkeys(elements)

    def __len__(self) -> int:
        return len(self.map)

    def __contains__(self, value: object) -> bool:
        return value in self.map

    def add(self, value: T) -> None:
        """Put an element at the end; one that is there already keeps its place."""
        self.map.setdefault(value)

    def remove(self, value: T) -> None:
        """Take an element out; as in torchview, one that is not there is no error."""
        self.discard(value)

    def discard(self, value: T) -> None:
        """Take an element out if it is there."""
        self.map.pop(value, None)

    def __iter__(self) -> Generator[T, Any, Any]:
        yield from self.map

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({list(self.map)})" if self.map else name


NodeContainer = OrderedSet
"""The name under which torchview's nodes use it."""
