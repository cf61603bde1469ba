"""Who owns a file: the user, or Python, an installed distribution, or torchrecorder."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path, PurePath
from types import FrameType

from torchrecorder.cache.index import real_stat

_INSTALLED = ("site-packages", "dist-packages")
OURS = Path(__file__).parent.parent
_OURS = str(OURS) + os.sep
_STDLIB = tuple(
    f"{folder}{os.sep}"
    for name in ("stdlib", "platstdlib")
    for folder in dict.fromkeys([Path(sysconfig.get_path(name)), Path(sysconfig.get_path(name)).resolve()])
)
"""Looked up now, because sysconfig itself asks for files and variables, which a trace watches later."""


@functools.cache
def is_user_code(file: str) -> bool:
    """Whether the file is neither Python's, nor installed, nor ours; generated code has no file."""
    return not file.startswith(("<", _OURS)) and not is_stdlib(file) and not is_installed(file)


@functools.cache
def is_stdlib(file: str) -> bool:
    """Whether the file belongs to Python itself, as frozen modules do."""
    return file.startswith("<frozen ") or (file.startswith(_STDLIB) and not is_installed(file))


def is_installed(file: str) -> bool:
    """Whether the file was put there by an installer, so that a version stands for it."""
    return any(part in _INSTALLED for part in PurePath(file).parts)


def is_ours(file: str) -> bool:
    return file.startswith(_OURS)


def caller(frame: FrameType | None) -> FrameType | None:
    """The innermost frame, from this one outwards, that is not Python's own."""
    while frame is not None and is_stdlib(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def is_asked_for_user(frame: FrameType | None) -> bool:
    """Whether the user's code acts here, itself or through what it calls; not through what it imports.

    A thread of Python's own, of a pool for one, calls what it was given, by the user's code as far as can be seen.
    """
    is_of_python = True
    while frame is not None:
        file = frame.f_code.co_filename
        if is_user_code(file):
            return True
        if file.startswith(("<frozen importlib", _OURS)):
            return False
        is_of_python = is_of_python and is_stdlib(file)
        frame = frame.f_back
    return is_of_python


def foreign_path(path: Sequence[str]) -> list[str]:
    """The folders that are not part of the running Python, from whose folders another one must not import."""
    return [folder for folder in path if not is_installed(folder) and not is_stdlib(os.path.join(folder, ""))]


def folders_of_project() -> list[str]:
    """The folders that its modules are imported from and where the build runs, each with its repository."""
    own = foreign_path([*filter(None, sys.path)])
    found = [repository(os.path.realpath(folder)) for folder in (os.getcwd(), *own)]
    return [folder for folder in dict.fromkeys(found) if folder != os.sep and not is_ours(folder + os.sep)]


def repository(folder: str) -> str:
    """The project's own folder around a folder, or that itself."""
    top = folder
    while top != os.path.dirname(top):
        if any(is_there(os.path.join(top, name)) for name in (".git", "pyproject.toml", "setup.py")):
            return top
        top = os.path.dirname(top)
    return folder


def is_there(path: str) -> bool:
    try:
        real_stat(path)
    except (OSError, ValueError):  # it may be any text
        return False
    return True
