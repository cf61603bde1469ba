"""What a recording depended on, as it is kept for every machine.

A manifest is small and readable. A large table of the digests of modules is a file of its own, named by its hash,
because models of one package mostly share it. How one is made says `trace.observed`; a build in which nothing changed
does not need that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from torchrecorder.request import RecordingRequest
from torchrecorder.trace.finder import is_elsewhere

VERSION = 2
"""Of what `to_json` writes; manifests of another one are not read."""

Table = Mapping[str, "ModuleFacts"]
"""The modules of the user's that were imported, by name."""


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    source: str
    """Digest of its file."""
    skeleton: str = ""
    """Digest of all but the bodies of functions; empty if only the whole file can be compared."""
    functions: Mapping[str, str] = field(default_factory=dict)
    """Digests of the functions that ran while modules were imported, by name."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The Graph of one request, with what it came from. Files are named as `FileNames` does."""

    graph: str
    """Hash of the Graph's JSON."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """The request, for readers and for `check`."""
    modules: str = ""
    """Hash of the table of modules, if that is a file of its own."""
    table: Mapping[str, list[Any]] = field(default_factory=dict)
    """The rows of the table of modules, if it is not."""
    ran: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each module that ran after it was imported, the digests of the functions that did."""
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Digest of each file that was read; `file` or `folder` where it was only asked for; None where nothing was."""
    folders: Mapping[str, str | None] = field(default_factory=dict)
    """Digest of the names in each folder that was listed."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Digest of each variable that was asked for; None if it was not set."""
    missing: tuple[str, ...] = ()
    """Modules that could not be imported."""
    distributions: Mapping[str, str] = field(default_factory=dict)
    """The versions of torch and of the installed distributions that the model is made of. What those import in turn has
    releases every week, and counts on the machine of the recording only, as part of `installed`."""
    untracked: tuple[str, ...] = ()
    """What it did that no trace can follow."""
    installed: str = ""
    """Digest of all that was installed; known of this machine only, as is what follows."""
    machine: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """What means something on the machine of the recording only, by kind: `files` and `folders` outside of the project,
    variables of the `environment`, `measures` of files, and `links`."""
    commits: Mapping[str, str] = field(default_factory=dict)
    """Commit of each repository of the hub that it shows, by name and revision, `owner/name@main`. A build does not ask
    whether one has moved."""

    def is_of(self, request: RecordingRequest) -> bool:
        """Whether it was made for that request; an entry of a cache may have been moved."""
        try:
            return RecordingRequest.from_json(self.request) == request
        except TypeError:
            return False

    def shared(self) -> Manifest:
        """The part of it that means something on other machines, too.

        One from another machine names nothing else, unless it was made to have files read that are not the project's.
        """
        read = [name for name, then in self.machine.get("files", {}).items() if then not in ("file", "folder", None)]
        outside = {f"reads {PurePath(name).name}, which lies outside of the project" for name in read}
        files, folders = (
            {name: then for name, then in facts.items() if not is_elsewhere(name)}
            for facts in (self.files, self.folders)
        )
        untracked = tuple(sorted({*self.untracked, *outside}))
        return replace(self, files=files, folders=folders, untracked=untracked, installed="", machine={})

    def to_json(self) -> dict[str, Any]:
        return {"torchrecorder_manifest": VERSION, **{key: value for key, value in asdict(self).items() if value}}

    @staticmethod
    def from_json(data: Mapping[str, Any] | None) -> Manifest | None:
        """The manifest that `to_json` wrote; None for anything else."""
        if data is None or data.get("torchrecorder_manifest") != VERSION or not isinstance(data.get("graph"), str):
            return None
        values: dict[str, Any] = {}
        for key, value in data.items():
            if key == "torchrecorder_manifest":
                continue
            if key == "is_from_names" and value is True:  # of an earlier version; it is now asked of the Graph
                continue
            if key not in _TYPES or not _fits(value, _TYPES[key]):
                return None
            values[key] = tuple(value) if isinstance(value, list) else value
        return Manifest(**values)


_ROW = (str, str, dict)
"""What a row of the table has, of which the last may be left out. An earlier version wrote more, and left out of its
digests what it took for unobservable: of its rows the first alone counts."""


def table_of(written: Any) -> Table | None:
    """The table of its rows, or of the JSON of these; None for anything else."""
    try:
        rows = json.loads(written) if isinstance(written, bytes) else written
        for row in rows.values():
            if not isinstance(row, list) or any(type(it) is not kind for it, kind in zip(row, _ROW, strict=False)):
                return None
        return {name: ModuleFacts(*row[: 3 if len(row) <= len(_ROW) else 1]) for name, row in rows.items()}
    except (TypeError, AttributeError, ValueError, RecursionError):
        return None


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value of JSON is of a type that a field of a manifest has; tuples are lists there."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (tuple, list):
        return isinstance(value, list) and all(_fits(item, inner[0]) for item in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(_fits(item, inner[1]) for item in value.values())
    if origin is UnionType:
        return any(_fits(value, one) for one in inner)
    return kind is Any or type(value) is kind


_TYPES = get_type_hints(Manifest)
