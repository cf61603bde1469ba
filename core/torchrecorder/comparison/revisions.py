"""The recordings and Graphs that are committed to a git repository, at one of its revisions or as they are now."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from torchrecorder.cache.store import divided, entry_of, object_name, unpacked
from torchrecorder.comparison.compared import graph_from
from torchrecorder.errors import CannotCompare, FormatError
from torchrecorder.graph import Graph
from torchrecorder.request import is_pattern
from torchrecorder.trace.manifest import Manifest

_RECORDING = re.compile(r"(?P<cache>.*?)(?:^|/)rec/[0-9a-f]{2}/(?P<key>[0-9a-f]{64})(?:\.json)?")


@dataclass(frozen=True, slots=True)
class Committed:
    file: str
    """Where it lies, from the top of the repository."""
    cache: str
    key: str
    target: str
    digest: str


class Revision:
    """A state of a repository: a revision, or the files as they are now."""

    def __init__(self, folder: Path, name: str = "") -> None:
        """Look in any folder of the checkout for what git calls the revision; empty for the files as they are now.

        Raises:
            CannotCompare: git is not installed, the folder is in no repository, or the revision does not exist.
        """
        self._folder, self.name = folder, name
        self._commit = ""
        if name:
            asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
            self._commit = self._git(*asked, check=False).decode().strip()
            if not self._commit:
                advice = f"`git fetch origin {name}` may bring it here, and `git log --oneline` lists those that are"
                advice += " here; the names of models stand before --git"
                raise CannotCompare(f"git does not know the revision {name!r}", advice)

    def __str__(self) -> str:
        return f"the revision {self.name}" if self.name else "this checkout"

    @cached_property
    def top(self) -> Path:
        return Path(self._git("rev-parse", "--show-toplevel").decode().removesuffix("\n"))

    def recordings(self) -> list[Committed]:
        """The recordings of all caches that are committed; without any, `CannotCompare` is raised."""
        places = [place for file in self._files() if (place := _RECORDING.fullmatch(file))]
        found = []
        for place, data in zip(places, self._contents([it[0] for it in places]), strict=True):
            manifest = Manifest.from_json(entry_of(data))
            target = manifest and manifest.request.get("target")
            if manifest and manifest.graph and isinstance(target, str) and not is_pattern(target):
                found.append(Committed(place[0], place["cache"], place["key"], target, manifest.graph))
        if not found:
            advice = "`torchrecorder update DOCS` makes recordings in the cache that is committed with the project"
            raise CannotCompare(f"{self} does not have committed recordings", advice)
        return found

    def graph(self, file: str) -> Graph:
        """The Graph in a file, named from the top of the repository."""
        (data,) = self._contents([file])
        if data is None:
            raise CannotCompare(f"{file} is not in {self}", "`git log -- FILE` lists the revisions that changed it")
        return graph_from(data, f"{self.name}:{file}" if self.name else file)

    def recorded(self, one: Committed) -> Graph:
        """The Graph of a recording: behind it, or as caches of earlier versions have it, a file of its own."""
        (data,) = self._contents([one.file])
        _, graph = divided(data or b"")
        if not graph:
            return self.graph(f"{one.cache}/{object_name(one.digest)}".lstrip("/"))
        try:
            return graph_from(unpacked(graph) or b"", f"the Graph of {one.target}")
        except FormatError as error:
            raise CannotCompare(f"{one.file}: {error}", "`torchrecorder update DOCS` records it again") from error

    def _files(self) -> list[str]:
        if self._commit:
            listed = self._git("ls-tree", "-r", "-z", "--name-only", "--full-tree", self._commit)
        else:  # the cache of this machine is hidden from git
            listed = self._git("-C", str(self.top), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return sorted({name.decode("utf-8", "surrogateescape") for name in listed.split(b"\0") if name})

    def _contents(self, files: Sequence[str]) -> list[bytes | None]:
        """The bytes of each file; None where there is none."""
        if not self._commit:
            return [(self.top / file).read_bytes() if (self.top / file).is_file() else None for file in files]
        asked = "".join(f"{self._commit}:{file}\n" for file in files).encode("utf-8", "surrogateescape")
        answer = self._git("cat-file", "--batch", given=asked)
        found: list[bytes | None] = []
        at = 0
        for _ in files:
            end = answer.index(b"\n", at)
            head = answer[at:end].split(b" ")
            at = end + 1
            if head[-1] == b"missing":
                found.append(None)
                continue
            size = int(head[-1])
            found.append(answer[at : at + size])
            at += size + 1
        return found

    def _git(self, *command: str, given: bytes = b"", check: bool = True) -> bytes:
        try:
            done = subprocess.run(["git", *command], cwd=self._folder, input=given, capture_output=True)
        except FileNotFoundError as error:
            advice = "install it, or compare two files: torchrecorder diff OLD.json NEW.json"
            raise CannotCompare("git is not installed, and revisions are read with it", advice) from error
        if b"not a git repository" in done.stderr:
            advice = "run it in a checkout, or compare two files: torchrecorder diff OLD.json NEW.json"
            raise CannotCompare(f"{self._folder.absolute()} is not in a git repository", advice)
        if done.returncode and check:
            reason = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
            raise CannotCompare(f"git {command[0]} failed: {reason}", "`git status` says more of the repository")
        return b"" if done.returncode else done.stdout


def paired(olds: Sequence[Committed], news: Sequence[Committed]) -> Iterator[tuple[Committed | None, Committed | None]]:
    """The recordings of two revisions that are of one request, or else of one target; None where there is none."""
    left = {(one.cache, one.key): one for one in news}
    rest: list[Committed] = []
    for one in olds:
        other = left.pop((one.cache, one.key), None)
        if other is None:
            rest.append(one)
        else:
            yield one, other
    for one in rest:  # what its options say has changed
        other = next((it for it in left.values() if (it.cache, it.target) == (one.cache, one.target)), None)
        if other is not None:
            del left[other.cache, other.key]
        yield one, other
    yield from ((None, other) for other in left.values())
