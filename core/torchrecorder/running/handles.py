"""Hooks that are always taken off again, attributes that always get back what they were, and waiting for an import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
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


class OnImport:
    """Calls a function once a module has been imported, if that happens within the block, and another one before."""

    def __init__(self, name: str, then: Callable[[], object], first: Callable[[], object] = lambda: None) -> None:
        self._name = name
        self._then = then
        self._first = first
        self._is_asking = False

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *exception: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self._name or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = find_spec(name)
        finally:
            self._is_asking = False
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                self._first()
                execute(module)
                self.__exit__()
                self._then()

            loader.exec_module = exec_module
        return spec

    def find_distributions(self, *context: object) -> tuple[()]:
        return ()  # `importlib.metadata` asks everything on `sys.meta_path`
