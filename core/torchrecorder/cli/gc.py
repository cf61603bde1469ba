"""`torchrecorder gc`: remove from a cache what nothing leads to any more."""

from __future__ import annotations

import argparse
from pathlib import Path

from torchrecorder.cache.sweep import sweep
from torchrecorder.cli.shared import USAGE, Commands


def add_to(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "gc",
        help="remove what a cache no longer needs",
        description="Remove damaged and unused files of a cache.",
        allow_abbrev=False,
    )
    parser.add_argument("cache", metavar="FOLDER", type=Path, help="the cache")
    parser.add_argument("--days", type=float, help="also remove entries that were written longer ago")
    parser.set_defaults(execute=run)


def run(arguments: argparse.Namespace) -> int:
    """Sweep, and give the exit status."""
    if not (arguments.cache / "obj").is_dir():
        print(f"torchrecorder: {arguments.cache} is not a cache")
        return USAGE
    swept = sweep(arguments.cache, days=arguments.days)
    young = f"; left {swept.young} that were written within the hour" if swept.young else ""
    print(f"removed {swept.files} files, {swept.bytes / 1e6:.1f} MB; kept {swept.kept}{young}")
    return 0
