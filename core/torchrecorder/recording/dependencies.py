"""What a recording depended on: digests of the modules it imported, and versions of the distributions they come from.

Written into the manifest of a recording, so that a later build can tell without torch whether the picture still shows
the code as it is.
"""

from __future__ import annotations

import functools
import importlib.metadata
import sys
import sysconfig
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Any

from torchrecorder.request import source_digest

_INSTALLED = {"site-packages", "dist-packages"}
_OWN_TOP = __name__.partition(".")[0]


def imported_since(before: Collection[str]) -> dict[str, Any]:
    """The dependencies among the modules imported since `sys.modules` had the names `before`.

    Returns:
        `modules`: name to SHA-256 of the source of each first-party module (LF line ends); `files`: their paths on this
        machine, for a server that watches them; `distributions`: name to version of what is installed.
    """
    modules: dict[str, str] = {}
    files: list[str] = []
    installed = set(distribution_names().get("torch", ()))
    for name in sorted(set(sys.modules) - set(before)):
        file = _source_file(sys.modules[name])
        top = name.partition(".")[0]
        if file is None or top in (_OWN_TOP, "__mp_main__", "__main__") or _is_stdlib(file):
            continue
        if _INSTALLED.isdisjoint(file.parts):
            modules[name] = source_digest(file.read_bytes())
            files.append(str(file))
        else:
            installed.update(distribution_names().get(top, ()))
    versions = {name: importlib.metadata.version(name) for name in sorted(installed)}
    return {"modules": modules, "files": files, "distributions": versions}


@functools.cache
def distribution_names() -> dict[str, list[str]]:
    """The distributions by the top-level packages they bring; slow, so the worker asks once before it forks."""
    return {top: sorted(set(names)) for top, names in importlib.metadata.packages_distributions().items()}


def _source_file(module: ModuleType) -> Path | None:
    origin = getattr(getattr(module, "__spec__", None), "origin", None) or getattr(module, "__file__", None)
    if not isinstance(origin, str):
        return None
    file = Path(origin)
    return file if file.is_file() else None


@functools.cache
def _stdlib_folders() -> tuple[Path, ...]:
    return tuple({Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")})


def _is_stdlib(file: Path) -> bool:
    resolved = file.resolve()
    return _INSTALLED.isdisjoint(file.parts) and any(folder in resolved.parents for folder in _stdlib_folders())
