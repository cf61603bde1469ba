"""From what the worker noted during a recording to a manifest that holds on every machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchrecorder.request import RecordingRequest
from torchrecorder.trace.digest import text_digest
from torchrecorder.trace.file_digests import FileDigests
from torchrecorder.trace.file_names import FileNames, is_elsewhere
from torchrecorder.trace.finder import ModuleFinder
from torchrecorder.trace.manifest import Manifest, ModuleFacts

FIXED_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""What the worker runs with: one thread and no GPU keep recordings small, a fixed hash seed makes them equal."""

_OURS = {*FIXED_ENVIRONMENT, "PYTHONPATH"}
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/run/")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A manifest with its table of modules."""

    manifest: Manifest
    table: Mapping[str, ModuleFacts]


class Evidences:
    """Makes manifests; its finder and digests must be younger than the recordings."""

    def __init__(self, project: Path, finder: ModuleFinder, digests: FileDigests) -> None:
        self._project = project
        self._finder = finder
        self._digests = digests
        self._names = FileNames(project, finder)

    def of(self, request: RecordingRequest, graph: str, notes: Mapping[str, Any]) -> Evidence | None:
        """The evidence for a Graph; None if files changed while it was recorded, so that it may show neither state."""
        if not all(_signature(path) == seen for path, seen in {**notes["sources"], **notes["read"]}.items()):
            return None
        modules, others = self._resolvable(notes)
        name = _Namer(self._names, modules)
        table = {module: self._facts(module, file, notes) for module, file in modules.items()}
        manifest = Manifest(
            graph,
            {key: value for key, value in request.to_json().items() if value},
            ran=self._ran(modules, table, notes),
            files=_sorted({**self._looked_for(notes, name), **self._read(notes, others, name), **self._given(request)}),
            folders=_sorted(self._folders(request, notes, name)),
            environment={variable: _variable(variable) for variable in _variables(request, notes)},
            missing=tuple(module for module in notes["missing"] if not self._finder.exists(module)),
            distributions=notes["distributions"],
            untracked=tuple(notes["untracked"]),
        )
        return Evidence(manifest, table)

    def _resolvable(self, notes: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
        """The modules that are found again by their names, and the files of code that are not."""
        modules = {module: file for module, file in notes["modules"].items() if self._leads_to(module, file)}
        ran = {*notes["modules"].values(), *notes["sources"], *(notes["executed"] or {})}
        return modules, sorted(ran - set(modules.values()))

    def _leads_to(self, module: str, file: str) -> bool:
        found = self._finder.file(module)
        return found is not None and os.path.exists(file) and os.path.samefile(found, file)

    def _facts(self, module: str, file: str, notes: Mapping[str, Any]) -> ModuleFacts:
        source = self._digests.file(Path(file)) or ""
        executed = notes["executed"]
        if executed is None or file in notes["read"] or not file.endswith(".py"):
            return ModuleFacts(source)  # its text may have been used as data
        blocks = self._digests.blocks(Path(file))
        first, later = executed.get(file, ((), ()))
        if blocks is None or (ran := blocks.ran(first)) is None or blocks.ran(later) is None:
            return ModuleFacts(source)  # a function that ran is named in a way that its text does not show
        return ModuleFacts(source, blocks.skeleton, ran)

    def _ran(
        self, modules: Mapping[str, str], table: Mapping[str, ModuleFacts], notes: Mapping[str, Any]
    ) -> dict[str, dict[str, str]]:
        if notes["executed"] is None:
            return {module: {} for module in modules}
        ran: dict[str, dict[str, str]] = {}
        for module, file in modules.items():
            _, later = notes["executed"].get(file, ((), ()))
            if later or file in notes["read"]:
                blocks = self._digests.blocks(Path(file)) if table[module].skeleton else None
                ran[module] = (blocks and blocks.ran(later)) or {}
        return ran

    def _read(self, notes: Mapping[str, Any], others: Iterable[str], name: _Namer) -> dict[str, str | None]:
        paths = [path for path in [*notes["read"], *others] if not name.is_of_system(path)]
        return {name(path): self._digests.file(Path(path)) for path in paths}

    def _looked_for(self, notes: Mapping[str, Any], name: _Namer) -> dict[str, str | None]:
        named = {name(path): kind for path, kind in notes["looked_for"].items()}
        return {key: kind for key, kind in named.items() if not is_elsewhere(key)}

    def _folders(self, request: RecordingRequest, notes: Mapping[str, Any], name: _Namer) -> dict[str, str | None]:
        given = [path for path in self._below(request) if path.is_dir()]
        listed = {name(path): self._digests.folder(Path(path)) for path in [*notes["listed"], *map(str, given)]}
        return {key: digest for key, digest in listed.items() if not is_elsewhere(key)}

    def _given(self, request: RecordingRequest) -> dict[str, str | None]:
        """What the option `depends` names."""
        files = [path for path in self._below(request) if not path.is_dir()]
        return {self._names.name(path, ()): self._digests.file(path) for path in files}

    def _below(self, request: RecordingRequest) -> Iterator[Path]:
        for text in request.depends:
            if not text.startswith("$"):
                path = self._project / text
                yield path
                yield from sorted(path.rglob("*")) if path.is_dir() else ()


class _Namer:
    """Names the files of one recording."""

    def __init__(self, names: FileNames, modules: Iterable[str]) -> None:
        self._names = names
        self._tops = sorted({module.partition(".")[0] for module in modules})

    def __call__(self, path: str) -> str:
        return self._names.name(Path(path), self._tops)

    def is_of_system(self, path: str) -> bool:
        passing = (*_SYSTEM, tempfile.gettempdir() + os.sep)
        return path.startswith(passing) and is_elsewhere(self(path))


def _variables(request: RecordingRequest, notes: Mapping[str, Any]) -> list[str]:
    given = {text.removeprefix("$") for text in request.depends if text.startswith("$")}
    return sorted(({*notes["environment"]} - _OURS) | given)


def _variable(name: str) -> str | None:
    value = os.environ.get(name)
    return None if value is None else text_digest(value)


def _signature(path: str) -> list[int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return [found.st_mtime_ns, found.st_size]


def _sorted(table: Mapping[str, str | None]) -> dict[str, str | None]:
    return dict(sorted(table.items()))
