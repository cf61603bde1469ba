"""Whether all that a recording depended on is still as it was.

The check needs no torch and imports nothing of the user's: it finds the files again, compares digests, and parses a
source only if it differs.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from torchrecorder.errors import shown_text
from torchrecorder.trace.digests import FileDigests
from torchrecorder.trace.environment import ALL, OF_THE_LANGUAGE, SWITCHES, what_happened
from torchrecorder.trace.files import link_of, measure_of
from torchrecorder.trace.finder import FileNames, ModuleFinder, is_elsewhere, shown_name
from torchrecorder.trace.manifest import Manifest, ModuleFacts, Table, table_of

_LONGEST = 300
"""Characters of a reason."""


class Verdict(Enum):
    FRESH = "fresh"
    IMPORT_ONLY = "import-only"
    """Code changed that only ran while modules were imported: the picture is most likely right."""
    STALE = "stale"
    MISSING = "missing"
    """There is none."""


class Finding(NamedTuple):
    """A verdict with its reasons, for messages."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    is_of_machine: bool = False
    """Whether something changed that only the recording of this machine knows of."""

    def __str__(self) -> str:
        return "; ".join(self.reasons) or self.verdict.value


class _Change(NamedTuple):
    module: str
    reason: str
    """Empty if it depends on which of the module's functions a recording ran."""


class _Modules(NamedTuple):
    files: tuple[Path, ...]
    changes: tuple[_Change, ...]


