"""What a run was seen to depend on, on this machine, and the manifest that is made of it for every machine."""

from __future__ import annotations

import errno
import json
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from torchrecorder.cache.index import Stamp, is_younger, stamp_of
from torchrecorder.errors import chain
from torchrecorder.request import RecordingRequest
from torchrecorder.trace.digests import FileDigests
from torchrecorder.trace.environment import OF_THE_LANGUAGE, OURS, SWITCHES, Asker, is_of_a_machine, value_digest
from torchrecorder.trace.files import kind_of, link_of, measure_of
from torchrecorder.trace.finder import FileNames, ModuleFinder, is_elsewhere, shown_name
from torchrecorder.trace.manifest import Manifest, ModuleFacts, Table

_SYSTEM = ("/etc/", "/usr/", "/run/")
_OF_SYSTEM = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOEXEC)
_SAYS_SYSTEM = (*map(os.strerror, _OF_SYSTEM), "os error", "cannot open", "could not open", "unable to open")
"""What compiled code says of a file that it did not get, in an exception of a class of its own."""


@dataclass(frozen=True, slots=True)
class TraceResult:
    """Dependencies of a run, as they were seen; some are as in a `Manifest`. Paths are absolute."""

    modules: Mapping[str, str]
    """The file of each module of the user's that was imported, by name."""
    sources: Mapping[str, Stamp | None]
    """The stamp that each of the user's source files had when it was imported."""
    executed: Mapping[str, tuple[list[str], list[str]]] | None
    """By file, the functions that ran while modules were imported, and after that; None if that is not known."""
    read: Mapping[str, Stamp | None]
    """The stamp of each file that was read; None where there was nothing to read."""
    looked_for: Mapping[str, str | None]
    """`file`, `folder`, or None where nothing was, for each path that was only asked for."""
    listed: Mapping[str, Stamp | None]
    """The stamp of each folder before it was listed."""
    environment: Mapping[str, Asker]
    """Variables, each with who asked for it; `*` for all at once."""
    missing: tuple[str, ...]
    untracked: tuple[str, ...]
    distributions: Mapping[str, str]
    """The versions of torch and of the installed distributions that the model's layers, or names in the project's own
    modules, come from."""
    not_found: tuple[str, ...] = ()
    """Modules that no code could import, that of installed packages included."""
    has_connected: bool = False
    """Whether any code used the network."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """Size and date of each file of which the user's code asked for them."""
    links: Mapping[str, str | None] = field(default_factory=dict)
    """The digest of where each link leads that was read as such; None where there is not a link."""
    in_passing: tuple[str, ...] = ()
    """Those of `looked_for` and `listed` that no call of the user's code wanted."""
    begun_ns: int = field(default=0, compare=False)
    """When the run began."""
    searched: Mapping[str, str] = field(default_factory=dict)
    """Digest of what each search for examples came to, by its question."""
    changed: tuple[str, ...] = ()
    """What it saw to be another the second time, though it had not changed it."""
    commits: Mapping[str, str] = field(default_factory=dict)
    """As in a `Manifest`."""

    def stamps(self) -> dict[str, Stamp | None]:
        return {**self.sources, **self.read}

    def to_json(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> TraceResult:
        tuples = {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
        executed = data["executed"] and {file: (first, later) for file, (first, later) in data["executed"].items()}
        return TraceResult(**{**data, **tuples, "executed": executed})


class ChangedWhileRecorded(Exception):
    """Something that a run asked for changed before it ended; its argument is the name of that."""


class ManifestBuilder:
    """Makes the manifest of a recording; `finder` and `digests` must look at files after it."""

    def __init__(
        self, request: RecordingRequest, result: TraceResult, project: Path, finder: ModuleFinder, digests: FileDigests
    ) -> None:
        self._request = request
        self._finder = finder
        self._result = result
        self._digests = digests
        self._names = FileNames(project, finder)
        self._modules: dict[str, str] = {}  # those that are found again by their names, with their files
        for module, file in result.modules.items():
            found = finder.file(module)
            if found is not None and os.path.exists(file) and os.path.samefile(found, file):
                self._modules[module] = file
        self._tops = sorted({module.partition(".")[0] for module in self._modules})
        self._passing = {path for path in result.in_passing if is_elsewhere(self._name(path))}
        self._depends: list[Path] = []  # the files and folders that the option of that name names
        for path in (project / text for text in request.depends if not text.startswith("$")):
            self._depends += [path, *(sorted(path.rglob("*")) if path.is_dir() else ())]

    def manifest(
        self, graph: str, put_object: Callable[[bytes], str], salt: Callable[[], str], installed: str
    ) -> Manifest:
        """The manifest.

        `put_object` keeps the table of modules, `salt` goes into the digests of variables, and `installed` is the
        digest of what is installed.

        Raises:
            ChangedWhileRecorded: It may show neither of two states.
        """
        result = self._result
        table = {module: self._facts(module) for module in self._modules}
        rows: dict[str, list[Any]] = {}
        for name, facts in sorted(table.items()):
            row: list[Any] = [facts.source, facts.skeleton, dict(sorted(facts.functions.items()))]
            while len(row) > 1 and not row[-1]:
                row.pop()
            rows[name] = row
        lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]  # git shows which changed
        data = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
        is_small = len(data) < _SMALL
        everywhere, here = self._variables(salt)
        (files, other_files), (folders, other_folders) = self._files(), self._folders()
        machine: dict[str, _Digests] = {"files": other_files, "folders": other_folders, "environment": here}
        for kind, answers in (("measures", result.measures), ("links", result.links)):
            machine[kind] = {self._name(path): answer for path, answer in answers.items()}
        machine["searched"] = {**result.searched}
        manifest = Manifest(
            graph,
            {key: value for key, value in self._request.to_json().items() if value},
            "" if is_small else put_object(data),
            rows if is_small else {},
            self._ran(table),
            files,
            folders,
            everywhere,
            tuple(module for module in result.missing if not self._finder.exists(module)),
            result.distributions,
            result.untracked,
            installed,
            {kind: facts for kind, facts in machine.items() if facts},
            result.commits,
        )
        for name in self._differences():  # when all has been looked at: what comes between is seen, too
            raise ChangedWhileRecorded(name)
        return manifest

    def _variables(self, salt: Callable[[], str]) -> tuple[_Digests, _Digests]:
        """The digests of the variables that were asked for: those that count everywhere, and those of this machine."""
        given: dict[str, Asker] = {text[1:]: "user" for text in self._request.depends if text.startswith("$")}
        askers: dict[str, Asker] = {name: who for name, who in self._result.environment.items() if name not in OURS}
        askers |= {OF_THE_LANGUAGE: "user", SWITCHES: "python", **given}
        everywhere = sorted(name for name, asker in askers.items() if name in given or not is_of_a_machine(name, asker))
        here = sorted(askers.keys() - {*everywhere})
        digests = [{name: value_digest(name, salt) for name in names} for names in (everywhere, here)]
        for found, name in zip(digests, (OF_THE_LANGUAGE, SWITCHES), strict=True):
            if name not in given and found[name] is None:  # as in every manifest that does not name it
                del found[name]
        return digests[0], digests[1]

    def _facts(self, module: str) -> ModuleFacts:
        result, file = self._result, self._modules[module]
        source = self._digests.file(Path(file)) or ""
        if result.executed is None or file in result.read or not file.endswith(".py"):
            return ModuleFacts(source)  # its text may have been used as data
        blocks = self._digests.blocks(Path(file))
        first, later = result.executed.get(file, ((), ()))
        if blocks is None or (ran := blocks.ran(first)) is None or blocks.ran(later) is None:
            return ModuleFacts(source)  # a function that ran is named in a way that its text does not show
        return ModuleFacts(source, blocks.skeleton, ran)

    def _ran(self, table: Table) -> dict[str, dict[str, str]]:
        if self._result.executed is None:
            return {module: {} for module in self._modules}
        ran: dict[str, dict[str, str]] = {}
        for module, file in self._modules.items():
            _, later = self._result.executed.get(file, ((), ()))
            if later or file in self._result.read:
                blocks = self._digests.blocks(Path(file)) if table[module].skeleton else None
                ran[module] = (blocks and blocks.ran(later)) or {}
        return ran

    def _files(self) -> tuple[_Digests, _Digests]:
        """Digests of all files that count: those that every machine has, and those outside of the project.

        They were read, looked for or given, or are code that is not found again by a module's name.
        """
        result = self._result
        looked_for = {self._name(path): kind for path, kind in result.looked_for.items() if path not in self._passing}
        measured = (path for path in result.measures if not os.path.isdir(path))
        code = {*result.modules.values(), *result.sources, *(result.executed or {})} - {*self._modules.values()}
        read = {self._name(path): self._digests.file(Path(path)) for path in [*result.read, *measured, *code]}
        given = {self._names.name(path, ()): self._digests.file(path) for path in self._depends if not path.is_dir()}
        return _divided({**looked_for, **read, **given})

    def _folders(self) -> tuple[_Digests, _Digests]:
        paths = [*map(Path, self._result.listed), *(path for path in self._depends if path.is_dir())]
        wanted = [path for path in paths if str(path) not in self._passing]
        return _divided({self._names.name(path, self._tops): self._digests.folder(path) for path in wanted})

    def _differences(self) -> Iterator[str]:
        """Names, for a reader, of dependencies in the manifest that changed after the run had asked for them."""
        result = self._result
        for path in result.changed:
            yield shown_name(self._name(path))
        asked: list[tuple[Mapping[str, Any], Callable[[str], Any]]] = [
            ({**result.stamps(), **result.listed}, stamp_of),
            (result.looked_for, kind_of),
            (result.measures, lambda path: measure_of(path, result.measures[path])),
            (result.links, link_of),
        ]
        for answers, ask in asked:
            for path, then in answers.items():
                if path not in self._passing and ask(path) != then and not path.startswith(_SYSTEM):
                    yield shown_name(self._name(path))
        seen = {*result.sources, *result.modules.values()}
        for module in result.missing:
            place = None if str(self._finder.file(module)) in seen else self._finder.place(module)
            if place is not None and self._is_young(place):
                yield module
        yield from (shown_name(self._name(str(path))) for path in self._depends if self._is_young(path))

    def _is_young(self, path: str | Path) -> bool:
        return bool(begun_ns := self._result.begun_ns) and os.path.exists(path) and is_younger(path, begun_ns)

    def _name(self, path: str) -> str:
        return self._names.name(Path(path), self._tops)


_Digests = dict[str, str | None]


def _divided(found: Mapping[str, str | None]) -> tuple[_Digests, _Digests]:
    """Facts that every machine has, and those of what lies elsewhere on this one."""
    lasting = {name: found[name] for name in sorted(found) if not (is_elsewhere(name) and name.startswith(_SYSTEM))}
    elsewhere = {name: digest for name, digest in lasting.items() if is_elsewhere(name)}
    return {name: digest for name, digest in lasting.items() if name not in elsewhere}, elsewhere


_SMALL = 4096
"""Bytes of a table that would take no more space on a disk as a file of its own than one of its own does at least."""


def has_unseen_cause(error: BaseException, trace: TraceResult) -> bool:
    """Whether an exception, or one that led to it, comes of a file, program or library that the trace did not see."""
    asked = {*trace.read, *trace.looked_for, *trace.listed, *trace.measures, *trace.links}
    return any(_is_unseen(raised, asked) for raised in chain(error))


def _is_unseen(error: BaseException, asked: set[str]) -> bool:
    if isinstance(error, OSError) and error.filename is not None:
        return not isinstance(error.filename, str | bytes) or os.path.abspath(os.fsdecode(error.filename)) not in asked
    said = str(error).lower()
    if isinstance(error, OSError) or any(text.lower() in said for text in _SAYS_SYSTEM):
        return not any(os.path.basename(path).lower() in said for path in asked if os.path.basename(path))
    # Code of such a file is run from another one, as that of Cython is, so that no trace sees what it does.
    ran = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(file.endswith((".pyx", ".pxd", ".pxi")) for file in ran)
