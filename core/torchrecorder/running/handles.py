"""Hooks that are always taken off again, and attributes that always get back what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol


class Handle(Protocol):
    """Handle of a hook: torch's `RemovableHandle`, or anything that can be removed."""

    def remove(self) -> None:
        """Take the hook off; doing so twice does no harm."""


class Handles(AbstractContextManager["Handles"]):
    """The handles of hooks that belong together; a context manager that removes them, also after an exception."""

    def __init__(self) -> None:
        self._handles: list[Handle] = []

    def add(self, *handles: Handle) -> None:
        self._handles += handles

    def remove(self) -> None:
        """Take all hooks off, the last first; there are none left then."""
        while self._handles:
            self._handles.pop().remove()

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __len__(self) -> int:
        return len(self._handles)

    def __iter__(self) -> Iterator[Handle]:
        return iter(self._handles)


_ABSENT = object()


@contextmanager
def replaced(owner: Any, name: str, make: Callable[[Any], object]) -> Iterator[None]:
    """While it is active, an attribute is what `make` makes of what was there."""
    own = vars(owner).get(name, _ABSENT)
    setattr(owner, name, make(getattr(owner, name)))
    try:
        yield
    finally:
        if own is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
