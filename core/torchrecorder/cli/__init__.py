"""The command `torchrecorder`; each of its commands has a file here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from torchrecorder import __version__
from torchrecorder.cli import check, doctor, draw, gc, update
from torchrecorder.cli.shared import FAILED, USAGE
from torchrecorder.errors import TorchRecorderError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status: 0 done, 1 something failed or is out of date, 2 the call was wrong."""
    arguments = _parser().parse_args(argv)
    execute: Callable[[argparse.Namespace], int] = arguments.execute  # `--run` is an option of `draw`
    try:
        return execute(arguments)
    except TorchRecorderError as error:
        print(f"torchrecorder: error: {error}", file=sys.stderr)
        return USAGE if isinstance(error, ValueError) else FAILED
    except KeyboardInterrupt:
        print("torchrecorder: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torchrecorder", description="Architecture diagrams of PyTorch models.")
    parser.add_argument("--version", action="version", version=f"torchrecorder {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (draw, update, check, gc, doctor):
        command.add_to(commands)
    return parser
