"""Compiled readers: they open files without Python, so the functions that are given the names are covered.

What `opened` sees is more, where the kernel tells it. This knows of missing files, too, and works everywhere.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any, NamedTuple
from urllib.parse import unquote

from torchrecorder.trace.covers import Covers


class _Reader(NamedTuple):
    module: str
    """When it has been imported, the function can be covered."""
    function: str
    position: int
    """Of the argument that is a path."""
    name: str = ""
    """Of that argument, where it can be given by name."""


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
_stat = os.stat
"""Bound when it is imported: a trace covers it."""


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
        """Cover the readers of a module that has just been imported."""
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
            if isinstance(given, str | bytes | os.PathLike) and not stat.S_ISDIR(_mode(given)):
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
    try:
        if _stat(f"{path}-wal").st_size:
            yield f"{path}-wal"
    except OSError:  # all has been written
        pass


def _mode(path: Any) -> int:
    try:
        return _stat(path).st_mode
    except OSError:
        return 0
