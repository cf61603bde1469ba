"""`torchrecorder diff`: what changed from one model to another, or from one revision of a project to another."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from torchrecorder.cli.shared import (
    STDOUT,
    Commands,
    add_command,
    add_options,
    add_places,
    settings_here,
    write,
    written,
)
from torchrecorder.comparison.compared import PICTURES, Diff, escaped, one_line, read_graph
from torchrecorder.comparison.revisions import Committed, Revision, paired
from torchrecorder.errors import CannotCompare, OptionError
from torchrecorder.graph import Graph
from torchrecorder.page.files import file_type
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import OPTIONS, DiagramRequest, DrawingOptions, read_drawing, read_request

_OPTIONS = [option for option in OPTIONS if option.stage != "figure" and option.name not in ("diff", "table")]
_GROUPS = {"recording": "how models are recorded", "drawing": "what is drawn, and how"}
_WORDS = ("txt", "md")
_EXAMPLES = """\
examples:
  torchrecorder diff pkg.Net pkg.WiderNet --shape 1,3,224,224 -o diff.svg
  torchrecorder diff --git main -o diff.md             # what this branch changes, for a pull request
"""


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
    file.add_argument("-o", "--output", default=STDOUT, metavar="FILE", help=help_)
    names = ",".join((*_WORDS, *PICTURES))
    file.add_argument("--format", metavar=f"{{{names}}}", help="what is written to standard output (default: txt)")
    add_options(parser, _GROUPS, _OPTIONS)
    add_places(parser, ("engine", "ENGINE"))


def check(arguments: argparse.Namespace) -> list[str]:
    problems: list[str] = []
    if more := " ".join(arguments.git[2:]):
        problems.append(f"--git takes one revision or two, and {more} stands behind them; models stand before --git")
    if not arguments.git and len(arguments.models) != 2:
        problems.append("name two models, the old and the new one, or a revision: torchrecorder diff --git main")
    readers: list[Callable[[argparse.Namespace], object]] = [_format, _drawing]
    readers += [partial(_request, model) for model in _targets(arguments)]
    for read in readers:
        try:
            read(arguments)
        except OptionError as error:
            problems += error.problems
    return [*dict.fromkeys(problems)]


def run(arguments: argparse.Namespace) -> int:
    if arguments.git:
        results = [*_between(arguments)]
        sentences = [result for result in results if isinstance(result, str)]
        diffs = [result for result in results if isinstance(result, Diff) and not result.is_empty]
    else:
        old, new = arguments.models
        names = (old, new) if old != new else ("", "")
        sentences, diffs = [], [_diff(_graphs(arguments), names, arguments)]
    write(_written(diffs, sentences, _format(arguments)), arguments.output)
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
    for before, after in paired(_wanted(old, targets), _wanted(new, targets)):
        if before is None or after is None:
            if (kept := before or after) is not None:
                yield f"{kept.target}: recorded in {old if before else new} only"
        elif before.digest != after.digest:
            graphs = old.recorded(before), new.recorded(after)
            try:
                yield _diff(graphs, (before.target, after.target), arguments)
            except CannotCompare as error:
                yield f"{after.target} is another model now: {error.reason}"


def _wanted(revision: Revision, targets: set[str]) -> list[Committed]:
    recordings = revision.recordings()
    known = {recording.target for recording in recordings}
    if unknown := sorted(targets - known):
        advice = f"it has those of {', '.join(sorted(known))}"
        raise CannotCompare(f"{revision} does not have a recording of {', '.join(unknown)}", advice)
    return [recording for recording in recordings if not targets or recording.target in targets]


def _graphs(arguments: argparse.Namespace) -> list[Graph]:
    """The Graphs of files and of targets; those are recorded if nothing true is kept of them."""
    targets, recorded = _targets(arguments), list[Graph]()
    if targets:
        pipeline = Pipeline(settings_here(arguments), retries=True)
        recorded = pipeline.graphs([_request(target, arguments) for target in targets])
    by_name = dict(zip(targets, recorded, strict=True))
    return [by_name[model] if model in by_name else read_graph(Path(model)) for model in arguments.models]


def _written(diffs: Sequence[Diff], sentences: Sequence[str], name: str) -> bytes:
    if name not in _WORDS:
        if len(diffs) != 1:
            names = ", ".join(diff.names[1] for diff in diffs)
            changed = f"{len(diffs)} models have changed: {names}; name one of them, before --git"
            reason = changed if diffs else "nothing has changed"
            raise OptionError((f"{name} is one picture, and {reason}",))
        return file_type(name).write(diffs[0].diagram)
    parts = [diff.markdown if name == "md" else diff.text for diff in diffs]
    if sentences:
        as_line = (lambda text: f"- {escaped(text)}") if name == "md" else one_line
        parts.append("\n".join(map(as_line, sentences)))
    return ("\n\n".join(parts or ["Nothing has changed of what the models compute."]) + "\n").encode()


def _format(arguments: argparse.Namespace) -> str:
    ending = Path(arguments.output).suffix[1:]
    name = str(arguments.format or ("txt" if arguments.output == STDOUT else ending)).lower()
    if name not in (*_WORDS, *PICTURES):
        raise OptionError((f"a diff cannot be written as {name!r}; there are {', '.join((*_WORDS, *PICTURES))}",))
    return name


def _targets(arguments: argparse.Namespace) -> list[str]:
    return [model for model in dict.fromkeys(arguments.models) if not _is_file(model)]


def _is_file(model: str) -> bool:
    return model.endswith(".json") or os.path.isfile(model)


def _request(model: str, arguments: argparse.Namespace) -> DiagramRequest:
    return read_request(model, written(arguments, _OPTIONS))


def _drawing(arguments: argparse.Namespace) -> DrawingOptions:
    return read_drawing(written(arguments, _OPTIONS))
