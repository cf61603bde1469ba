"""State of the files of a project: what was written into them, and whether that is still what their models are.

The committed cache remembers of each file the digests of what was written, each with a digest of what it shows and the
version that drew it. So a text that was edited by hand is known, and nothing has to be drawn to see that all is fresh.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torchrecorder import __version__
from torchrecorder.cache.store import Store, write_whole
from torchrecorder.drawing import REVISION
from torchrecorder.errors import OptionError
from torchrecorder.files.comments import Block, spliced
from torchrecorder.files.project import FilePart, Project
from torchrecorder.pipeline.drawings import source_of
from torchrecorder.request import RecordingRequest
from torchrecorder.trace.digests import source_digest, text_digest
from torchrecorder.trace.finder import ModuleFinder

Row = list[str]
"""Digest of a text, digest of what it shows, and the version that drew it."""
BY = f"{__version__} {REVISION}"
"""The version that draws: what another one drew is true, but may look better now."""


@dataclass(frozen=True, slots=True)
class State:
    """State of a part, as far as it can be known without drawing it."""

    part: FilePart
    verdict: str
    """`fresh`, `missing`, `stale`, `failed`, `differs`, or `edited`."""
    reason: str = ""
    shows: str = ""
    """Digest of what it is to show; empty if that is not known."""
    is_old: bool = False
    """Whether another version drew it, or it lacks a model that could not be recorded when it was made."""


class Kept:
    """What was written into the files of a project."""

    def __init__(self, project: Project) -> None:
        assert project.settings.committed is not None
        self._root = project.root
        self._contents = project.contents
        self._finder = ModuleFinder(project.settings.path)
        self.store = Store(project.settings.committed, is_committed=True)

    def shows(self, part: FilePart, graphs: Mapping[RecordingRequest, str]) -> str:
        """Digest of what a part is to show."""
        seen: list[tuple[str, ...]] = []
        stylers: dict[str, object] = {}
        for request in part.requests:
            recordings = filter(None, (request.recording, request.old))
            seen.append((request.recording.target, *(graphs.get(each, "") for each in recordings)))
            if name := request.drawing.styler:
                stylers[name] = source_of(name, self._finder)
        return text_digest(json.dumps([part.asks, seen, stylers], sort_keys=True))

    def state(self, part: FilePart, shows: str) -> State:
        """State of a part whose recordings are fresh."""
        now, written = self.now(part), self._written(part.file)
        if now is None or not now.strip():
            return State(part, "missing", "it was never written", shows)
        digest = source_digest(now.strip())
        known = [row for row in written if row[0] == digest]
        if not known:
            why = "it was edited since it was written" if written else "torchrecorder has not written it"
            return State(part, "edited", f"{why}; torchrecorder update --force overwrites it", shows)
        by = [row[2] for row in known if row[1] == shows]
        if not by:
            return State(part, "stale", "something else is asked for now, or the model has changed since", shows)
        return State(part, "fresh", "", shows, BY not in by)

    def now(self, part: FilePart) -> bytes | None:
        """Present text of a file, or between two comments of one; None if there is no file."""
        if part.block is not None:
            return self._contents[part.file][part.block.start : part.block.end]
        try:
            return (self._root / part.file).read_bytes()
        except FileNotFoundError:
            return None

    def is_ours(self, part: FilePart, text: bytes) -> bool:
        """Whether a text takes the place of nothing, of itself, or of what was written here before."""
        now, ours = self.now(part), {source_digest(text.strip()), *(row[0] for row in self._written(part.file))}
        return now is None or not now.strip() or source_digest(now.strip()) in ours

    def write(self, file: str, made: Mapping[FilePart, tuple[str, bytes]], parts: Iterable[FilePart]) -> bool:
        """Write new contents of parts of a file, each given with what it shows, and remember them.

        Whether the file is another one now.

        `parts` are all of the file: those that are not made again are as they were.

        Raises:
            OptionError: The file cannot be written, or has changed since it was read.
        """
        before = self._written(file)
        data = next(iter(made.values()))[1]
        texts: list[tuple[Block, str]] = []
        written: list[Row] = []
        for part in parts:
            if part in made:
                shows, text = made[part]
                written.append([source_digest(text.strip()), shows, BY])
                texts += [(part.block, text.decode())] if part.block is not None else []
            else:
                digest = source_digest((self.now(part) or b"").strip())
                written += [row for row in before if row[0] == digest and row not in written]
        path = self._root / file
        if texts:
            if path.read_bytes() != self._contents[file]:
                raise OptionError((f"{file} has changed while models were recorded; run the command again",))
            data = spliced(self._contents[file], texts)
        is_other = not path.exists() or path.read_bytes() != data
        if is_other:
            try:
                write_whole(path.resolve(), data)  # a link to a file stays one
            except OSError as error:
                raise OptionError((f"cannot write {file}: {error.strerror or error}",)) from error
        self.store.put_entry("file", _key(file), {"file": file, "written": sorted(written), "object": ""})
        return is_other

    def _written(self, file: str) -> list[Row]:
        entry = self.store.entry("file", _key(file)) or {}
        rows = entry.get("written") if entry.get("file") == file else None
        return [row for row in rows if isinstance(row, list) and len(row) == 3] if isinstance(rows, list) else []


def _key(file: str) -> str:
    return hashlib.sha256(file.encode()).hexdigest()
