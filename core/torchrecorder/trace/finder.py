"""Find the file of a module without importing anything.

`importlib.util.find_spec("pkg.mod")` imports `pkg`, and with it what `pkg` imports. The warm check must not do that, so
the levels of a name are walked by hand, asking each folder's own finder.
"""

from __future__ import annotations

import importlib.machinery
import os
import pkgutil
import sys
from collections.abc import Sequence
from importlib.machinery import BuiltinImporter, FileFinder, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

_STANDARD = (BuiltinImporter, FrozenImporter, PathFinder)
_LOADERS: tuple[tuple[Any, list[str]], ...] = (
    (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
    (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES),
    (importlib.machinery.SourcelessFileLoader, importlib.machinery.BYTECODE_SUFFIXES),
)


class ModuleFinder:
    """Answers are remembered, so an object of this class serves one build."""

    def __init__(self, path: Sequence[str], own: Sequence[str] | None = None) -> None:
        """Look on `path`, then where the Python that runs the models looks by itself: this one, if `own` is None."""
        self._hooks = sys.meta_path if own is None else []
        own = sys.path if own is None else own
        self._path = [*path, *(entry for entry in own if entry not in path)]
        self._found: dict[str, ModuleSpec | None] = {}
        self._anchors: dict[str, tuple[tuple[Path, bool], ...]] = {}
        self._folders: dict[str, Any] = {}
        self._files: dict[str, Path | None] = {}

    def file(self, name: str) -> Path | None:
        """The file that importing the module would execute; None if there is no such module, or it has no file."""
        if name not in self._files:
            spec = self._spec(name)
            has_file = spec is not None and spec.has_location and spec.origin
            self._files[name] = Path(spec.origin) if spec is not None and spec.origin and has_file else None
        return self._files[name]

    def exists(self, name: str) -> bool:
        """Whether something of that name can be imported."""
        return self._spec(name) is not None

    def is_package(self, name: str) -> bool:
        """Whether the name stands for a folder of modules."""
        spec = self._spec(name)
        return spec is not None and spec.submodule_search_locations is not None

    def anchors(self, top: str) -> tuple[tuple[Path, bool], ...]:
        """The folders that hold the top-level package or module of that name, and whether it is a package."""
        if top not in self._anchors:
            spec = self._spec(top)
            if spec is not None and spec.submodule_search_locations is not None:
                self._anchors[top] = tuple((Path(place).parent, True) for place in spec.submodule_search_locations)
            else:
                file = self.file(top)
                self._anchors[top] = () if file is None else ((file.parent, False),)
        return self._anchors[top]

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
            finder = self._folder_finder(folder or os.curdir)
            spec: ModuleSpec | None = finder.find_spec(name) if finder is not None else None
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

    def _folder_finder(self, folder: str) -> Any:
        """Its own finder, for those of the running Python may not know yet what has just been written."""
        if folder not in self._folders:
            is_folder = os.path.isdir(folder)
            self._folders[folder] = FileFinder(folder, *_LOADERS) if is_folder else pkgutil.get_importer(folder)
        return self._folders[folder]

    def _find_by_hooks(self, name: str) -> ModuleSpec | None:
        """What an editable install put into `sys.meta_path` knows."""
        for finder in self._hooks:
            if finder not in _STANDARD and (find := getattr(finder, "find_spec", None)) is not None:
                spec = find(name, None)
                if isinstance(spec, ModuleSpec):
                    return spec
        return None
