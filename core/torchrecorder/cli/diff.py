"""`torchrecorder diff`: what changed from one model to another, or from one revision of a project to another."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchrecorder.cli.shared import Commands, add_command, add_setting, in_terminal
from torchrecorder.comparison import report
from torchrecorder.comparison.compared import PICTURES, Diff, read_graph
from torchrecorder.comparison.revisions import Committed, Revision, paired
from torchrecorder.errors import CannotCompare, OptionError
from torchrecorder.graph import Graph
from torchrecorder.page import file_type
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import OPTIONS, DiagramRequest, DrawingOptions, Settings, read_drawing, read_request
from torchrecorder.trace.allowed import EVERYTHING

_OPTIONS = [option for option in OPTIONS if option.stage != "figure" and option.name not in ("diff", "table")]
_GROUPS = {"recording": "how models are recorded", "drawing": "what is drawn, and how"}
_WORDS = ("txt", "md")
_EXAMPLES = """\
examples:
  torchrecorder diff pkg.Net pkg.WiderNet --shape 1,3,224,224 -o diff.svg
  torchrecorder diff --git main -o diff.md             # what this branch changes, for a pull request
"""
_STDOUT = "-"


def add_to(commands: Commands) -> None:
    parser = add_command(
        commands,
        "diff",
        run,
        help="say what changed from one model to another, or since a revision of git",
        description="Say what changed from one model to another: two targets, or two .json files of Graphs. With --git,"
        " compare the\ncommitted recordings of a revision with those of now, or of a second revision; that needs no"
        " torch.",
        epilog=_EXAMPLES,
        usage="%(prog)s [options] OLD NEW\n       %(prog)s [options] [MODEL ...] --git REV [REV2]",
        check=check,
    )
    help_ = "a target, pkg.Net, or a file, net.json; with --git those to look at (default: all recordings)"
    parser.add_argument("models", nargs="*", metavar="MODEL", help=help_)
    parser.add_argument("--git", nargs="+", default=[], metavar="REV", help="one revision of git, or two: main, HEAD~3")
    file = parser.add_argument_group("what is written")
    types = ", ".join(f".{name}" for name in PICTURES)
    help_ = f"FILE.md for a pull request, .txt, or a picture: {types}; - for standard output (default)"
    file.add_argument("-o", "--output", default=_STDOUT, metavar="FILE", help=help_)
    names = ",".join((*_WORDS, *PICTURES))
    file.add_argument("--format", metavar=f"{{{names}}}", help="what is written to standard output (default: txt)")
    for stage, title in _GROUPS.items():
        group = parser.add_argument_group(title)
        for option in (it for it in _OPTIONS if it.stage == stage):
            text = in_terminal(option.help, option.default)
            group.add_argument(f"--{option.name}", metavar=option.written(), help=text)
    where = parser.add_argument_group("where models come from and recordings are kept")
    help_ = "import models from here; may be repeated"
    where.add_argument("--path", action="append", default=[], metavar="FOLDER", help=help_)
    where.add_argument("--cache", default="", metavar="FOLDER", help="keep recordings here (default: .torchrecorder)")
    add_setting(where, "engine", "ENGINE")


def check(arguments: argparse.Namespace) -> list[str]:
    found: list[str] = []
    if more := " ".join(arguments.git[2:]):
        found.append(f"--git takes one revision or two, and {more} stands behind them; models stand before --git")
    if not arguments.git and len(arguments.models) != 2:
        found.append("name two models, the old and the new one, or a revision: torchrecorder diff --git main")
    for read in (_format, _drawing, *(lambda it, model=model: _request(model, it) for model in _targets(arguments))):
        try:
            read(arguments)
        except OptionError as error:
            found += error.problems
    return [*dict.fromkeys(found)]


def run(arguments: argparse.Namespace) -> int:
    if arguments.git:
        found = [*_between(arguments)]
        sentences = [it for it in found if isinstance(it, str)]
        diffs = [it for it in found if isinstance(it, Diff) and not it.is_empty]
    else:
        old, new = arguments.models
        names = (old, new) if old != new else ("", "")
        sentences, diffs = [], [_diff(_graphs(arguments), names, arguments)]
    _write(_written(diffs, sentences, _format(arguments)), arguments)
    return 0


def _diff(graphs: Sequence[Graph], names: tuple[str, str], arguments: argparse.Namespace) -> Diff:
    old, new = graphs
    return Diff(old, new, names, options=_drawing(arguments), engine=arguments.engine)


def _between(arguments: argparse.Namespace) -> Iterator[Diff | str]:
    """The diffs of what both revisions have, and a sentence for what only one of them has."""
    here, targets = Path.cwd(), {_request(model, arguments).recording.target for model in _targets(arguments)}
    old, new = Revision(here, arguments.git[0]), Revision(here, next(iter(arguments.git[1:]), ""))
    files = [model for model in arguments.models if _is_file(model)]
    for name in files:
        file = Path(os.path.relpath(os.path.realpath(name), os.path.realpath(old.top))).as_posix()
        yield _diff((old.graph(file), new.graph(file)), (name, name), arguments)
    if files and not targets:
        return
    for one, other in paired(_wanted(old, targets), _wanted(new, targets)):
        if one is None or other is None:
            yield from (f"{it.target}: recorded in {new if it is other else old} only" for it in (one, other) if it)
        elif one.digest != other.digest:
            graphs = old.recorded(one), new.recorded(other)
            try:
                yield _diff(graphs, (one.target, other.target), arguments)
            except CannotCompare as error:
                yield f"{other.target} is another model now: {error.reason}"


def _wanted(revision: Revision, targets: set[str]) -> list[Committed]:
    found = revision.recordings()
    known = {one.target for one in found}
    if unknown := sorted(targets - known):
        advice = f"it has those of {', '.join(sorted(known))}"
        raise CannotCompare(f"{revision} does not have a recording of {', '.join(unknown)}", advice)
    return [one for one in found if not targets or one.target in targets]


def _graphs(arguments: argparse.Namespace) -> list[Graph]:
    """The Graphs of files and of targets; those are recorded if nothing true is kept of them."""
    settings = Settings.for_project(
        Path.cwd(),
        cache=arguments.cache,
        path=[".", *arguments.path],
        engine=arguments.engine,
        allow=[EVERYTHING],  # who types a target here can type any command
    )
    targets = _targets(arguments)
    recorded = Pipeline(settings, retries=True).graphs([_request(it, arguments) for it in targets]) if targets else []
    by_name = dict(zip(targets, recorded, strict=True))
    return [by_name[it] if it in by_name else read_graph(Path(it)) for it in arguments.models]


def _written(diffs: Sequence[Diff], sentences: Sequence[str], name: str) -> bytes:
    if name not in _WORDS:
        if len(diffs) != 1:
            names = ", ".join(one.names[1] for one in diffs)
            found = (
                f"{len(diffs)} models have changed: {names}; name one of them, before --git"
                if diffs
                else "nothing has changed"
            )
            raise OptionError((f"{name} is one picture, and {found}",))
        return file_type(name).write(diffs[0].diagram)
    parts = [one.markdown if name == "md" else one.text for one in diffs]
    if sentences:
        parts.append(
            "\n".join(f"- {report.escaped(one)}" if name == "md" else report.one_line(one) for one in sentences)
        )
    return ("\n\n".join(parts or ["Nothing has changed of what the models compute."]) + "\n").encode()


def _write(written: bytes, arguments: argparse.Namespace) -> None:
    if arguments.output == _STDOUT:
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()
        return
    try:
        Path(arguments.output).write_bytes(written)
    except OSError as error:
        raise OptionError((f"cannot write {arguments.output}: {error.strerror or error}",)) from error


def _format(arguments: argparse.Namespace) -> str:
    """The type of file that is written."""
    ending = Path(arguments.output).suffix[1:]
    name = str(arguments.format or ("txt" if arguments.output == _STDOUT else ending)).lower()
    if name not in (*_WORDS, *PICTURES):
        raise OptionError((f"a diff cannot be written as {name!r}; there are {', '.join((*_WORDS, *PICTURES))}",))
    return name


def _targets(arguments: argparse.Namespace) -> list[str]:
    return [model for model in dict.fromkeys(arguments.models) if not _is_file(model)]


def _is_file(model: str) -> bool:
    return model.endswith(".json") or os.path.isfile(model)


def _request(model: str, arguments: argparse.Namespace) -> DiagramRequest:
    return read_request(model, _given(arguments))


def _drawing(arguments: argparse.Namespace) -> DrawingOptions:
    return read_drawing(_given(arguments))


def _given(arguments: argparse.Namespace) -> dict[str, str]:
    offered = ((option.name, getattr(arguments, option.name)) for option in _OPTIONS)
    return {name: text for name, text in offered if text is not None}
