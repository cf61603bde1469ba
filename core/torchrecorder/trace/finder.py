"""Find files again: those of modules, without importing anything, and others by names that hold on every machine."""

from __future__ import annotations

import importlib.machinery
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Sequence
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
    """The files of modules; remembers its answers, so an object of this class serves one build.

    `importlib.util.find_spec("pkg.mod")` imports `pkg`, and with it what `pkg` imports, which a build must not do. So
    the levels of a name are walked by hand, asking each folder's own finder.
    """

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
            self._files[name] = Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None
        return self._files[name]

    def exists(self, name: str) -> bool:
        return self._spec(name) is not None

    def place(self, name: str) -> str | None:
        """The file of a module, or the folder of a package; None if there is none, or it is built in."""
        file = self.file(name)
        if file is not None:
            return str(file.parent if file.name == "__init__.py" else file)
        return next(iter((self._spec(name) or ModuleSpec(name, None)).submodule_search_locations or ()), None)

    def is_package(self, name: str) -> bool:
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
            parent_name, _, _ = name.rpartition(".")
            if not parent_name:
                self._found[name] = self._find_on(name, self._path) or self._find_by_hooks(name)
            else:
                parent = self._spec(parent_name)
                folders = None if parent is None else parent.submodule_search_locations
                self._found[name] = None if folders is None else self._find_on(name, list(folders))
        return self._found[name]

    def _find_on(self, name: str, folders: Sequence[str]) -> ModuleSpec | None:
        """The first folder with a regular module wins; else folders of the name form a namespace package."""
        namespace: list[str] = []
        for folder in folders:
            if (place := folder or os.curdir) not in self._folders:
                # A finder of our own, for those of the running Python may not know yet what has just been written.
                is_folder = os.path.isdir(place)
                self._folders[place] = FileFinder(place, *_LOADERS) if is_folder else pkgutil.get_importer(place)
            finder = self._folders[place]
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

    def _find_by_hooks(self, name: str) -> ModuleSpec | None:
        for finder in self._hooks:
            if finder not in _STANDARD and (find := getattr(finder, "find_spec", None)) is not None:
                spec = find(name, None)
                if isinstance(spec, ModuleSpec):
                    return spec
        return None


_ANCHORED = re.compile(r"\{([^}]*)\}(.*)", re.DOTALL)


class FileNames:
    """Names of files that mean the same on another machine, and back.

    {pkg}pkg/net.yaml     in the folder of the top-level package `pkg`, wherever that is imported from
    configs/net.yaml      in the project
    {nets}net.yaml        beside the top-level module `nets`, outside the project
    ~/net.yaml  /net.yaml elsewhere
    """

    def __init__(self, project: Path, finder: ModuleFinder) -> None:
        self._project = project
        self._finder = finder

    def name(self, path: Path, tops: Iterable[str]) -> str:
        anchors = [(top, folder, is_package) for top in tops for folder, is_package in self._finder.anchors(top)]
        for top, folder, is_package in anchors:
            if is_package and path.is_relative_to(folder / top):
                return f"{{{top}}}{path.relative_to(folder).as_posix()}"
        if path.is_relative_to(self._project):
            return path.relative_to(self._project).as_posix()
        for top, folder, _ in anchors:
            if path.is_relative_to(folder):
                return f"{{{top}}}{path.relative_to(folder).as_posix()}"
        home = Path.home()
        return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else path.as_posix()

    def path(self, name: str) -> Path:
        if anchored := _ANCHORED.fullmatch(name):
            places = [folder / anchored[2] for folder, _ in self._finder.anchors(anchored[1])]
            return next((place for place in places if place.exists()), places[0] if places else self._project / name)
        return Path(name).expanduser() if name.startswith("~/") else self._project / name


def shown_name(name: str) -> str:
    anchored = _ANCHORED.fullmatch(name)
    return anchored[2] if anchored else name


def is_elsewhere(name: str) -> bool:
    """Whether the name means something only on the machine that gave it, or leads out of the project."""
    inside = os.path.normpath(shown_name(name).lstrip("/") if name.startswith("{") else name)
    return name.startswith("~") or inside.startswith("..") or Path(inside).is_absolute()
