"""The command `torchrecorder`; each of its commands has a file here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches

from torchrecorder import __version__
from torchrecorder.cli import check, doctor, draw, gc, update
from torchrecorder.cli.shared import FAILED, USAGE, Commands
from torchrecorder.errors import OptionError, TorchRecorderError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status: 0 done, 1 something failed or is out of date, 2 the call was wrong."""
    parser, commands = _parser()
    arguments, unknown = parser.parse_known_args(argv)
    execute: Callable[[argparse.Namespace], int] = arguments.execute  # `--run` is an option of `draw`
    try:
        if unknown:
            raise OptionError(tuple(_unknown(unknown, commands.choices[arguments.command])))
        return execute(arguments)
    except TorchRecorderError as error:
        print(f"torchrecorder: error: {error}", file=sys.stderr)
        return USAGE if isinstance(error, ValueError) else FAILED
    except KeyboardInterrupt:
        print("torchrecorder: interrupted", file=sys.stderr)
        return 130


def _unknown(words: Sequence[str], command: argparse.ArgumentParser) -> Iterator[str]:
    """What is wrong with words that no command takes; a value behind an unknown flag is not told of by itself."""
    known = [flag for action in command._actions for flag in action.option_strings]
    flags = [word.partition("=")[0] for word in words if word.startswith("-")]
    for flag in flags:
        near = get_close_matches(flag, known, 1)
        advice = f"did you mean {near[0]}?" if near else f"`{command.prog} --help` lists what there is"
        yield f"unknown option {flag}, {advice}"
    if not flags:
        yield f"{command.prog} does not take {' '.join(words)!r}"


def _parser() -> tuple[argparse.ArgumentParser, Commands]:
    parser = argparse.ArgumentParser(prog="torchrecorder", description="Architecture diagrams of PyTorch models.")
    parser.add_argument("--version", action="version", version=f"torchrecorder {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (draw, update, check, gc, doctor):
        command.add_to(commands)
    return parser, commands
