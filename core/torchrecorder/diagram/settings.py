"""What holds for a whole build: where the cache lies, where models are imported from, which engine draws."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CACHE_FOLDER = ".torchrecorder"


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
    ) -> Settings:
        """Settings with paths relative to the project's folder; this process's own import path comes behind `path`."""
        folders = [os.path.abspath(root / entry) for entry in path]
        own = [os.path.abspath(entry or os.curdir) for entry in sys.path]
        return Settings(
            root / (cache or CACHE_FOLDER),
            tuple(dict.fromkeys([*folders, *own])),
            engine,
            options or {},
            root,
        )
