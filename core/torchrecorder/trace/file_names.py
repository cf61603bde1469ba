"""Names of files that mean the same on another machine.

{pkg}pkg/net.yaml     in the folder of the top-level package `pkg`, wherever that is imported from
configs/net.yaml      in the project
{nets}net.yaml        beside the top-level module `nets`, outside the project
~/net.yaml  /net.yaml elsewhere
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from torchrecorder.trace.finder import ModuleFinder

_ANCHORED = re.compile(r"\{([^}]*)\}(.*)", re.DOTALL)


class FileNames:
    """From path to name, and back."""

    def __init__(self, project: Path, finder: ModuleFinder) -> None:
        self._project = project
        self._finder = finder

    def name(self, path: Path, tops: Iterable[str]) -> str:
        """The name of a file or folder.

        Args:
            path: Absolute.
            tops: Top-level first-party packages and modules.
        """
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
        """Where the file of that name lies here; it need not exist."""
        if found := _ANCHORED.fullmatch(name):
            places = [folder / found[2] for folder, _ in self._finder.anchors(found[1])]
            return next((place for place in places if place.exists()), places[0] if places else self._project / name)
        return Path(name).expanduser() if name.startswith("~/") else self._project / name


def spoken(name: str) -> str:
    """The name as a person says it."""
    found = _ANCHORED.fullmatch(name)
    return found[2] if found else name


def is_elsewhere(name: str) -> bool:
    """Whether the name holds on the machine only that gave it."""
    return name.startswith(("~/", "/")) or Path(name).is_absolute()
