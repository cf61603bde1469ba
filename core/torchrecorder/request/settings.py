"""What holds for a whole build: where the cache lies, where models are imported from, which engine draws."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from torchrecorder.errors import OptionError

CACHE_FOLDER = ".torchrecorder"
MEMORY_BYTES = 16 << 30
"""Torch takes a few GiB of addresses without using them; 64 GiB asked for by mistake must not reach the machine."""

OnStale = Literal["warn", "error", "placeholder"]

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one build."""

    cache: Path
    path: tuple[str, ...] = ()
    """Folders to import models from, before those of the worker's own Python."""
    engine: str = "auto"
    """`auto`, `pure`, `dot`, or the path of a Graphviz program."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options for every diagram that does not set them itself, as text."""
    python: str = ""
    """The Python that models are recorded with; that of the build, if empty."""
    memory_bytes: int | None = MEMORY_BYTES
    """Address space that a recording may take; None for no limit."""
    committed: Path | None = None
    """A cache that is part of the project; it is read where `cache` has nothing, and never written by a build."""
    on_stale: OnStale = "warn"
    """What is done where a picture is out of date and cannot be made again."""
    remote: str = ""
    """A cache that a team shares: a URL that fsspec understands, or a folder; empty for none."""
    project: Path | None = None
    """The folder that files are named from in the cache; where the cache lies, if it is not given."""

    @property
    def root(self) -> Path:
        """The project's folder."""
        return Path(os.path.abspath(self.project or self.cache.parent))

    @staticmethod
    def for_project(
        root: Path,
        *,
        cache: str = "",
        path: Sequence[str] = (),
        engine: str = "auto",
        options: Mapping[str, str] | None = None,
        python: str = "",
        memory: str = "",
        committed: str = "",
        on_stale: OnStale = "warn",
        remote: str = "",
    ) -> Settings:
        """Settings with paths relative to the project's folder; this process's own import path comes behind `path`.

        Args:
            root: The project's folder.
            cache: Where recordings are kept on this machine.
            path: Folders to import models from.
            engine: `auto`, `pure`, `dot`, or the path of a Graphviz program.
            options: Options for every diagram that does not set them itself.
            python: The Python that models are recorded with.
            memory: Address space that a recording may take, as in `32G`; `0` for no limit.
            committed: A cache that is part of the project.
            on_stale: What is done where a picture is out of date and cannot be made again.
            remote: A cache that a team shares: a URL that fsspec understands, or a folder.

        Raises:
            OptionError: `memory` or `on_stale` cannot be read, or both.
        """
        if problems := [*_problems(on_stale, memory)]:
            raise OptionError(tuple(problems))
        folders = [os.path.abspath(root / entry) for entry in path]
        own = [os.path.abspath(entry or os.curdir) for entry in sys.path]
        return Settings(
            root / (cache or CACHE_FOLDER),
            tuple(dict.fromkeys([*folders, *own])),
            engine,
            options or {},
            python=_program(root, python),
            memory_bytes=read_memory(memory) if memory else MEMORY_BYTES,
            committed=root / committed if committed else None,
            on_stale=on_stale,
            remote=place(root, remote),
            project=root,
        )


def _problems(on_stale: Any, memory: str) -> Iterator[str]:
    if on_stale not in get_args(OnStale):
        yield f"on_stale: {on_stale!r} is none of {', '.join(get_args(OnStale))}"
    try:
        read_memory(memory or "0")
    except ValueError as error:
        yield str(error)


def read_memory(text: str) -> int | None:
    """The bytes that a text such as `16G` or `800M` means; None, for no limit, if it is 0.

    Raises:
        ValueError: It means nothing.
    """
    found = _MEMORY.fullmatch(text.strip().upper())
    if found is None:
        raise ValueError(f"memory: {text!r} is no amount: write 16G, 800M, or 0 for no limit")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2] or " ")) or None


def place(root: Path, url: str) -> str:
    """A URL as it is; a folder, relative to another one, as its whole path."""
    return os.path.abspath(root / url) if url and "://" not in url else url


def _program(root: Path, python: str) -> str:
    """A path is relative to the project; a bare name is looked for where programs are."""
    return os.path.abspath(root / os.path.expanduser(python)) if os.path.dirname(python) else python
