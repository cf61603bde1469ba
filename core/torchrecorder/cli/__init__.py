"""The command `torchrecorder`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence

from torchrecorder import __version__
from torchrecorder.cli import diff, doctor, draw, gc, projects, stamp
from torchrecorder.cli.shared import FAILED, USAGE, print_json
from torchrecorder.errors import OptionError, TorchRecorderError, did_you_mean, near_miss


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status: 0 all is right, 1 something failed or is out of date, 2 wrong call."""
    parser = argparse.ArgumentParser(prog="torchrecorder", description="Architecture diagrams of PyTorch models.")
    parser.add_argument("--version", action="version", version=f"torchrecorder {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (
        draw.add_to,
        diff.add_to,
        projects.add_update,
        projects.add_check,
        gc.add_to,
        stamp.add_to,
        doctor.add_to,
    ):
        add(commands)
    arguments, unknown = parser.parse_known_args([*draw.with_yes(sys.argv[1:] if argv is None else argv)])
    execute: Callable[[argparse.Namespace], int] = arguments.execute  # `--run` is an option of `draw`
    try:
        problems = [*_unknown_words(unknown, commands.choices[arguments.command]), *arguments.check(arguments)]
        if problems:
            raise OptionError(tuple(problems))
        return execute(arguments)
    except TorchRecorderError as error:
        if getattr(arguments, "json", False):
            print_json({"error": str(error)})
        print(f"torchrecorder: error: {error}", file=sys.stderr)
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
