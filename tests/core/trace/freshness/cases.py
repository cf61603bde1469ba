"""Edits of a project as data: the files, what is done to them, and what a person is told."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Files = dict[str, str | bytes]
Edit = Callable[[Any], None]
HERE = "from pathlib import Path\nHERE = Path(__file__).parent"
SITE = "../env/site-packages/"
"""Where packages are installed, seen from the project."""


def nothing(project: Any) -> None:
    """Only time goes on."""


@dataclass(frozen=True)
class Case:
    files: Files
    edit: Edit
    reason: str = ""
    """A part of what a person is told; empty if nothing is to be noticed."""
    prepare: Edit = nothing
    """What is done besides before the first build."""
    guide: str = ""
    """How the guide names it, where it cannot be followed."""


def package(init: str = "", **files: str | bytes) -> Files:
    named = {f"src/pkg/{name.replace('__', '/')}.py": text for name, text in files.items()}
    return {"src/pkg/__init__.py": init, **named}


def plain(init: str) -> Files:
    return package(init)


def write(**files: str | bytes) -> Edit:
    """Write files: `a__b_yaml` is src/pkg/a/b.yaml."""

    def edit(project: Any) -> None:
        project.write({_path(name): text for name, text in files.items()})

    return edit


def _path(name: str) -> str:
    stem, _, ending = name.rpartition("_")
    return f"src/pkg/{stem.replace('__', '/')}.{ending}"


def replace(name: str, old: str, new: str) -> Edit:
    return lambda project: project.edit(f"src/pkg/{name}", old, new)


def put(files: Files) -> Edit:
    """Write files by their paths, seen from the project."""
    return lambda project: project.write(files)


def remove(*names: str) -> Edit:
    def edit(project: Any) -> None:
        for name in names:
            path = project.root / name
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    return edit


def link(name: str, target: str) -> Edit:
    """A link, also instead of another."""

    def edit(project: Any) -> None:
        (project.root / name).unlink(missing_ok=True)
        (project.root / name).symlink_to(target)

    return edit


def touch(name: str, time: int) -> Edit:
    return lambda project: os.utime(project.root / name, (time, time))


def variables(**values: str) -> Edit:
    """Set variables; `{}` in a value is the folder beside the project."""

    def edit(project: Any) -> None:
        os.environ.update({name: value.format(project.root.parent) for name, value in values.items()})

    return edit


def without(*names: str) -> Edit:
    def edit(project: Any) -> None:
        for name in names:
            os.environ.pop(name, None)

    return edit


def each(*edits: Edit) -> Edit:
    def edit(project: Any) -> None:
        for one in edits:
            one(project)

    return edit


def installed(name: str, version: str, code: str = "", more: str = "", entry_points: str = "") -> Files:
    """The files of a distribution."""
    info = f"{SITE}{name}-{version}.dist-info/"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}"
    files: Files = {f"{info}METADATA": metadata, f"{info}RECORD": f"{name}.py,,\n", f"{SITE}{name}.py": code}
    return files | ({f"{info}entry_points.txt": entry_points} if entry_points else {})


def upgraded(name: str, old: str, new: str, code: str) -> Edit:
    return each(remove(f"{SITE}{name}-{old}.dist-info"), put(installed(name, new, code)))


def rewrite(ending: str, change: Callable[[bytes], bytes]) -> Edit:
    """Change the bytes of all files of an ending."""

    def edit(project: Any) -> None:
        for file in Path(project.root, "src").rglob(f"*{ending}"):
            file.write_bytes(change(file.read_bytes()))

    return edit
