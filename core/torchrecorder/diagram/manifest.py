"""What a recording depended on, and whether all of it is still as it was.

The check needs no torch and imports nothing of the user's: it finds each module's file and hashes it.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torchrecorder.diagram.finder import ModuleFinder
from torchrecorder.request import source_digest

VERSION = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """The Graph of one request, with what it came from."""

    graph: str
    """Hash of the Graph's JSON."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the source of each first-party module, by name."""
    distributions: Mapping[str, str] = field(default_factory=dict)
    """Version of each installed distribution that was imported, by name."""

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data, with the version of the format."""
        return {"torchrecorder_manifest": VERSION, **asdict(self)}

    @staticmethod
    def from_json(data: Mapping[str, Any] | None) -> Manifest | None:
        """The manifest that `to_json` wrote; None for anything else."""
        if data is None or data.get("torchrecorder_manifest") != VERSION:
            return None
        try:
            manifest = Manifest(**{key: value for key, value in data.items() if key != "torchrecorder_manifest"})
        except TypeError:
            return None
        whole = isinstance(manifest.graph, str) and all(
            isinstance(table, dict) for table in (manifest.modules, manifest.distributions)
        )
        return manifest if whole else None


class Freshness:
    """Compares manifests with the files and distributions of now; remembers both, so an object serves one build."""

    def __init__(self, finder: ModuleFinder) -> None:
        self._finder = finder
        self._digests: dict[str, str | None] = {}
        self._versions: dict[str, str | None] = {}

    def why_stale(self, manifest: Manifest) -> str:
        """What has changed since the recording, for a person to read; empty if nothing has."""
        for name, digest in manifest.modules.items():
            now = self._digest(name)
            if now != digest:
                return f"module {name} is gone" if now is None else f"module {name} changed"
        for name, version in manifest.distributions.items():
            installed = self._version(name)
            # A builder without the model's dependencies can still show what was recorded with them.
            if installed is not None and _public(installed) != _public(version):
                return f"{name} {version} became {installed}"
        return ""

    def files(self, manifest: Manifest) -> tuple[Path, ...]:
        """The files of the first-party modules, as they lie on this machine."""
        found = (self._finder.file(name) for name in manifest.modules)
        return tuple(file for file in found if file is not None)

    def _digest(self, name: str) -> str | None:
        if name not in self._digests:
            file = self._finder.file(name)
            try:
                self._digests[name] = None if file is None else source_digest(file.read_bytes())
            except OSError:
                self._digests[name] = None
        return self._digests[name]

    def _version(self, name: str) -> str | None:
        if name not in self._versions:
            try:
                self._versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                self._versions[name] = None
        return self._versions[name]


def _public(version: str) -> str:
    """The version without its local part, so that the CPU and the CUDA build of torch are the same."""
    return version.partition("+")[0]
