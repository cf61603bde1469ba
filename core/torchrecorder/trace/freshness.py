"""What a recording depended on, put into a manifest, and whether all of it is still as it was.

The check needs no torch and imports nothing of the user's: it finds the files again, compares digests, and parses a
source only if it differs.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchrecorder.cache.store import Store
from torchrecorder.errors import listed, shown_text
from torchrecorder.request import RecordingRequest
from torchrecorder.trace.digests import FileDigests, file_digest, text_digest
from torchrecorder.trace.environment import ALL, OF_THE_LANGUAGE, SWITCHES, what_happened
from torchrecorder.trace.files import link_of, measure_of
from torchrecorder.trace.finder import FileNames, ModuleFinder, is_elsewhere, shown_name
from torchrecorder.trace.manifest import Manifest, ModuleFacts, table_of
from torchrecorder.trace.mentions import SEPARATOR, Searches
from torchrecorder.trace.ownership import foreign_path, is_installed, is_stdlib

if TYPE_CHECKING:
    from torchrecorder.trace.observed import TraceResult

_LONGEST = 300  # characters of a reason
_METADATA = (".dist-info", ".egg-info")
_SAID = ("entry_points.txt", "METADATA", "PKG-INFO", "requires.txt")  # files of metadata that code asks for
_INDEX = "installed.json"
_KEPT = 8  # environments of which the index knows what was installed


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


class _Modules(NamedTuple):
    files: tuple[Path, ...]
    changes: Mapping[str, str]
    """By module the reason; empty if it depends on which of the module's functions a recording ran."""


