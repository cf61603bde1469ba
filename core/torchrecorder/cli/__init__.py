"""The command `torchrecorder`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from torchrecorder import __version__
from torchrecorder.cache.store import FOLDERS, sweep
from torchrecorder.cli.shared import FAILED, USAGE, Commands, add_command, print_json, said, with_yes
from torchrecorder.errors import OptionError, TorchRecorderError, did_you_mean, near_miss
from torchrecorder.request.settings import CACHE_FOLDER
from torchrecorder.trace.digests import STAMP, write_stamp


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status: 0 all is right, 1 something failed or is out of date, 2 wrong call."""
    parser = argparse.ArgumentParser(prog="torchrecorder", description="Architecture diagrams of PyTorch models.")
    parser.add_argument("--version", action="version", version=f"torchrecorder {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    words = [*with_yes(sys.argv[1:] if argv is None else argv)]
    for name in words[:1] if words and words[0] in _COMMANDS else _COMMANDS:  # a hook does not wait for the others
        _COMMANDS[name](commands)
    arguments, unknown = parser.parse_known_args(words)
    execute: Callable[[argparse.Namespace], int] = arguments.execute  # `--run` is an option of `draw`
    try:
        problems = [*_unknown_words(unknown, commands.choices[arguments.command]), *arguments.check(arguments)]
        if problems:
            raise OptionError(tuple(problems))
        return execute(arguments)
    except TorchRecorderError as error:
        if getattr(arguments, "json", False):
            print_json({"error": str(error)})
        print(f"torchrecorder: error: {said(error)}", file=sys.stderr)
        return USAGE if isinstance(error, OptionError) else FAILED
    except BrokenPipeError:  # what reads our output has seen enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        print("torchrecorder: interrupted", file=sys.stderr)
        return 130


def _unknown_words(words: Sequence[str], command: argparse.ArgumentParser) -> Iterator[str]:
    actions = {flag: action for action in command._actions for flag in action.option_strings}
    flags = [word.partition("=")[0] for word in words if word.startswith("-")]
    for flag in flags:
        advice = did_you_mean(flag, actions, f"`{command.prog} --help` lists what there is")
        if (near := near_miss(flag, actions)) and actions[near].help == argparse.SUPPRESS:
            advice += " That is an option of pages"
        yield f"unknown option {flag}, {advice}"
    if words and not flags:  # else they may be the value of an unknown flag
        yield f"{command.prog} does not take {' '.join(words)!r}"


def _add_gc(commands: Commands) -> None:
    parser = add_command(
        commands,
        "gc",
        _run_gc,
        help="remove what a cache no longer needs",
        description="Remove damaged and unused files of a cache.",
    )
    parser.add_argument("cache", metavar="FOLDER", type=Path, help="the cache")
    parser.add_argument("--days", type=float, help="also remove entries that were written longer ago")


def _run_gc(arguments: argparse.Namespace) -> int:
    if not any((arguments.cache / folder).is_dir() for folder in FOLDERS.values()):
        raise OptionError((f"{arguments.cache} is not a cache of torchrecorder: it has no folder `rec`",))
    swept = sweep(arguments.cache, days=arguments.days)
    young = f"; left {swept.young} that were written within the hour" if swept.young else ""
    print(f"removed {swept.files} files, {swept.bytes / 1e6:.1f} MB; kept {swept.kept}{young}")
    return 0


def _add_stamp(commands: Commands) -> None:
    parser = add_command(
        commands,
        "stamp",
        _run_stamp,
        help="before a build of Zensical: write the file that it watches",
        description="Write the file `stamp` of a cache anew if anything has changed that pages were drawn from.",
    )
    help_ = f"the cache of this machine (default: {CACHE_FOLDER})"
    parser.add_argument("cache", metavar="FOLDER", type=Path, nargs="?", default=Path(CACHE_FOLDER), help=help_)


def _run_stamp(arguments: argparse.Namespace) -> int:
    cache: Path = arguments.cache
    if not cache.is_dir() and not cache.parent.is_dir():
        raise OptionError((f"there is no folder {cache.parent} for the cache {cache.name}",))
    print(f"{cache / STAMP} {'is new: pages are drawn again' if write_stamp(cache) else 'is as it was'}")
    return 0


def _of(module: str, add: str = "add_to") -> Callable[[Commands], None]:
    def add_loaded(commands: Commands) -> None:
        getattr(import_module(f"torchrecorder.cli.{module}"), add)(commands)

    return add_loaded


_COMMANDS: dict[str, Callable[[Commands], None]] = {
    "draw": _of("draw"),
    "diff": _of("diff"),
    "update": _of("pictures", "add_update"),
    "check": _of("pictures", "add_check"),
    "gc": _add_gc,
    "stamp": _add_stamp,
    "doctor": _of("doctor"),
    "suggest": _of("suggest"),
}
"""What adds the parser of each command, which loads all that it runs."""
