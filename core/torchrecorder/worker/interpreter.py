"""The Python that runs models, perhaps another than the build's: what it is started with, where it imports from."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from torchrecorder.cache.store import Store
from torchrecorder.line_process import import_path
from torchrecorder.trace.manifest_builder import FIXED_ENVIRONMENT
from torchrecorder.trace.ownership import is_installed, is_stdlib

_NOTE = "pythons.json"
_ASK = "import json, sys; print(json.dumps(sys.path))"
_TIMEOUT_S = 60


def environment(python: str, folder: Path) -> dict[str, str]:
    """The builder's environment for a process that imports torchrecorder, with what every recording runs with.

    Args:
        python: The other Python it is for; that of the build, if empty.
        folder: Where something may be written that lives as long as the process.
    """
    return {**os.environ, **FIXED_ENVIRONMENT, "PYTHONPATH": import_path(_own_folder(python, folder))}


def _own_folder(python: str, folder: Path) -> str:
    """A folder to import torchrecorder from; for another Python one that holds nothing else that is installed."""
    package = Path(__file__).resolve().parents[1]
    if not python:
        return str(package.parent)
    own = folder / "own"
    own.mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        try:
            (own / package.name).symlink_to(package, target_is_directory=True)
        except OSError:  # Windows lets not everybody
            shutil.copytree(package, own / package.name)
    return str(own)


def foreign_path(path: Sequence[str]) -> list[str]:
    """The folders that are no part of the running Python, which another one must not import from."""
    return [folder for folder in path if not is_installed(folder) and not is_stdlib(os.path.join(folder, ""))]


def path_of(python: str, store: Store) -> list[str] | None:
    """Where another Python imports from; None if it cannot be asked.

    The answer is kept, so that a build that has nothing to record starts no process.
    """
    program = shutil.which(python)
    if program is None:
        return None
    stamp, known = _stamp(program), store.note(_NOTE)
    kept = known.get(program)
    if isinstance(kept, list) and len(kept) == 2 and kept[0] == [stamp, *map(_stamp, kept[1])]:
        return list(kept[1])
    command = [program, "-P", "-c", _ASK]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL)
        path = [entry for entry in json.loads(done.stdout) if entry]
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    store.put_note(_NOTE, {**known, program: [[stamp, *map(_stamp, path)], path]})
    return path


def _stamp(file: str) -> int:
    """Changes when a program is replaced, or when something is installed into a folder."""
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0
