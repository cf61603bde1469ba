"""The Python that runs models, perhaps another than the build's: what it is started with, where it imports from."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from torchrecorder.cache.index import Stamp, StampedIndex, stamp_of
from torchrecorder.cache.store import Store
from torchrecorder.processes import import_path
from torchrecorder.trace.environment import FIXED_ENVIRONMENT

_ASK = "import json, platform, sys; print(json.dumps([sys.path, platform.python_version()]))"
_TIMEOUT_S = 60


def environment(python: str, folder: Path) -> dict[str, str]:
    """The builder's environment for a process that imports torchrecorder, with what every recording runs with.

    For another `python` than that of the build, `folder` holds a link to the package as long as the process lives.
    """
    package = Path(__file__).resolve().parents[1]
    own = package.parent
    if python:  # a folder that holds nothing else that is installed beside torchrecorder
        own = folder / "own"
        own.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            try:
                (own / package.name).symlink_to(package, target_is_directory=True)
            except OSError:  # Windows lets only some users make links
                shutil.copytree(package, own / package.name)
    return {**os.environ, **FIXED_ENVIRONMENT, "PYTHONPATH": import_path(str(own))}


class Interpreter(NamedTuple):
    """Another Python than that of the build."""

    path: list[str]
    """Where it imports from."""
    version: str


def ask(python: str, machine: Store) -> Interpreter | None:
    """What another Python says of itself; None if it cannot be asked.

    The cache of this machine keeps the answer, so that a build that has nothing to record starts no process.
    """
    program = shutil.which(python)
    stamp = None if program is None else stamp_of(program)
    if program is None or stamp is None:
        return None
    index = StampedIndex(machine, "interpreters.json")
    if (known := index.get(program, stamp)) is not None and _stamps(known["path"]) == known["stamps"]:
        return Interpreter(list(known["path"]), str(known.get("version", "")))
    command = [program, "-P", "-c", _ASK]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL)
        path, version = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    found = Interpreter([entry for entry in path if entry], version)
    index.put(program, stamp, {"path": found.path, "stamps": _stamps(found.path), "version": version})
    index.save()
    return found


def _stamps(folders: Sequence[str]) -> list[Stamp | None]:
    return [stamp_of(folder) for folder in folders]
