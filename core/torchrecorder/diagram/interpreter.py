"""Another Python than the one that builds the documentation: where it imports from, and what is installed there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence

from torchrecorder.diagram.store import Store
from torchrecorder.tracing.territory import is_installed, is_stdlib

_NOTE = "pythons.json"
_ASK = "import json, sys; print(json.dumps(sys.path))"
_TIMEOUT_S = 60


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