class Freshness:
    """Compares manifests with what is there now; remembers all it looked at, so an object serves one build."""

    def __init__(
        self,
        project: Path,
        path: Sequence[str],
        machine: Store,
        load_table: Callable[[str], bytes | None],
        python: tuple[list[str], str] | None = None,
    ) -> None:
        """Make ready for a build.

        Modules of the `project` are imported from the folders in `path`. `machine` is the cache of this machine,
        `load_table` gives a table of modules by its hash, and `python` says where the worker's Python has its
        distributions, and its version; None if it is this one.
        """
        self._project, self._path, self._machine = project, path, machine
        own: tuple[list[str] | None, str] = python or (None, "")
        self._own_path, self._python = own
        self._finder = self._new_finder()
        self._digests = FileDigests(machine)
        self._searches = Searches(machine)
        self._load_table = load_table
        self._installed: tuple[Installed, str] | None = None
        self._names = FileNames(project, self._finder)
        self._modules: dict[str, _Modules | None] = {}
        self._files: dict[str, str | None] = {}
        self._folders: dict[str, str | None] = {}
        self._versions: dict[tuple[str, str], str] = {}

    def _new_finder(self) -> ModuleFinder:
        """A finder that has seen nothing yet, of modules where the worker finds them."""
        path = self._path if self._own_path is None else foreign_path(self._path)
        return ModuleFinder(path, self._own_path)

    def file_now(self, module: str) -> Path | None:
        """The file of a module, which may have been written since the build began."""
        return self._new_finder().file(module)

    def manifest(
        self,
        request: RecordingRequest,
        graph: str,
        result: TraceResult,
        put_object: Callable[[bytes], str],
        salt: Callable[[], str],
        installed: str,
    ) -> Manifest:
        """The manifest of a recording that has just ended, as a `ManifestBuilder` makes it."""
        from torchrecorder.trace.observed import ManifestBuilder  # not needed where nothing is recorded

        self._digests.forget()
        self._searches.keep(result.searched, result.begun_ns)
        builder = ManifestBuilder(request, result, self._project, self._new_finder(), self._digests)
        return builder.manifest(graph, put_object, salt, installed)

    def remember_installed(self) -> str:
        """The digest of what is installed; the cache of this machine keeps what it says, for a later message."""
        installed = Installed.on(self._path, self._own_path, self._python)
        digest, rows = installed.digest(), self._machine.read_index(_INDEX)
        if digest not in rows:
            row = [installed.python, dict(installed.distributions), installed.hidden]
            self._machine.write_index(_INDEX, dict([*rows.items()][1 - _KEPT :]) | {digest: row})
        return digest

    def save_indexes(self) -> None:
        self._digests.save_indexes()
        self._searches.save()

    def of(self, manifest: Manifest) -> Finding:
        modules = self._modules_of(manifest)
        if modules is None:
            return Finding(Verdict.MISSING, ("its table of modules is missing or damaged",))
        code = [
            (module, reason)
            for module, known in modules.changes.items()
            if (reason := known or self._changed_functions(module, manifest.ran.get(module, {})))
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

    def moved(self, manifest: Manifest) -> tuple[Path, ...]:
        """Files of modules that are not, byte by byte, as they were recorded: their lines may be others now."""
        modules = self._modules_of(manifest)
        files = map(self._finder.file, modules.changes) if modules is not None else ()
        return tuple(file for file in files if file is not None)

    def has_packages_of(self, manifest: Manifest) -> bool:
        """Whether all that the model is made of is installed, in whatever version."""
        import importlib.metadata

        path = list(sys.path if self._own_path is None else self._own_path)
        return all(any(importlib.metadata.distributions(name=name, path=path)) for name in manifest.distributions)

    def _modules_of(self, manifest: Manifest) -> _Modules | None:
        digest = manifest.modules or json.dumps(manifest.table)
        if digest in self._modules:
            return self._modules[digest]
        self._modules[digest] = None
        table = table_of(self._load_table(digest) if manifest.modules else manifest.table)
        if table is not None:
            files: list[Path] = []
            changes: dict[str, str] = {}
            for name, then in table.items():
                file = self._finder.file(name)
                if file is None:
                    changes[name] = f"module {name} is gone"
                    continue
                files.append(file)
                if self._digests.file(file) != then.source:
                    changes[name] = self._reason(name, file, then)
            self._modules[digest] = _Modules(tuple(dict.fromkeys(files)), changes)
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
        return self._changed_functions(name, facts.functions)

    def _changed_functions(self, module: str, ran: Mapping[str, str]) -> str:
        """The functions of a module, with their digests, that are others now; empty if none are."""
        file = self._finder.file(module) if ran else None
        blocks = None if file is None else self._digests.blocks(file)
        now = {} if blocks is None else blocks.functions
        changed = [name for name, digest in ran.items() if now.get(name) != digest]
        return f"{self._shown(module)}: {listed(changed, 3)} changed" if changed else ""

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
        for question, then in facts.get("searched", {}).items():
            if self._searches.digest(question) != then:
                yield f"what shows how {question.rpartition(SEPARATOR)[2]} is built changed"
        if manifest.installed and (changes := self._changed_installation(manifest.installed)):
            yield changes

    def _changed_installation(self, then: str) -> str:
        """Packages installed or removed since; none where nothing can be recorded, which needs other things."""
        if self._installed is None:
            now = Installed.on(self._path, self._own_path, self._python)
            self._installed = now, now.digest()
        now, digest = self._installed
        if then == digest or "torch" not in now.distributions:
            return ""
        row = self._machine.read_index(_INDEX).get(then)
        changes = [] if row is None else list(now.differences(Installed(row[0], row[1], tuple(row[2]))))
        return listed(changes, 3) or "what is installed has changed"

    def _changed_files(self, facts: Mapping[str, str | None]) -> Iterator[str]:
        for name, then in facts.items():
            if (now := self._file(name, then)) != then:
                yield f"{shown_name(name)} {'appeared' if then is None else 'is gone' if now is None else 'changed'}"

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
                import importlib.metadata

                installed = next(iter(importlib.metadata.distributions(name=name, path=list(path))), None)
                now = then if installed is None else installed.version or then
            # The CPU and the CUDA build of torch differ in the local part only.
            self._versions[name, then] = "" if now.partition("+")[0] == then.partition("+")[0] else now
        return self._versions[name, then]


def _changed_variables(facts: Mapping[str, str | None]) -> Iterator[str]:
    for name, then in facts.items():
        if changed := what_happened(name, then):
            yield "the environment changed" if name == ALL else f"${name} {changed}"


@dataclass(frozen=True, slots=True)
class Installed:
    """Python's version, each distribution's, and what the project hides of both, where the models run.

    A recording may depend on any of it without importing it: on an entry point, on a version that was asked for, on a
    package that a library looks for. All of it together is one digest, cheap to make from the names of folders.
    """

    python: str
    """Its version."""
    distributions: Mapping[str, str] = field(default_factory=dict)
    """Their versions by name."""
    hidden: tuple[str, ...] = ()
    """Modules of Python and of distributions for which the project's folders have one of the same name."""

    @staticmethod
    def on(path: Sequence[str], own: Sequence[str] | None = None, python: str = "") -> Installed:
        """The installation for a Python that looks on `path` and then on its `own`; this one, if that is None."""
        found: dict[str, str] = {}
        modules: set[str] = {*sys.stdlib_module_names}
        project: set[str] = set()
        for folder in dict.fromkeys([*path, *(sys.path if own is None else own)]):
            is_own = not is_installed(folder) and not is_stdlib(folder + os.sep)
            for name in _names(folder or os.curdir):
                stem, suffix = os.path.splitext(name)
                if suffix in _METADATA:
                    distribution, _, version = stem.partition("-")
                    more = f" ({_metadata(os.path.join(folder, name))})" if is_own else ""
                    found.setdefault(distribution.lower(), version + more)
                elif is_own and folder in path and suffix in ("", ".py"):
                    project.add(stem)
                elif not is_own:
                    modules.add(stem.partition(".")[0])
        version = python or platform.python_version()
        return Installed(version, dict(sorted(found.items())), tuple(sorted(project & modules)))

    def digest(self) -> str:
        return text_digest(json.dumps([self.python, dict(self.distributions), self.hidden]))

    def differences(self, then: Installed) -> Iterator[str]:
        if self.python != then.python:
            yield f"Python {then.python} became {self.python}"
        for name in sorted({*self.distributions, *then.distributions}):
            before, now = then.distributions.get(name), self.distributions.get(name)
            if before is None:
                yield f"{name} {now} was installed"
            elif now is None:
                yield f"{name} {before} was removed"
            elif before != now:
                yield f"{name} {before} became {now}"
        for name in sorted({*self.hidden} ^ {*then.hidden}):
            yield f"the project's {name} {'hides' if name in self.hidden else 'no longer hides'} an installed one"


def _metadata(folder: str) -> str:
    """The digest of what a distribution of the project itself says of itself, which changes without its version."""
    texts = []
    for name in _SAID:
        with suppress(OSError), open(os.path.join(folder, name), "rb") as file:
            texts.append(f"{name} {file_digest(file)}")
    return text_digest("\n".join(texts))[:8]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
