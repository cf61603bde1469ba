"""`torchrecorder draw`: models into files, through the same cache as the documentation tools."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from torchrecorder.cli.shared import (
    FAILED,
    STDOUT,
    Commands,
    add_command,
    add_options,
    add_places,
    cache_remarks,
    said,
    settings_here,
    show_progress,
    write,
    written,
)
from torchrecorder.errors import LeftOut, OptionError, TorchRecorderError
from torchrecorder.errors import listed as some_of
from torchrecorder.page import Outcome
from torchrecorder.page.files import (
    FILE_TYPES,
    FileType,
    file_name,
    file_type,
    outcome_for_print,
    requests_for_print,
    type_of,
    why_no_file,
)
from torchrecorder.pipeline import Pipeline, listed
from torchrecorder.request import OPTIONS, DiagramRequest, RecordingRequest, is_pattern, read_request
from torchrecorder.worker.lasting import PersistentWorker

_HEEDED = frozenset[str]().union(*(kind.heeds for kind in FILE_TYPES))
_OFFERED = [option for option in OPTIONS if option.stage == "recording" or option.name in _HEEDED]
_PAGE_OPTIONS = [option for option in OPTIONS if option not in _OFFERED]
_NO_PAGE = "this command makes no page"
_INSTEAD = {"diff": "here it is a command: torchrecorder diff OLD NEW"}
_GROUPS = {
    "recording": "how the model is recorded",
    "drawing": "what is drawn, and how",
    "figure": "what the picture is for",
}
_EXAMPLES = """\
examples:
  torchrecorder draw pkg.Net --shape 1,3,224,224 --depth 2 -o net.svg
  torchrecorder draw 'pkg.Net(width=64)' --show flops            # the tree of modules, in the terminal
  torchrecorder draw 'pkg.models.*' -o diagrams/ --format pdf
