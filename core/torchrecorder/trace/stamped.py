"""A file that changes when anything does that the recordings of a cache depended on, for tools that watch files.

Such a tool keeps pages as long as some files are as they were, and asks no extension: Zensical. An extension notes what
it drew a page from; `torchrecorder stamp` writes the file anew before a build, if any of that has changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

STAMP = "stamp"
_TRACED = "traced"


def note_traced(cache: Path, files: Iterable[Path]) -> None:
    """Note files and folders that pages depend on; what was noted before stays."""
    file = cache / _TRACED
    known = _noted(file)
    if new := [name for one in files if (name := str(one)) not in known]:
        cache.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as noted:  # in one write, because two builds may run at once
            noted.write("".join(f"{name}\n" for name in dict.fromkeys(new)))


def write_stamp(cache: Path) -> bool:
    """Write the stamp of a cache, if what was noted there has changed; returns whether it has."""
    stamp = cache / STAMP
    state = hashlib.sha256(
        "".join(f"{name} {_state(Path(name))}\n" for name in sorted(_noted(cache / _TRACED))).encode()
    )
    text = state.hexdigest() + "\n"
    before = stamp.stat().st_mtime if stamp.is_file() else 0
    if before and stamp.read_text(encoding="utf-8") == text:
        return False
    cache.mkdir(parents=True, exist_ok=True)
    stamp.write_text(text, encoding="utf-8")
    now = stamp.stat().st_mtime
    if int(now) <= int(before):  # some tools compare whole seconds
        os.utime(stamp, (now, int(before) + 1))
    return True


def _noted(file: Path) -> set[str]:
    return set(file.read_text(encoding="utf-8").splitlines()) if file.is_file() else set()


def _state(path: Path) -> str:
    """Digest of a file, or of a directory listing (with versions, in site-packages)."""
    try:
        if path.is_dir():
            return " ".join(sorted(os.listdir(path)))
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
