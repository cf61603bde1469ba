"""`torchrecorder gc`: remove the files of a cache that nothing refers to any more."""

from __future__ import annotations

import argparse
from pathlib import Path

from torchrecorder.cache.store import FOLDERS, sweep
from torchrecorder.cli.shared import Commands, add_command
from torchrecorder.errors import OptionError


def add_to(commands: Commands) -> None:
    parser = add_command(
        commands,
        "gc",
        run,
        help="remove what a cache no longer needs",
        description="Remove damaged and unused files of a cache.",
    )
    parser.add_argument("cache", metavar="FOLDER", type=Path, help="the cache")
    parser.add_argument("--days", type=float, help="also remove entries that were written longer ago")


def run(arguments: argparse.Namespace) -> int:
    if not any((arguments.cache / folder).is_dir() for folder in FOLDERS.values()):
        raise OptionError((f"{arguments.cache} is not a cache of torchrecorder: it has no folder `rec`",))
    swept = sweep(arguments.cache, days=arguments.days)
    young = f"; left {swept.young} that were written within the hour" if swept.young else ""
    print(f"removed {swept.files} files, {swept.bytes / 1e6:.1f} MB; kept {swept.kept}{young}")
    return 0
