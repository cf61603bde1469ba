"""Digests of files, of folders, and of the parts of sources, as they are in one build."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from torchrecorder.cache.index import StampedIndex, is_settled, stamp_of
from torchrecorder.cache.store import Store
from torchrecorder.trace.digests import file_digest, is_passing, text_digest

if TYPE_CHECKING:
    from torchrecorder.trace.source_blocks import Blocks

_OF_THE_KERNEL = ("/proc/", "/sys/", "/dev/")
"""Reading what is there may never end."""


class FileDigests:
    """Serves one build, during which files are taken to stay as they are until `forget`.

    A file whose stamp is as it was is not read again, and a source whose digest is known is not parsed again.
    """

    def __init__(self, machine: Store) -> None:
        self._digests: dict[str, str | None] = {}
        self._files = StampedIndex(machine, "stats.json")
        self._parts = StampedIndex(machine, "blocks.json")

    def file(self, path: Path) -> str | None:
        """The digest of a file; None if it cannot be read."""
        name = str(path)
        if name not in self._digests:
            self._digests[name] = self._of_file(name)
        return self._digests[name]

    def folder(self, path: Path) -> str | None:
        """The digest of the names in a folder; None if it cannot be listed."""
        try:
            names = os.listdir(path)
        except OSError:
            return None
        return text_digest("\n".join(sorted(name for name in names if not is_passing(name))))

    def blocks(self, path: Path) -> Blocks | None:
        from torchrecorder.trace.source_blocks import Blocks, read_blocks  # not needed while sources are as they were

        digest = self.file(path)
        if digest is not None and (known := self._parts.get(str(path), digest)) is not None:
            return Blocks(*known)
        try:
            blocks = read_blocks(path.read_bytes())
        except OSError:
            return None
        if digest is not None and blocks is not None:
            self._parts.put(str(path), digest, [blocks.skeleton, blocks.functions])
        return blocks

    def forget(self) -> None:
        self._digests.clear()

    def save_indexes(self) -> None:
        self._files.save()
        self._parts.save()

    def _of_file(self, name: str) -> str | None:
        stamp = stamp_of(name)
        if stamp is None:
            return None
        known = self._files.get(name, stamp)
        if isinstance(known, str):
            return known
        if not os.path.isfile(name) or os.path.realpath(name).startswith(_OF_THE_KERNEL):
            return None  # a shared cache may name a device that never ends
        try:
            with open(name, "rb", buffering=0) as file:
                digest = file_digest(file)
        except OSError:
            return None
        if is_settled(stamp):
            self._files.put(name, stamp, digest)
        return digest
