"""The command `torchrecorder`: draws one model into a file, through the same cache as the documentation tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from torchrecorder import __version__
from torchrecorder.diagram import OPTIONS, Diagram, Pipeline, Progress, Settings, read_request
from torchrecorder.diagram.options import one_depth
from torchrecorder.errors import OptionError, TorchRecorderError

_FAILED = 1
_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status: 0 done, 1 the diagram failed, 2 the call was wrong."""
    arguments = _parser().parse_args(argv)
    try:
        return _draw(arguments)
    except TorchRecorderError as error:
        print(f"torchrecorder: error: {error}", file=sys.stderr)
        return _USAGE if isinstance(error, ValueError) else _FAILED
    except KeyboardInterrupt:
        print("torchrecorder: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torchrecorder", description="Architecture diagrams of PyTorch models.")
    parser.add_argument("--version", action="version", version=f"torchrecorder {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    draw = commands.add_parser(
        "draw", help="draw one model", description="Draw one model into a file.", allow_abbrev=False
    )
    draw.add_argument(
        "target",
        metavar="TARGET",
        help="its dotted name: pkg.Net, pkg.mod:Net, 'pkg.Net(width=64)'",
    )
    draw.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="FILE.svg, .pdf, .png, .txt, .json or .dot; without it the module tree is printed",
    )
    draw.add_argument(
        "--path",
        action="append",
        default=[],
        metavar="FOLDER",
        help="import models from here; may be repeated",
    )
    draw.add_argument(
        "--cache",
        default="",
        metavar="FOLDER",
        help="where recordings are kept (default: .torchrecorder)",
    )
    draw.add_argument("--engine", default="auto", help="auto, pure, dot, or the path of a Graphviz program")
    for option in OPTIONS:
        if option.stage != "figure":
            draw.add_argument(f"--{option.name}", metavar=option.name.upper(), help=option.help.replace("%", "%%"))
    return parser


def _draw(arguments: argparse.Namespace) -> int:
    given = {option.name: getattr(arguments, option.name) for option in OPTIONS if option.stage != "figure"}
    request = read_request(arguments.target, {name: text for name, text in given.items() if text is not None})
    if request.depths:
        raise OptionError((one_depth(request.depths),))
    path = [".", *arguments.path]
    settings = Settings.for_project(Path.cwd(), cache=arguments.cache, path=path, engine=arguments.engine)
    outcome = Pipeline(settings).run([request], _show_progress)[request]
    if outcome.error is not None:
        print(f"torchrecorder: error: {outcome.error}", file=sys.stderr)
        if details := outcome.error.details():
            print(details, file=sys.stderr)
    if outcome.diagram is not None:
        _write(outcome.diagram, arguments.output)
    return _FAILED if outcome.error is not None else 0


def _write(diagram: Diagram, output: str | None) -> None:
    for note in diagram.notes:
        print(f"torchrecorder: note: {note}", file=sys.stderr)
    if output is None:
        print(diagram.text)
        return
    try:
        diagram.save(output)
    except OSError as error:
        raise OptionError((f"cannot write {output}: {error.strerror or error}",)) from error


def _show_progress(progress: Progress) -> None:
    if sys.stderr.isatty():
        print(f"{progress.stage} {progress.target}".rstrip(), file=sys.stderr)
