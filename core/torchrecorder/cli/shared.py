"""What all commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
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
    check: Callable[[argparse.Namespace], list[str]] = lambda _: [],
) -> argparse.ArgumentParser:
    """The parser of a command; `check` gives every problem of its arguments that argparse does not see."""
    parser = commands.add_parser(name, help=help, description=description, allow_abbrev=False)
    parser.set_defaults(execute=execute, check=check)
    return parser


def add_setting(parser: argparse.ArgumentParser, name: str, metavar: str) -> None:
    setting = next(setting for setting in SITE_SETTINGS if setting.name == name)
    parser.add_argument(f"--{name}", default=setting.default, metavar=metavar, help=setting.help)


def cache_remarks(pipeline: Pipeline) -> list[str]:
    return [text for text in (pipeline.cache.problem, pipeline.cache.notice) if text]
