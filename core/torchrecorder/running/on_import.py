"""What is to be done once a module has been imported, if it ever is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


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
