"""The cache on disk: entries that are found by what was asked, each with the object that was made with it behind it.

    rec/ab/<request key>          a recording: what it depended on, and its Graph
    rec/ab/<request key>-2        the one before it, up to -4, on this machine: a branch that comes back finds its own
    fail/ab/<request key>         a failure: why a recording failed on this machine, what it depended on, and what ran
    ren/ab/<render key>           a drawing: of which Graph, and the picture
    own/ab/<digest of a path>     a file of the project: what was written into it, and what that shows
    obj/ab/<sha256>               tables of module digests that many recordings share
    salt                          of the digests of variables
    stats.json, entries.json, …   indexes of this machine, which save time (`cache.index`)

A file is JSON up to its first line that is `}`; the object follows, compressed from 4 KiB on. Earlier versions gave
entries the suffix `.json`, a file in `obj` to each object, and compressed none; all of it is still read.

Nothing is ever changed in place: a file is written beside its final name and moved there, so a reader sees all of it or
none, and two builds at once cannot harm each other. What cannot be read, or does not hash to its name, is a miss.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import Any, Literal

from torchrecorder.errors import FormatError

_SALT = re.compile(r"[0-9a-f]{16}")
_HASH = re.compile(r"[0-9a-f]{64}")
_CHECK = re.compile(rb'\{\s*"check":\s*"([0-9a-f]{64})",\s*')
_END = b"\n}\n"  # ends an entry: within JSON, a text has no line end
_OLD = ".json"
LARGEST = 64 << 20
"""Bytes of an entry with its object: the Graph of 100,000 operations fits, and no foreign cache fills the memory."""
_PACKED = b"zlib64:"
"""Begins a compressed object, a line of Base64, so that git still shows and merges the lines of the entry above it."""
_PACKED_FROM = 4 << 10
"""Bytes of an object that is compressed: a smaller one takes a block of the disk anyhow, and can be read as it is."""
_LARGEST_INDEX = 1 << 30  # bytes of an index, which is written by this machine alone
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

Kind = Literal["recording", "failure", "drawing", "file"]
Entry = Mapping[str, Any]
"""Plain data as JSON has it: a manifest, or what says which drawing was made."""
VARIANTS = 4
"""How many recordings of one request are kept on a machine."""
OBJECTS: Mapping[Kind, str] = {"recording": "graph", "failure": "graph", "drawing": "drawing", "file": "object"}
FOLDERS: Mapping[Kind, str] = {"recording": "rec", "failure": "fail", "drawing": "ren", "file": "own"}

_README = "Written by torchrecorder. Safe to delete: what is needed is made again.\n"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache directory tag by torchrecorder, see https://bford.info/cachedir/\n"


class Store:
    """A cache folder; it is made when the first thing is put into it.

    A shared one, which is committed with the project or comes from elsewhere, holds nothing of this machine and is not
    trusted. Only a committed one is not hidden from git.
    """

    def __init__(self, folder: Path, *, is_shared: bool = False, is_committed: bool = False) -> None:
        self.folder = folder
        self._place = os.fspath(folder)  # paths as objects cost more than the files that a build reads
        self.is_shared = is_shared or is_committed
        self._is_hidden = not is_committed
        self.problem = ""
        """Why something could not be written; a build goes on without, and says so once."""
        self._holders: dict[str, list[tuple[Kind, str]]] = {}
        """Kind and key of the entries that say that an object lies behind them, as far as entries were read."""

    @cached_property
    def salt(self) -> str:
        """Goes into digests of values that must not be readable; each cache has its own, so that no table fits two."""
        with contextlib.suppress(OSError, ValueError):
            if _SALT.fullmatch(text := (self.folder / "salt").read_text(encoding="ascii")):
                return text
        salt = secrets.token_hex(8)
        self._write(self.folder / "salt", salt.encode())
        return salt

    def entry(self, kind: Kind, key: str) -> Entry | None:
        for file in self.entry_files(kind, key):
            if (entry := self.entry_in(file)) is not None:
                self.note(kind, key, file, entry)
                return entry
        return None

    def note(self, kind: Kind, key: str, file: str, entry: Entry) -> None:
        """Note which object lies behind an entry that was read, so that `object` finds it."""
        holders = self._holders.setdefault(str(entry.get(OBJECTS[kind])), [])
        if (kind, key) not in holders and not file.endswith(_OLD):
            holders.append((kind, key))

    def entry_in(self, file: str) -> Entry | None:
        return entry_of(self._read(file))

    def entry_file(self, kind: Kind, key: str) -> str:
        return f"{self._place}/{entry_name(kind, key)}"

    def entry_files(self, kind: Kind, key: str) -> list[str]:
        """Paths at which entries of the key may lie, the last one first."""
        file = self.entry_file(kind, key)
        return [file, *self._variants(kind, file), f"{file}{_OLD}"]

    def _variants(self, kind: Kind, file: str) -> list[str]:
        has_some = kind == "recording" and not self.is_shared  # git and a team's cache have others of their own
        return [f"{file}-{number}" for number in range(2, VARIANTS + 1)] if has_some else []

    def put_entry(self, kind: Kind, key: str, entry: Entry, data: bytes = b"") -> None:
        """Put an entry before those that were there, with the object that it names."""
        file, text = self.entry_file(kind, key), entry_text(entry)
        if len(text) + len(data) > LARGEST:
            self._refuse(file, len(text) + len(data))
            return
        before = self._read(file)
        is_same = False
        if before is not None and divided(before)[0] == text:
            with contextlib.suppress(FormatError):
                is_same = unpacked(divided(before)[1]) == data
        if (variants := self._variants(kind, file)) and before is not None and not is_same:
            places = [file, *variants]
            for younger, older in zip(places[-2::-1], places[:0:-1], strict=True):
                with contextlib.suppress(OSError):  # there is none yet, or another build was faster
                    os.replace(younger, older)
        # Another zlib packs the same into other bytes, which git would show as a change.
        self._write(Path(file), before if before is not None and is_same else text + packed(data))
        self.note(kind, key, file, entry)

    def object(self, digest: str) -> bytes | None:
        for holder in self._holders.get(digest, ()):
            for file in self.entry_files(*holder):
                if (data := self._object(file, divided(self._read(file) or b"")[1], digest)) is not None:
                    return data
        name = object_name(digest)
        file = f"{self._place}/{name}"
        return None if name is None else self._object(file, self._read(file), digest)

    def _object(self, file: str, data: bytes | None, digest: str) -> bytes | None:
        try:
            return object_of(data, digest)
        except FormatError as error:
            self.problem = self.problem or f"{error}, so what is in {file} is made anew by each build"
            return None

    def object_file(self, digest: str) -> str | None:
        """The path of the object of that hash; None for what is not a hash."""
        if holders := self._holders.get(digest):
            return self.entry_file(*holders[0])
        name = object_name(digest)
        return None if name is None else f"{self._place}/{name}"

    def put_object(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        if self.object(digest) is None:
            self._write(self.folder / "obj" / digest[:2] / digest, packed(data))
        return digest

    def read_index(self, name: str) -> Entry:
        """An index file, which only saves time; empty if there is none or it is damaged."""
        return entry_of(_read(f"{self._place}/{name}", _LARGEST_INDEX)[0]) or {}

    def write_index(self, name: str, rows: Entry) -> None:
        text = json.dumps(rows, separators=(",", ":")).encode()
        self._write(self.folder / name, _checked(text, b'{"check":"%s",%s'), is_lasting=False)

    def _read(self, file: str) -> bytes | None:
        data, size = _read(file, LARGEST)
        if size > LARGEST:
            self._refuse(file, size)
        return data

    def _refuse(self, file: str, size: int) -> None:
        self.problem = self.problem or (
            f"{file} has {size >> 20} MB, and a cache keeps no more than {LARGEST >> 20} MB in a file, so what is in "
            "it is made anew by each build"
        )

    def _write(self, file: Path, data: bytes, *, is_lasting: bool = True) -> None:
        try:
            self._make_folder()
            for part in file.relative_to(self.folder).parents:
                if str(part) != "." and (self.folder / part).is_symlink():
                    raise OSError(f"{part} in it is a symbolic link, which may point outside of it")
            write_whole(file, data, is_lasting=is_lasting)
        except OSError as error:
            self.problem = self.problem or f"cannot write to the cache {self.folder}: {error.strerror or error}"

    def _make_folder(self) -> None:
        """Make the folder, with the files by which git and backup programs ignore it, and a README."""
        if (self.folder / "README").exists():  # it is written last
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        hides = [(".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)]
        keeps = [(".gitattributes", "* -text\n")]  # other line ends would not hash to the names
        for name, text in (*(hides if self._is_hidden else keeps), ("README", _README)):
            (self.folder / name).write_text(text, encoding="utf-8")


def write_whole(file: Path, data: bytes, *, is_lasting: bool = True) -> None:
    """Write a file, and the folders above it; a reader, or a machine that stops, sees the old or the new one whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    name = file.parent / f".new-{secrets.token_hex(8)}"  # tempfile lets only the owner read it
    try:
        with name.open("xb") as new:
            new.write(data)
            new.flush()
            if is_lasting:  # an index that is lost in a crash of the machine is made again
                os.fsync(new.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(name, stat.S_IMODE(os.stat(file).st_mode) | stat.S_IRUSR)  # or it would never be read again
        os.replace(name, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def entry_name(kind: Kind, key: str) -> str:
    return f"{FOLDERS[kind]}/{key[:2]}/{key}"


def objects_of(kind: Kind, entry: Entry) -> list[str]:
    """The hashes of the objects that an entry leads to; raises KeyError if it does not name the one behind it."""
    digests = [str(entry[OBJECTS[kind]]), str(entry.get("modules", ""))]
    return [digest for digest in digests if digest]  # a failure may have no Graph


def entry_text(entry: Entry) -> bytes:
    """An entry as it is written: one fact a line and sorted, so that git shows what changed, under a digest of itself.

    Without the digest, a flipped bit in the name of a file would be a dependency that is never looked at again.
    """
    text = json.dumps(entry, sort_keys=True, indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
    return _checked(text, b'{\n "check": "%s",\n %s')


def _checked(text: bytes, form: bytes) -> bytes:
    facts = text.removeprefix(b"{").lstrip()
    return form % (hashlib.sha256(facts).hexdigest().encode(), facts)


def entry_of(data: bytes | None) -> Entry | None:
    text, _ = divided(data or b"")
    found = _CHECK.match(text)
    if found is None or hashlib.sha256(text[found.end() :]).hexdigest().encode() != found[1]:
        return None
    try:
        entry: dict[str, Any] = json.loads(text)  # it begins with a brace
    except (ValueError, RecursionError):
        return None
    del entry["check"]
    return entry


def divided(data: bytes) -> tuple[bytes, bytes]:
    """The text of the entry of a file, and the object behind it."""
    text, end, rest = data.partition(_END)
    return text + end, rest


def object_name(digest: str) -> str | None:
    """The path of an object in a cache; None for what is not a hash: an entry that is not ours may name a path."""
    return f"obj/{digest[:2]}/{digest}" if _HASH.fullmatch(digest) else None


def object_of(data: bytes | None, digest: str) -> bytes | None:
    """The data of a file, unpacked, if it is what its hash says; raises as `unpacked`."""
    content = unpacked(data) if data else data
    return content if content is not None and hashlib.sha256(content).hexdigest() == digest else None


def packed(data: bytes) -> bytes:
    if len(data) < _PACKED_FROM and not data.startswith(_PACKED):
        return data
    return _PACKED + base64.b64encode(zlib.compress(data))


def unpacked(data: bytes) -> bytes | None:
    """The object in a file, no larger than `LARGEST`; None if it is damaged.

    Raises:
        FormatError: It is larger: a few kilobytes can stand for all memory there is.
    """
    if not data.startswith(_PACKED):
        return data
    reader = zlib.decompressobj()
    try:
        content = reader.decompress(base64.b64decode(data[len(_PACKED) :], validate=True), LARGEST + 1)
    except (ValueError, zlib.error):
        return None
    if len(content) > LARGEST:
        what = "a compressed object of a cache"
        raise FormatError(what=what, reason=f"it has more than the {LARGEST >> 20} MB that an object may have")
    return content if reader.eof and not reader.unused_data else None


def _read(file: str | Path, most: int) -> tuple[bytes | None, int]:
    """The content of a regular file of no more than some bytes, and its size.

    A shared cache may hold a link to a device, which would never end.
    """
    try:
        handle = os.open(file, _OPEN)
    except (OSError, ValueError):
        return None, 0
    try:
        with FileIO(handle) as opened:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return None, 0
            return opened.readall() if found.st_size <= most else None, found.st_size
    except OSError:
        return None, 0


_YOUNG_S = 3600.0  # age of a file, in seconds, below which it may be part of a build that is still running


@dataclass(slots=True)
class Swept:
    files: int = 0
    bytes: int = 0
    kept: int = 0
    young: int = 0
    """Files that would have been removed, but may be part of a build that is still running."""


def sweep(folder: Path, *, days: float | None = None, now: float | None = None) -> Swept:
    """Remove entries whose objects are missing or that are older than `days`, and objects that no entry names."""
    now = time.time() if now is None else now
    swept, store, needed = Swept(), Store(folder), set[str]()
    for kind in (*FOLDERS, None):  # objects at the end, when it is known which are needed
        for file in sorted((folder / (FOLDERS[kind] if kind else "obj")).glob("*/*")):
            if not file.is_file() or file.is_symlink():
                continue
            wanted = _wanted(store, kind, file, now, days) if kind else {file.name} & needed or None
            if wanted is None:
                _remove(file, now, swept)
            else:
                swept.kept += 1
                needed |= wanted
    return swept


def _wanted(store: Store, kind: Kind, file: Path, now: float, days: float | None) -> set[str] | None:
    """The objects elsewhere that an entry needs; None if it is out of date."""
    try:
        data = file.read_bytes()
        _, behind = divided(data)
        wanted = {of for of in objects_of(kind, entry_of(data) or {}) if object_of(behind, of) is None}
        is_old = days is not None and now - file.stat().st_mtime > days * 86400
        return wanted if not is_old and all(map(store.object, wanted)) else None
    except (OSError, KeyError, FormatError):
        return None


def _remove(file: Path, now: float, swept: Swept) -> None:
    with contextlib.suppress(OSError):
        if now - file.stat().st_mtime <= _YOUNG_S:
            swept.young += 1
            return
        size = file.stat().st_size
        file.unlink()
        swept.files += 1
        swept.bytes += size