class Freshness:
    """Compares manifests with what is there now; remembers all it looked at, so an object serves one build."""

    def __init__(
        self,
        project: Path,
        finder: ModuleFinder,
        digests: FileDigests,
        load_table: Callable[[str], Table | None],
        own_path: Sequence[str] | None = None,
        installed: Callable[[str], str] = lambda then: "",
    ) -> None:
        """`installed` says what has changed since all that is installed had some digest."""
        self._own_path = own_path  # where the worker's Python has its distributions; None if it is this one
        self._finder = finder
        self._digests = digests
        self._load_table = load_table
        self._installed = installed
        self._names = FileNames(project, finder)
        self._modules: dict[str, _Modules | None] = {}
        self._files: dict[str, str | None] = {}
        self._folders: dict[str, str | None] = {}
        self._versions: dict[tuple[str, str], str] = {}

    def of(self, manifest: Manifest) -> Finding:
        modules = self._modules_of(manifest)
        if modules is None:
            return Finding(Verdict.MISSING, ("its table of modules is missing or damaged",))
        code = [
            (change.module, reason) for change in modules.changes for reason in self._code_reasons(change, manifest)
        ]
        others = list(self._other_reasons(manifest))
        here = list(self._reasons_of_machine(manifest))
        reasons = (*(reason for _, reason in code), *others, *here)
        if not reasons:
            return Finding(Verdict.FRESH)
        ran = bool(others or here) or any(module in manifest.ran for module, _ in code)
        shown = tuple(shown_text(reason, _LONGEST) for reason in reasons)  # names of files may hold anything
        return Finding(Verdict.STALE if ran else Verdict.IMPORT_ONLY, shown, bool(here))

    def files(self, manifest: Manifest) -> tuple[Path, ...]:
        """The files it depends on, as they lie on this machine; for a server to watch."""
        modules = self._modules_of(manifest)
        files = () if modules is None else modules.files
        names = (manifest.files, manifest.folders, *(manifest.machine.get(kind, {}) for kind in ("files", "folders")))
        data = [self._names.path(name) for facts in names for name in facts]
        return tuple(dict.fromkeys([*files, *data])) if data else files

    def has_packages_of(self, manifest: Manifest) -> bool:
        """Whether all that the model is made of is installed, in whatever version."""
        path = list(sys.path if self._own_path is None else self._own_path)
        return all(any(importlib.metadata.distributions(name=name, path=path)) for name in manifest.distributions)

    def _modules_of(self, manifest: Manifest) -> _Modules | None:
        digest = manifest.modules or json.dumps(manifest.table)
        if digest in self._modules:
            return self._modules[digest]
        self._modules[digest] = None
        table = self._load_table(digest) if manifest.modules else table_of(manifest.table)
        if table is not None:
            files: list[Path] = []
            changes: list[_Change] = []
            for name, then in table.items():
                file = self._finder.file(name)
                if file is None:
                    changes.append(_Change(name, f"module {name} is gone"))
                    continue
                files.append(file)
                if self._digests.file(file) != then.source:
                    changes.append(_Change(name, self._reason(name, file, then)))
            self._modules[digest] = _Modules(tuple(dict.fromkeys(files)), tuple(changes))
        return self._modules[digest]

    def _reason(self, name: str, file: Path, facts: ModuleFacts) -> str:
        shown = self._shown(name)
        if not facts.skeleton:
            return f"{shown} changed"
        blocks = self._digests.blocks(file)
        if blocks is None:
            return f"{shown} changed and cannot be parsed"
        if blocks.skeleton != facts.skeleton:
            return f"{shown} changed outside its functions"
        changed = [name for name, digest in facts.functions.items() if blocks.functions.get(name) != digest]
        return _functions(shown, changed) if changed else ""

    def _code_reasons(self, change: _Change, manifest: Manifest) -> Iterator[str]:
        if change.reason:
            yield change.reason
        elif ran := manifest.ran.get(change.module):
            file = self._finder.file(change.module)
            blocks = None if file is None else self._digests.blocks(file)
            now = {} if blocks is None else blocks.functions
            if changed := [name for name, digest in ran.items() if now.get(name) != digest]:
                yield _functions(self._shown(change.module), changed)

    def _other_reasons(self, manifest: Manifest) -> Iterator[str]:
        yield from self._changed_files({name: then for name, then in manifest.files.items() if not is_elsewhere(name)})
        yield from self._changed_folders(manifest.folders)
        yield from _changed_variables({OF_THE_LANGUAGE: None, **manifest.environment})
        for name in manifest.missing:
            if self._finder.exists(name):
                yield f"{name} can be imported now"
        for name, version in manifest.distributions.items():
            if now := self._other_version(name, version):
                yield f"{name} {version} became {now}"

    def _reasons_of_machine(self, manifest: Manifest) -> Iterator[str]:
        facts = manifest.machine
        yield from self._changed_files(facts.get("files", {}))
        yield from self._changed_folders(facts.get("folders", {}))
        yield from _changed_variables(
            {**({SWITCHES: None} if manifest.installed else {}), **facts.get("environment", {})}
        )
        for name, then in facts.get("measures", {}).items():
            if measure_of(self._names.path(name), then or "") != then:
                yield f"size or date of {shown_name(name)} changed"
        for name, then in facts.get("links", {}).items():
            if link_of(self._names.path(name)) != then:
                yield f"the link {shown_name(name)} changed"
        if manifest.installed and (changes := self._installed(manifest.installed)):
            yield changes

    def _changed_files(self, facts: Mapping[str, str | None]) -> Iterator[str]:
        for name, then in facts.items():
            if (now := self._file(name, then)) != then:
                yield f"{shown_name(name)} {_what_happened(then, now)}"

    def _changed_folders(self, facts: Mapping[str, str | None]) -> Iterator[str]:
        for name, then in facts.items():
            if name not in self._folders:
                self._folders[name] = self._digests.folder(self._names.path(name))
            if self._folders[name] != then:
                yield f"the list of files in {shown_name(name)}/ changed"

    def _file(self, name: str, then: str | None) -> str | None:
        path = self._names.path(name)
        if then in ("file", "folder"):
            return "folder" if path.is_dir() else "file" if path.exists() else None
        if name not in self._files:
            self._files[name] = self._digests.file(path) or ("there" if path.exists() else None)
        return self._files[name]

    def _shown(self, module: str) -> str:
        path = module.replace(".", "/")
        return f"{path}/__init__.py" if self._finder.is_package(module) else f"{path}.py"

    def _other_version(self, name: str, then: str) -> str:
        """The version that is installed now, if it is another; a builder need not have what it is not asked to run."""
        if (name, then) not in self._versions:
            path = sys.path if self._own_path is None else self._own_path
            folder = f"{re.sub('[-_.]+', '_', name)}-{then}.dist-info"
            now = then
            if not any(os.path.isdir(os.path.join(entry, folder)) for entry in path):  # reading metadata takes longer
                installed = next(iter(importlib.metadata.distributions(name=name, path=list(path))), None)
                now = then if installed is None else installed.version or then
            self._versions[name, then] = "" if _public(now) == _public(then) else now
        return self._versions[name, then]


def _changed_variables(facts: Mapping[str, str | None]) -> Iterator[str]:
    for name, then in facts.items():
        if changed := what_happened(name, then):
            yield "the environment changed" if name == ALL else f"${name} {changed}"


def _functions(file: str, changed: Sequence[str]) -> str:
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return f"{file}: {', '.join(changed[:3])}{more} changed"


def _what_happened(then: str | None, now: str | None) -> str:
    if then is None:
        return "appeared"
    return "is gone" if now is None else "changed"


def _public(version: str) -> str:
    """The version without its local part, so that the CPU and the CUDA build of torch are the same."""
    return version.partition("+")[0]
