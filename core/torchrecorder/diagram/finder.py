"""Find the file of a module without importing anything.

`importlib.util.find_spec("pkg.mod")` imports `pkg`, and with it what `pkg` imports. The warm check must not do that, so
the levels of a name are walked by hand, asking each folder's own finder.
"""

from __future__ import annotations

import importlib.machinery
import pkgutil
import sys
from collections.abc import Sequence
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path

_STANDARD = (BuiltinImporter, FrozenImporter, PathFinder)


class ModuleFinder:
    """Answers are remembered, so an object of this class serves one build."""

    def __init__(self, path: Sequence[str]) -> None:
        self._path = [*path, *(entry for entry in sys.path if entry not in path)]
        self._found: dict[str, ModuleSpec | None] = {}

    def file(self, name: str) -> Path | None:
        """The file that importing the module would execute; None if there is no such module, or it has no file."""
        spec = self._spec(name)
        return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None

    def _spec(self, name: str) -> ModuleSpec | None:
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def _find(self, name: str) -> ModuleSpec | None:
        parent_name, _, _ = name.rpartition(".")
        if not parent_name:
            return self._find_on(name, self._path) or self._find_by_hooks(name)
        parent = self._spec(parent_name)
        locations = None if parent is None else parent.submodule_search_locations
        return None if locations is None else self._find_on(name, list(locations))

    def _find_on(self, name: str, folders: Sequence[str]) -> ModuleSpec | None:
        """The first folder with a regular module wins; else folders of the name form a namespace package."""
        namespace: list[str] = []
        for folder in folders:
            finder = pkgutil.get_importer(folder or ".")
            spec = finder.find_spec(name) if finder is not None else None
            if spec is None:
                continue
            if spec.loader is not None:
                return spec
            namespace += spec.submodule_search_locations or []
        if not namespace:
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = namespace
        return spec

    def _find_by_hooks(self, name: str) -> ModuleSpec | None:
        """What an editable install put into `sys.meta_path` knows."""
        for finder in sys.meta_path:
            if finder not in _STANDARD and (find := getattr(finder, "find_spec", None)) is not None:
                spec = find(name, None)
                if isinstance(spec, ModuleSpec):
                    return spec
        return None
