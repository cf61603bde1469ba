"""`torchrecorder draw`: one model into a file, through the same cache as the documentation tools."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from torchrecorder.cli.shared import FAILED, Commands, add_remote, remarks_of
from torchrecorder.errors import OptionError
from torchrecorder.page import Diagram
from torchrecorder.pipeline import Pipeline, Progress
from torchrecorder.request import OPTIONS, Settings, one_depth, read_request


def add_to(commands: Commands) -> None:
    """Add the command's parser."""
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
    add_remote(draw)
    draw.add_argument("--engine", default="auto", help="auto, pure, dot, or the path of a Graphviz program")
    for option in OPTIONS:
        if option.stage != "figure":
            draw.add_argument(f"--{option.name}", metavar=option.name.upper(), help=option.help.replace("%", "%%"))
    draw.set_defaults(execute=run)


def run(arguments: argparse.Namespace) -> int:
    """Draw, and give the exit status."""
    given = {option.name: getattr(arguments, option.name) for option in OPTIONS if option.stage != "figure"}
    request = read_request(arguments.target, {name: text for name, text in given.items() if text is not None})
    if request.depths:
        raise OptionError((one_depth(request.depths),))
    path = [".", *arguments.path]
    settings = Settings.for_project(
        Path.cwd(), cache=arguments.cache, path=path, engine=arguments.engine, remote=arguments.remote
    )
    pipeline = Pipeline(settings)
    outcome = pipeline.run([request], _show_progress)[request].loaded()
    for remark in remarks_of(pipeline):
        print(f"torchrecorder: {remark}", file=sys.stderr)
    if outcome.error is not None:
        print(f"torchrecorder: error: {outcome.error}", file=sys.stderr)
        if details := outcome.error.details():
            print(details, file=sys.stderr)
    if outcome.diagram is not None:
        _write(outcome.diagram, arguments.output)
    return FAILED if outcome.error is not None else 0


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
