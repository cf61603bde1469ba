"""What all commands share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from torchrecorder.pipeline import Pipeline
from torchrecorder.request import SITE_SETTINGS

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What a command adds its parser to."""

FAILED = 1
USAGE = 2


def add_command(
    commands: Commands,
    name: str,
    execute: Callable[[argparse.Namespace], int],
    *,
    help: str,  # noqa: A002 (argparse names it so)
    description: str,
    epilog: str = "",
    usage: str | None = None,
    check: Callable[[argparse.Namespace], list[str]] = lambda _: [],
) -> argparse.ArgumentParser:
    """The parser of a command; `check` gives every problem of its arguments that argparse does not see."""
    parser = commands.add_parser(
        name,
        help=help,
        description=description,
        epilog=epilog,
        usage=usage,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter if epilog else argparse.HelpFormatter,
    )
    parser.set_defaults(execute=execute, check=check)
    return parser


def add_setting(parser: argparse._ActionsContainer, name: str, metavar: str) -> None:
    setting = next(setting for setting in SITE_SETTINGS if setting.name == name)
    parser.add_argument(
        f"--{name}", default=setting.default, metavar=metavar, help=in_terminal(setting.help, setting.default)
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object to standard output, for programs")


def print_json(found: Mapping[str, object]) -> None:
    print(json.dumps(found, ensure_ascii=False, indent=2))


def in_terminal(text: str, default: object) -> str:
    """A sentence of the schema as a line of help, with the value that holds if none is given."""
    usual = {True: "yes", False: "no"}[default] if isinstance(default, bool) else default
    line = text[:1].lower() + text[1:].rstrip(".")
    line = line.replace("`", "'").replace("%", "%%")
    return line if usual in ("", ()) else f"{line} (default: {f'{usual:g}' if isinstance(usual, float) else usual})"


def cache_remarks(pipeline: Pipeline) -> list[str]:
    return [text for text in (pipeline.cache.problem, pipeline.cache.notice) if text]
