"""Functions that are covered while a recording runs, and files that compiled code opens: no hook of Python sees these.

`Readers` covers the functions that are given the names: it knows of missing files, too, and works everywhere. `Opened`
leaves no reader unknown: fanotify of Linux (5.13 and later) tells an unprivileged process of all that is opened in the
folders that it marks, and names the process only if that is itself, so that what builders, editors and other
recordings open is left out. Containers may forbid it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import stat
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import FrameType, ModuleType
from typing import Any, NamedTuple
from urllib.parse import unquote

from torchrecorder.cache.index import real_stat


class Covers:
    """Covers functions from `put` to `remove`; who has bound a cover by then calls what it covered."""

    def __init__(self) -> None:
        self._is_on = True
        self._originals: list[tuple[ModuleType, str, object]] = []

    def put(self, module: ModuleType, name: str, note: Callable[..., object], *, is_after: bool = False) -> None:
        """Have `note` called before a function of a module is, with the frame that calls it and the arguments.

        If it `is_after`, the answer comes between them; None if the function raised.
        """
        original: Callable[..., Any] = getattr(module, name)

        @functools.wraps(original)
        def cover(*args: Any, **kwargs: Any) -> Any:
            if not is_after:
                self._tell(note, sys._getframe(1), *args, **kwargs)
                return original(*args, **kwargs)
            answer = None
            try:
                answer = original(*args, **kwargs)
                return answer
            finally:
                self._tell(note, sys._getframe(1), answer, *args, **kwargs)

        self._originals.append((module, name, original))
        setattr(module, name, cover)

    def _tell(self, note: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        if self._is_on:
            with contextlib.suppress(Exception):  # an exception of ours would be raised in the user's code
                note(*args, **kwargs)

    def remove(self) -> None:
        self._is_on = False
        while self._originals:
            setattr(*self._originals.pop())


def caller_name(frame: FrameType, asker: FrameType | None) -> str:
    """The name of the outermost function between a covered one and the code that asks; empty if that calls it.

    Where a thread of Python's own asks, which was given a function to call, it is the innermost.
    """
    if asker is None:
        return frame.f_code.co_name
    name = ""
    current: FrameType | None = frame
    while current is not None and current is not asker:
        name, current = current.f_code.co_name, current.f_back
    return name


class _Reader(NamedTuple):
    module: str  # when it has been imported, the function can be covered
    function: str
    position: int  # of the argument that is a path
    name: str = ""  # of that argument, where it can be given by name


_READERS = (
    _Reader("torch", "from_file", 0, "filename"),
    _Reader("torch.export.pt2_archive._package", "PT2ArchiveReader.__init__", 1, "archive_path_or_buffer"),
    _Reader("torch.package.package_importer", "PackageImporter.__init__", 1, "file_or_buffer"),
    _Reader("torch", "_C.import_ir_module", 1),
    _Reader("safetensors", "safe_open", 0, "filename"),
    _Reader("tokenizers", "Tokenizer.from_file", 0, "path"),
    _Reader("sentencepiece", "SentencePieceProcessor.LoadFromFile", 1, "arg"),
    _Reader("h5py", "h5f.open", 0, "name"),
    _Reader("pyarrow.parquet.core", "ParquetFile.__init__", 1, "source"),
    _Reader("pyarrow.parquet.core", "ParquetDataset.__init__", 1, "path_or_paths"),
)


class Readers:
    """Covers readers from `start` to `stop`, those of modules that are imported later as well."""

    def __init__(self, note: Callable[[Any], None]) -> None:
        """`note` gets the path of each file that is read."""
        self._note = note
        self._covers = Covers()

    def start(self) -> None:
        for name in dict.fromkeys(reader.module for reader in _READERS):
            if (module := sys.modules.get(name)) is not None:
                self.watch(module)

    def watch(self, module: ModuleType) -> None:
        for reader in _READERS:
            if reader.module == module.__name__:
                *parts, function = reader.function.split(".")
                holder: Any = module
                for part in parts:
                    holder = getattr(holder, part, None)
                if callable(getattr(holder, function, None)):
                    self._covers.put(holder, function, self._noting(reader))

    def stop(self) -> None:
        self._covers.remove()

    def _noting(self, reader: _Reader) -> Callable[..., None]:
        def note(frame: FrameType, *args: Any, **kwargs: Any) -> None:
            given = args[reader.position] if len(args) > reader.position else kwargs.get(reader.name)
            if isinstance(given, str | bytes | os.PathLike):
                with suppress(OSError):
                    if stat.S_ISDIR(real_stat(given).st_mode):
                        return
                self._note(given)

        return note


def files_of_database(address: str) -> Iterator[str]:
    """The files that SQLite reads for an address; that of what has not been written into the database yet, if any."""
    path = address
    if address.startswith("file:"):
        path = unquote(address.removeprefix("file:").partition("?")[0].partition("#")[0])
        if path.startswith("//"):
            path = "/" + path[2:].partition("/")[2]
    if not path or path == ":memory:" or "mode=memory" in address:
        return
    yield path
    with suppress(OSError):  # all has been written
        if real_stat(f"{path}-wal").st_size:
            yield f"{path}-wal"


_CLOSE_ON_EXEC, _NEVER_WAIT, _WITH_FOLDER_AND_NAME = 0x1, 0x2, 0xC00  # flags of fanotify_init in linux/fanotify.h
_OPENED, _MODIFIED, _ON_CHILDREN, _OVERFLOW = 0x20, 0x2, 0x08000000, 0x4000  # its kinds of events
_ADD, _NAMED = 0x1, 2  # its flag for a new mark, and its kind of record with a folder's handle and a file's name
_HERE = -100  # AT_FDCWD of linux/fcntl.h
_HEAD = struct.Struct("=IBBHQii")
_RECORD = struct.Struct("=BxH8xIi")
_BUFFER = 1 << 18  # bytes of events that are read at once: some thousands
_MOST_FOLDERS = 2000
"""Marking one takes 2 µs and listing it 20: no more than 50 ms for a recording, in the largest of projects."""
_LEFT_OUT = re.compile(r"\..*|__pycache__|site-packages|dist-packages|node_modules")
"""Folders that hold no data of a model, and of which a project may have thousands."""


class Opened:
    """Reports what is opened in folders, from `start` to `stop`, also after a fork of which `follow` is called."""

    def __init__(self, note: Callable[[str, bool], None]) -> None:
        """`note` gets each file that this process opened and did not write, and whether another process wrote it."""
        self.is_whole = True
        """Whether the kernel had room for all events."""
        self._note = note
        self._folders: dict[bytes, str] = {}  # by the kernel's handles
        self._group = -1
        self._list = os.scandir

    @property
    def is_on(self) -> bool:
        return self._group >= 0

    def start(self, folders: Iterable[str]) -> None:
        """Begin with folders and those in them; does nothing where the kernel cannot."""
        if sys.platform == "linux" and self._open():
            for folder in self._below(folders):
                if (handle := _handle(folder)) is None:  # a file system without them
                    break
                self._folders[handle] = folder
            self._mark()

    def follow(self) -> None:
        """Go on in a forked child: to a process that did not open the group, the kernel names no process."""
        if self._group >= 0:
            os.close(self._group)
            if self._open():
                self._mark()

    def read(self) -> None:
        """Reports what was opened until now."""
        own: dict[str, int] = {}
        others: set[str] = set()
        while self._group >= 0:
            try:
                events = os.read(self._group, _BUFFER)
            except OSError:  # there are none left
                break
            for path, mask, is_own in self._events(events):
                if is_own:
                    own[path] = own.get(path, 0) | mask
                elif mask & _MODIFIED:
                    others.add(path)
        for path, mask in own.items():
            if not mask & _MODIFIED:
                self._note(path, path in others)

    def stop(self) -> None:
        self.read()
        if self._group >= 0:
            os.close(self._group)
            self._group = -1

    def _open(self) -> bool:
        flags = _CLOSE_ON_EXEC | _NEVER_WAIT | _WITH_FOLDER_AND_NAME
        try:
            self._group = ctypes.CDLL(None).fanotify_init(flags, os.O_RDONLY)
        except (OSError, AttributeError):
            self._group = -1
        return self._group >= 0

    def _mark(self) -> None:
        mark = ctypes.CDLL(None).fanotify_mark
        mark.argtypes = (ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p)
        for folder in self._folders.values():
            mark(self._group, _ADD, _OPENED | _MODIFIED | _ON_CHILDREN, _HERE, os.fsencode(folder))

    def _below(self, folders: Iterable[str]) -> Iterator[str]:
        """The folders and those in them, the outer ones first."""
        waiting = deque(dict.fromkeys(folders))
        for _ in range(_MOST_FOLDERS):
            if not waiting:
                break
            yield (folder := waiting.popleft())
            try:
                with self._list(folder) as entries:
                    inner = [one.path for one in entries if one.is_dir(follow_symlinks=False)]
            except OSError:
                continue
            waiting += [path for path in sorted(inner) if not _LEFT_OUT.fullmatch(os.path.basename(path))]

    def _events(self, data: bytes) -> Iterator[tuple[str, int, bool]]:
        """Path and kind of each event, and whether this process is the cause."""
        start = 0
        while start < len(data):
            length, _, _, head, mask, _, pid = _HEAD.unpack_from(data, start)
            self.is_whole = self.is_whole and not mask & _OVERFLOW
            if head < length:
                kind, size, handle_size, handle_type = _RECORD.unpack_from(data, start + head)
                begin = start + head + _RECORD.size
                folder = self._folders.get(struct.pack("=i", handle_type) + data[begin : begin + handle_size])
                name = data[begin + handle_size : start + head + size].partition(b"\0")[0]
                if kind == _NAMED and folder is not None and name != b".":
                    yield os.path.join(folder, os.fsdecode(name)), mask, pid == os.getpid()
            start += length


class _Handle(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint), ("type", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128))


def _handle(folder: str) -> bytes | None:
    """The kernel's name for a folder in its events; None if its file system has no such names."""
    found, mount = _Handle(128), ctypes.c_int()
    failed = ctypes.CDLL(None).name_to_handle_at(
        _HERE, os.fsencode(folder), ctypes.byref(found), ctypes.byref(mount), 0
    )
    return None if failed else struct.pack("=i", found.type) + bytes(found.bytes)[: found.size]
