"""`torchrecorder draw`: one model into a file, through the same cache as the documentation tools."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from torchrecorder.cli.shared import FAILED, Commands, add_command, add_setting, cache_remarks
from torchrecorder.errors import OptionError
from torchrecorder.pipeline import Pipeline, Progress
from torchrecorder.request import OPTIONS, DiagramRequest, Settings, one_depth, read_request
from torchrecorder.trace.allowed import EVERYTHING

_PAGE_OPTIONS = [option.name for option in OPTIONS if option.stage == "figure"]


def add_to(commands: Commands) -> None:
    draw = add_command(
        commands, "draw", run, help="draw one model", description="Draw one model into a file.", check=check
    )
    draw.add_argument("target", metavar="TARGET", help="its dotted name: pkg.Net, pkg.mod:Net, 'pkg.Net(width=64)'")
    draw.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="FILE.svg, .pdf, .png, .txt, .json or .dot; without it the module tree is printed",
    )
    draw.add_argument(
        "--path", action="append", default=[], metavar="FOLDER", help="import models from here; may be repeated"
    )
    draw.add_argument(
        "--cache", default="", metavar="FOLDER", help="where recordings are kept (default: .torchrecorder)"
    )
    add_setting(draw, "remote", "URL")
    add_setting(draw, "engine", "ENGINE")
    for option in OPTIONS:
        if option.name in _PAGE_OPTIONS:  # known only so that `check` can say what they are
            draw.add_argument(f"--{option.name}", nargs="?", const="", help=argparse.SUPPRESS)
        else:
            draw.add_argument(f"--{option.name}", metavar=option.name.upper(), help=option.help.replace("%", "%%"))


def check(arguments: argparse.Namespace) -> list[str]:
    problems = [
        f"--{name} is an option of pages, in a directive or a fence; this command makes no page"
        for name in _PAGE_OPTIONS
        if getattr(arguments, name) is not None
    ]
    try:
        request = _request(arguments)
    except OptionError as error:
        return [*problems, *error.problems]
    return [*problems, one_depth(request.depths)] if request.depths else problems


def run(arguments: argparse.Namespace) -> int:
    request = _request(arguments)
    settings = Settings.for_project(
        Path.cwd(),
        cache=arguments.cache,
        path=[".", *arguments.path],
        engine=arguments.engine,
        remote=arguments.remote,
        allow=[EVERYTHING],  # who types a target here can type any command
    )
    pipeline = Pipeline(settings, retries=True)
    outcome = pipeline.run([request], _show_progress)[request].loaded()
    for remark in cache_remarks(pipeline):
        print(f"torchrecorder: {remark}", file=sys.stderr)
    if outcome.error is not None:
        print(f"torchrecorder: error: {outcome.error}", file=sys.stderr)
        if details := outcome.error.details():
            print(details, file=sys.stderr)
    if outcome.diagram is not None:
        for note in outcome.diagram.notes:
            print(f"torchrecorder: note: {note}", file=sys.stderr)
        if arguments.output is None:
            print(outcome.diagram.text)
        else:
            try:
                outcome.diagram.save(arguments.output)
            except OSError as error:
                raise OptionError((f"cannot write {arguments.output}: {error.strerror or error}",)) from error
    return FAILED if outcome.error is not None else 0


def _request(arguments: argparse.Namespace) -> DiagramRequest:
    written = {option.name: getattr(arguments, option.name) for option in OPTIONS if option.name not in _PAGE_OPTIONS}
    return read_request(arguments.target, {name: text for name, text in written.items() if text is not None})


def _show_progress(progress: Progress) -> None:
    if sys.stderr.isatty():
        print(f"{progress.stage} {progress.target}".rstrip(), file=sys.stderr)
