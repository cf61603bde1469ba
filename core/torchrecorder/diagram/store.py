"""The cache on disk: small entries that are found by what was asked, pointing to objects that are named by their hash.

    rec/ab/<request key>.json     what a recording depended on, and the hash of its Graph
    ren/ab/<render key>.json      which picture was drawn from a Graph
    obj/ab/<sha256>               Graphs, pictures, and tables of module digests
    stats.json blocks.json        what saves time on this machine

Nothing is ever changed in place: a file is written beside its final name and moved there, so a reader sees all of it or
none, and two builds at once cannot harm each other. What cannot be read, or does not hash to its name, is a miss.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any, Literal

_HASH = re.compile(r"[0-9a-f]{64}")

Shelf = Literal["rec", "ren"]

_README = "Written by torchrecorder. Safe to delete: what is needed is made again.\n"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache directory tag by torchrecorder, see https://bford.info/cachedir/\n"


class Store:
    """A cache folder; it is made when the first thing is put into it.

    A shared one, which is committed with the project or comes from elsewhere, holds nothing of this machine, is not
    hidden from git, and is not trusted.
    """

    def __init__(self, folder: Path, *, is_shared: bool = False) -> None:
        self.folder = folder
        self._place = os.fspath(folder)  # paths as objects cost more than the files that a build reads
        self.is_shared = is_shared
        self.problem = ""
        """Why something could not be written; a build goes on without, and says so once."""

    def entry(self, shelf: Shelf, key: str) -> dict[str, Any] | None:
        """The entry of that key; None if there is none or it cannot be read."""
        try:
            found = json.loads(_read(self._entry_file(shelf, key)).decode())
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def put_entry(self, shelf: Shelf, key: str, entry: Mapping[str, Any]) -> None:
        """Keep an entry under a key, in place of what was there."""
        text = json.dumps(entry, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
        self._write(self._entry_file(shelf, key), text.encode())

    def object(self, digest: str) -> bytes | None:
        """The object of that hash; None if there is none or it is damaged."""
        if not _HASH.fullmatch(digest):
            return None  # an entry that is not ours may name a path
        try:
            data = _read(self._object_file(digest))
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def stamp(self, digest: str) -> list[int] | None:
        """Changes when the file of an object does; None if there is none."""
        try:
            found = os.stat(self._object_file(digest)) if _HASH.fullmatch(digest) else None
        except OSError:
            return None
        return found and [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]

    def put_object(self, data: bytes) -> str:
        """Keep an object and give its hash."""
        digest = hashlib.sha256(data).hexdigest()
        if self.object(digest) is None:
            self._write(self._object_file(digest), data)
        return digest

    def note(self, name: str) -> dict[str, Any]:
        """A note that only saves time; empty if there is none."""
        try:
            found = json.loads((self.folder / name).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def put_note(self, name: str, note: Mapping[str, Any]) -> None:
        """Keep a note in place of what was there."""
        self._write(self.folder / name, json.dumps(note, separators=(",", ":")).encode())

    def _entry_file(self, shelf: Shelf, key: str) -> str:
        return f"{self._place}/{shelf}/{key[:2]}/{key}.json"

    def _object_file(self, digest: str) -> str:
        return f"{self._place}/obj/{digest[:2]}/{digest}"

    def _write(self, file: str | Path, data: bytes) -> None:
        try:
            self._replace(Path(file), data)
        except OSError as error:
            self.problem = self.problem or f"cannot write to the cache {self.folder}: {error.strerror or error}"

    def _replace(self, file: Path, data: bytes) -> None:
        self._make_folder()
        file.parent.mkdir(parents=True, exist_ok=True)
        name = file.parent / f".new-{secrets.token_hex(8)}"  # tempfile would let nobody else read it
        try:
            with name.open("xb") as new:
                new.write(data)
                new.flush()
                os.fsync(new.fileno())
            os.replace(name, file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def _make_folder(self) -> None:
        """The folder, told apart from the user's own work for people, git and backup programs."""
        if self.folder.is_dir():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        ours = (
            [("README", _README)]
            if self.is_shared
            else [(".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG), ("README", _README)]
        )
        for name, text in ours:
            (self.folder / name).write_text(text, encoding="utf-8")


def _read(file: str) -> bytes:
    with FileIO(file) as opened:
        return opened.readall()
