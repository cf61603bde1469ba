"""What all commands share."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from torchrecorder.errors import OptionError, TorchRecorderError
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import OPTIONS, SETTINGS, Option, Settings
from torchrecorder.request.options import read_yes_no
from torchrecorder.request.settings import CACHE_FOLDER

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What a command adds its parser to."""

FAILED, USAGE = 1, 2
"""Exit statuses, as those of argparse: something failed or is out of date, or the call was wrong."""
STDOUT = "-"


def add_command(
    commands: Commands,
    name: str,
    execute: Callable[[argparse.Namespace], int],
    *,
    check: Callable[[argparse.Namespace], list[str]] = lambda _: [],
    epilog: str = "",
    **described: Any,
) -> argparse.ArgumentParser:
    """The parser of a command; `check` gives every problem of its arguments that argparse does not see."""
    kind = argparse.RawDescriptionHelpFormatter if epilog else argparse.HelpFormatter
    parser = commands.add_parser(name, epilog=epilog, allow_abbrev=False, formatter_class=kind, **described)
    parser.set_defaults(execute=execute, check=check)
    return parser


def add_setting(parser: argparse._ActionsContainer, name: str, metavar: str) -> None:
    setting = next(setting for setting in SETTINGS if setting.name == name)
    text = in_terminal(setting.help, setting.default)
    parser.add_argument(f"--{name}", default=setting.default, metavar=metavar, help=text)


def add_places(parser: argparse.ArgumentParser, *settings: tuple[str, str]) -> None:
    """Add flags for places of models and recordings, and for further settings, each with a word for its value."""
    where = parser.add_argument_group("where models come from and recordings are kept")
    help_ = "import models from here; may be repeated"
    where.add_argument("--path", action="append", default=[], metavar="FOLDER", help=help_)
    help_ = f"keep recordings here (default: {CACHE_FOLDER})"
    where.add_argument("--cache", default="", metavar="FOLDER", help=help_)
    for name, metavar in settings:
        add_setting(where, name, metavar)


def settings_here(arguments: argparse.Namespace) -> Settings:
    """The settings of a command that draws what is named in it."""
    from torchrecorder.trace.allowed import EVERYTHING  # loads what looks into packages

    where = {"machine_cache": arguments.cache, "path": [".", *arguments.path], "engine": arguments.engine}
    where["remote"] = getattr(arguments, "remote", "")
    return Settings.for_project(Path.cwd(), **where, allow=[EVERYTHING])  # who types a target can type any command


def with_yes(words: Sequence[str]) -> Iterator[str]:
    """Typed words, with `yes` for each flag that stands alone: `--grey pkg.Net` has a target, not a value."""
    alone = {f"--{option.name}": option.read for option in OPTIONS if isinstance(option.default, bool)}
    for word, following in pairwise([*words, ""]):
        try:
            alone.get(word, read_yes_no)(following)
        except ValueError:
            yield f"{word}=yes" if word in alone else word
        else:
            yield word


def written(arguments: argparse.Namespace, options: Sequence[Option]) -> dict[str, str]:
    """The options that were given, as text by name."""
    offered = ((option.name, getattr(arguments, option.name)) for option in options)
    return {name: text for name, text in offered if text is not None}


def write(data: bytes, output: str, name: str = "") -> None:
    """Write to a file, to one of that name in a folder, or to standard output.

    Raises:
        OptionError: The file cannot be written.
    """
    if output == STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    file = Path(output, name)
    try:
        if name:
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise OptionError((f"cannot write {file}: {error.strerror or error}",)) from error


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object to standard output, for programs")


def print_json(answer: Mapping[str, object]) -> None:
    print(json.dumps(answer, ensure_ascii=False, indent=2))


def report(
    arguments: argparse.Namespace,
    answer: Mapping[str, object],
    lines: Iterable[str] = (),
    *,
    remarks: Iterable[str] = (),
    errors: Mapping[str, str] = MappingProxyType({}),
    is_good: bool,
) -> int:
    """Print an answer for programs, or remarks, errors by where they are, and lines; gives the exit status."""
    if arguments.json:
        print_json(answer)
        return 0 if is_good else FAILED
    said = (f"error: {where}: {error}" for where, error in errors.items())
    for text in (*remarks, *said):
        print(f"torchrecorder: {text}", file=sys.stderr)
    for line in lines:
        print(line)
    return 0 if is_good else FAILED


def add_options(parser: argparse.ArgumentParser, groups: Mapping[str, str], options: Sequence[Option]) -> None:
    """Add the flags of options in groups, whose titles are by stage."""
    for stage, title in groups.items():
        group = parser.add_argument_group(title)
        for option in (option for option in options if option.stage == stage):
            text = in_terminal(option.help, option.default)
            alone: dict[str, Any] = {"nargs": "?", "const": ""} if isinstance(option.default, bool) else {}
            group.add_argument(f"--{option.name}", metavar=option.written(), help=text, **alone)  # `--grey` means yes


def in_terminal(text: str, default: object) -> str:
    """A sentence of the schema as a line of help, with the value that holds if none is given."""
    usual = {True: "yes", False: "no"}[default] if isinstance(default, bool) else default
    line = text[:1].lower() + text[1:].rstrip(".")
    line = line.replace("`", "'").replace("%", "%%")
    return line if usual in ("", ()) else f"{line} (default: {f'{usual:g}' if isinstance(usual, float) else usual})"


def said(error: TorchRecorderError) -> str:
    """Text of an error in the words of the command line."""
    return str(error).replace("in the setting `path`", "with --path")


def cache_remarks(pipeline: Pipeline) -> list[str]:
    return [text for text in (pipeline.cache.problem, pipeline.cache.notice) if text]


def show_progress(stage: str, target: str, *_: object) -> None:
    if sys.stderr.isatty():
        print(f"{stage} {target}".rstrip(), file=sys.stderr)
