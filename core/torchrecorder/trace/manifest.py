"""What a recording depended on, as it is kept in the cache.

A manifest is small and readable. The digests of the modules lie in a table of their own, named by its hash, because
models of one package mostly share it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

VERSION = 2

Table = Mapping[str, "ModuleFacts"]
"""The modules of the user's that were imported, by name."""


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """One module as it was."""

    source: str
    """Digest of its file."""
    skeleton: str = ""
    """Digest of what is no function; empty if only the whole file can be compared."""
    functions: Mapping[str, str] = field(default_factory=dict)
    """Digests of the functions that ran while modules were imported, by name."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The Graph of one request, with what it came from. Files are named as `sources.FileNames` does."""

    graph: str
    """Hash of the Graph's JSON."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """What was asked, for people and for `check`."""
    modules: str = ""
    """Hash of the table of modules."""
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
    """Version of each installed distribution that was imported."""
    untracked: tuple[str, ...] = ()
    """What it did that nobody can follow."""

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data, with the version of the format; what is empty is left out."""
        return {"torchrecorder_manifest": VERSION, **{key: value for key, value in asdict(self).items() if value}}

    @staticmethod
    def from_json(data: Mapping[str, Any] | None) -> Manifest | None:
        """The manifest that `to_json` wrote; None for anything else."""
        if data is None or data.get("torchrecorder_manifest") != VERSION or not isinstance(data.get("graph"), str):
            return None
        given = {**data}
        del given["torchrecorder_manifest"]
        for key, value in data.items():
            if key in given and not _KINDS.get(key, _nothing)(value):
                return None
            if isinstance(value, list):
                given[key] = tuple(value)
        return Manifest(**given)


def table_to_json(table: Table) -> bytes:
    """The table as JSON with one module a line, so that git shows what changed."""
    rows = [f"{json.dumps(name)}: {_row(facts)}" for name, facts in sorted(table.items())]
    return ("{\n" + ",\n".join(rows) + "\n}\n").encode()


def table_from_json(data: bytes | None) -> Table | None:
    """The table that `table_to_json` wrote; None for anything else."""
    try:
        found = json.loads(data or b"")
        return {name: ModuleFacts(*row) for name, row in found.items() if _is_row(row)}
    except (ValueError, TypeError, AttributeError):
        return None


def _row(facts: ModuleFacts) -> str:
    row: list[Any] = [facts.source]
    if facts.skeleton:
        row.append(facts.skeleton)
    if facts.functions:
        row.append(dict(sorted(facts.functions.items())))
    return json.dumps(row)


def _is_row(row: Any) -> bool:
    good = (
        isinstance(row, list)
        and 1 <= len(row) <= 3
        and all(isinstance(text, str) for text in row[:2])
        and all(isinstance(functions, dict) for functions in row[2:])
    )
    if not good:
        raise TypeError("no row of a table of modules")
    return True


def _nothing(value: Any) -> bool:
    return False


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and {*map(type, value)} <= {str}


def _is_digests(value: Any) -> bool:
    return isinstance(value, dict) and {*map(type, value.values())} <= {str, type(None)}


_KINDS = {
    "graph": lambda value: isinstance(value, str),
    "request": lambda value: isinstance(value, dict),
    "modules": lambda value: isinstance(value, str),
    "ran": lambda value: isinstance(value, dict) and all(map(_is_digests, value.values())),
    "files": _is_digests,
    "folders": _is_digests,
    "environment": _is_digests,
    "missing": _is_texts,
    "distributions": _is_digests,
    "untracked": _is_texts,
}