"""
_LISTED = 4  # models that an error names


def add_to(commands: Commands) -> None:
    draw = add_command(
        commands,
        "draw",
        run,
        help="draw models",
        description="Draw models into files, or print their trees of modules.",
        epilog=_EXAMPLES,
        usage="%(prog)s [options] TARGET [TARGET ...]",
        check=check,
    )
    help_ = (
        "dotted name of a model: pkg.Net, pkg.mod:Net, 'pkg.Net(width=64)'; or of all that match: 'pkg.models.*'; or"
        " its name on the hub: hf:owner/name"
    )
    draw.add_argument("targets", nargs="+", metavar="TARGET", help=help_)
    file = draw.add_argument_group("what is written")
    types = ", ".join(f".{kind.name} ({kind.help.replace('`', '')})" for kind in FILE_TYPES)
    help_ = f"its ending says what is written: {types}; a folder, for several models; - for standard output (default)"
    file.add_argument("-o", "--output", default=STDOUT, metavar="FILE", help=help_)
    names = ",".join(kind.name for kind in FILE_TYPES)
    help_ = "what is written where no ending says it (default: txt; in a folder svg)"
    file.add_argument("--format", metavar=f"{{{names}}}", help=help_)
    add_options(draw, _GROUPS, _OFFERED)
    for option in _PAGE_OPTIONS:  # known only so that `check` can say what they are
        draw.add_argument(f"--{option.name}", nargs="?", const="", help=argparse.SUPPRESS)
    add_places(draw, ("remote", "URL"), ("engine", "ENGINE"))


def check(arguments: argparse.Namespace) -> list[str]:
    problems = [
        f"--{option.name} is an option of pages, in a directive or a fence; {_INSTEAD.get(option.name, _NO_PAGE)}"
        for option in _PAGE_OPTIONS
        if getattr(arguments, option.name) is not None
    ]
    problems += [f"--path {folder} is not a folder" for folder in arguments.path if not os.path.isdir(folder)]
    requests: list[DiagramRequest] = []
    for target in arguments.targets:
        try:
            name = "pkg.Net" if is_pattern(target) or _is_module(target, arguments.path) else target
            requests.append(read_request(name, written(arguments, _OFFERED)))
        except OptionError as error:
            problems += error.problems
    try:
        wanted = _type(arguments)
        wanted.require()
    except OptionError as error:
        return [*dict.fromkeys(problems), *error.problems]
    problems += [problem for request in requests[:1] for problem in why_no_file(request, wanted)]
    return [*dict.fromkeys(problems), *_unclear_places(arguments, wanted)]


def _is_module(target: str, path: Sequence[str]) -> bool:
    """Whether a target is the name of a module or a package beside, and not of something in it."""
    files = (Path(folder, name) for folder in (".", *path) for name in (f"{target}.py", f"{target}/__init__.py"))
    return target.isidentifier() and any(file.is_file() for file in files)


def _without_effect(wanted: FileType, given: Mapping[str, str]) -> Iterator[str]:
    for option in OPTIONS:
        if option.name not in given or option.stage == "recording" or option in _PAGE_OPTIONS:
            continue
        if option.name not in wanted.heeds:
            where = ", ".join(kind.name for kind in FILE_TYPES if option.name in kind.heeds)
            yield f"note: --{option.name} changes nothing in {wanted.name}, only in {where}"
        elif option.name in ("show", "hide"):
            lost = [fact for fact in given[option.name].replace(",", " ").split() if fact not in wanted.facts]
            if lost:
                yield f"note: --{option.name} {','.join(lost)} changes nothing in {wanted.name}"


def _unclear_places(arguments: argparse.Namespace, wanted: FileType) -> Iterator[str]:
    output, several = arguments.output, len(arguments.targets) > 1 or is_pattern(arguments.targets[0])
    if several and not _is_folder(output) and (output != STDOUT or wanted.name != "txt"):
        yield f"-o {output} is one file for several models; write a folder, as in -o diagrams/"
    ending = Path(output).suffix[1:].lower()
    if arguments.format and ending != wanted.name and any(ending == kind.name for kind in FILE_TYPES):
        yield f"the ending of {output} says {ending}, and --format says {wanted.name}; leave out one of them"


def run(arguments: argparse.Namespace) -> int:
    settings = settings_here(arguments)
    pipeline = Pipeline(settings, PersistentWorker.of_thread, retries=True)
    targets = dict.fromkeys(name for target in arguments.targets for name in _names(target, pipeline))
    if not targets:
        problem = "none of the models that match can be drawn; name one with its arguments: pkg.Net(width=64)"
        raise OptionError((problem,))
    wanted, given = _type(arguments), written(arguments, _OFFERED)
    of_recording = {option.name for option in OPTIONS if option.stage == "recording"}
    heeded = {name: text for name, text in given.items() if name in of_recording | wanted.heeds}
    requests = [read_request(target, heeded) for target in targets]
    candidates = {request: requests_for_print(request) for request in requests}
    drawn = pipeline.run([single for ones in candidates.values() for single in ones], show_progress)
    outcomes = [outcome_for_print(request, [drawn[single] for single in ones]) for request, ones in candidates.items()]
    for remark in (*_without_effect(wanted, given), *cache_remarks(pipeline)):
        print(f"torchrecorder: {remark}", file=sys.stderr)
    are_written = [_put(each, wanted, arguments.output, at, len(outcomes)) for at, each in enumerate(outcomes)]
    return 0 if all(are_written) else FAILED


def _put(outcome: Outcome, wanted: FileType, output: str, number: int, count: int) -> bool:
    """Write what came of one model, of so many; whether nothing went wrong."""
    name = f"{outcome.request.recording.target}: " if count > 1 else ""
    _say(outcome, name)
    if outcome.diagram is None:
        return False
    try:
        data = wanted.write(outcome.diagram)
    except TorchRecorderError as error:  # no font for its signs, say: the other models are written
        print(f"torchrecorder: error: {name}{error}", file=sys.stderr)
        return False
    if output == STDOUT:
        data = b"\n" * (number > 0) + data
    file = f"{file_name(outcome.request.recording.target)}.{wanted.name}"
    write(data, output, file if _is_folder(output) else "")
    return outcome.error is None


def _names(target: str, pipeline: Pipeline) -> Iterator[str]:
    is_module = target.isidentifier()
    if not is_module and not is_pattern(target):
        yield target
        return
    request, recordings = RecordingRequest(f"{target}.*" if is_module else target), pipeline.recordings()
    found = listed(DiagramRequest(request), recordings.names(request))
    recordings.save_indexes()
    if found.error is not None:
        raise found.error
    if is_module:
        names = some_of([it.request.recording.target for it in found.models], _LISTED)
        raise OptionError((f"{target} is a module; write one of its classes: {names}, or '{target}.*' for all",))
    for model in found.models:
        name = model.request.recording.target
        if isinstance(model.error, LeftOut):
            print(f"torchrecorder: note: {name} is left out: {model.error.reason}", file=sys.stderr)
        else:
            yield name


def _say(outcome: Outcome, name: str) -> None:
    if outcome.error is not None:
        print(f"torchrecorder: error: {name}{said(outcome.error)}", file=sys.stderr)
        if details := outcome.error.details():
            print(details, file=sys.stderr)
    notes = (outcome.guess_note(), *outcome.diagram.notes) if outcome.diagram is not None else ()
    for note in filter(None, (outcome.info, *notes)):
        print(f"torchrecorder: note: {name}{note}", file=sys.stderr)


def _type(arguments: argparse.Namespace) -> FileType:
    if arguments.format:
        try:
            return file_type(arguments.format)
        except OptionError as error:
            raise OptionError(tuple(f"--format: {problem}" for problem in error.problems)) from None
    output = arguments.output
    if _is_folder(output):
        return file_type("svg")
    if output == STDOUT:
        return file_type("txt")
    if not Path(output).suffix:
        raise OptionError((f"-o {output} does not say what to write; write {output}.svg, or {output}/ for a folder",))
    return type_of(Path(output))


def _is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep)) or os.path.isdir(output)
