"""`torchrecorder stamp`: say, in a file that Zensical watches, that pages have to be drawn again."""

from __future__ import annotations

import argparse
from pathlib import Path

from torchrecorder.cli.shared import Commands, add_command
from torchrecorder.errors import OptionError
from torchrecorder.request.settings import CACHE_FOLDER
from torchrecorder.trace.stamped import STAMP, write_stamp


def add_to(commands: Commands) -> None:
    parser = add_command(
        commands,
        "stamp",
        run,
        help="before a build of Zensical: write the file that it watches",
        description="Write the file `stamp` of a cache anew if anything has changed that pages were drawn from.",
    )
    help_ = f"the cache of this machine (default: {CACHE_FOLDER})"
    parser.add_argument("cache", metavar="FOLDER", type=Path, nargs="?", default=Path(CACHE_FOLDER), help=help_)


def run(arguments: argparse.Namespace) -> int:
    cache: Path = arguments.cache
    if not cache.is_dir() and not cache.parent.is_dir():
        raise OptionError((f"there is no folder {cache.parent} for the cache {cache.name}",))
    print(f"{cache / STAMP} {'is new: pages are drawn again' if write_stamp(cache) else 'is as it was'}")
    return 0
