"""`torchrecorder update` and `torchrecorder check`: a documentation's recordings, or pictures in files of a project."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchrecorder.cli import projects
from torchrecorder.cli.projects import Checked, checked
from torchrecorder.cli.shared import (
    Commands,
    add_command,
    add_json,
    add_setting,
    cache_remarks,
    report,
    said,
    show_progress,
)
from torchrecorder.errors import LeftOut, OptionError, OutOfDate, TorchRecorderError
from torchrecorder.files.contents import content, has_row, pictures_of
from torchrecorder.files.kept import Kept, State
from torchrecorder.files.project import FilePart, Project, read_project
from torchrecorder.page.outcome import Outcome
from torchrecorder.pipeline import Pipeline, listed
from torchrecorder.pipeline.collecting import Collected
from torchrecorder.request import DiagramRequest, RecordingRequest, is_pattern, place
from torchrecorder.request.models import ListedModel

_UPDATES = """\
examples:
  torchrecorder update docs              # then commit the folder that the setting for the cache names
  torchrecorder update docs --retry      # also what failed before
  torchrecorder update                   # pictures in files, as pyproject.toml and comments in README.md ask for them
"""
_CHECKS = """\
examples:
  torchrecorder check docs               # needs no torch; for a hook, or before a release
  torchrecorder check docs --json
  torchrecorder check                    # pictures in files
"""


def add_update(commands: Commands) -> None:
    parser = add_command(
        commands,
        "update",
        lambda arguments: (update if arguments.docs is None else projects.run_update)(arguments),
        help="record what is missing or out of date in a project",
        description="Record what is missing or out of date in a project, into its committed cache.",
        epilog=_UPDATES,
        check=_problems_of_update,
    )
    _add_places(parser)
    add_setting(parser, "remote", "URL")
    parser.add_argument("--retry", action="store_true", help="try again what failed, even if it has not changed")
    help_force = "without DOCS: overwrite also what was edited by hand since it was written"
    parser.add_argument("--force", action="store_true", help=help_force)
    where = parser.add_mutually_exclusive_group()
    help_jobs = "how many processes record at once (default: as many as there are processors)"
    where.add_argument("--jobs", type=int, metavar="N", help=help_jobs)
    where.add_argument("--dask", metavar="ADDRESS", help="record on the cluster of this dask scheduler")


def _problems_of_update(arguments: argparse.Namespace) -> list[str]:
    problems = ["--jobs: write 1 or more"] if arguments.jobs is not None and arguments.jobs < 1 else []
    if arguments.docs is None and arguments.dask:
        problems.append("--dask records a documentation: name its folder, as in torchrecorder update docs --dask …")
    if arguments.docs is not None and arguments.force:
        problems.append("--force is for pictures in files: leave out the documentation")
    return problems


def add_check(commands: Commands) -> None:
    parser = add_command(
        commands,
        "check",
        lambda arguments: (check if arguments.docs is None else projects.run_check)(arguments),
        help="list the diagrams of a project that are out of date",
        description="List the diagrams of a project that are out of date, and why. Exit status 1 if any is.",
        epilog=_CHECKS,
    )
    _add_places(parser)
    parser.add_argument("--verify", action="store_true", help="record all again and compare; needs torch")


def _add_places(parser: argparse.ArgumentParser) -> None:
    help_ = (
        "the folder of conf.py or mkdocs.yml or of the pages, or the file itself (default: the pictures in files of the"
        " project here, as its pyproject.toml and comments in its README ask for them)"
    )
    parser.add_argument("docs", metavar="DOCS", type=Path, nargs="?", help=help_)
    help_ = "ask the hub if models that name no commit of it have another one now; needs huggingface_hub"
    parser.add_argument("--hub", action="store_true", help=help_)
    add_json(parser)


def check(arguments: argparse.Namespace) -> int:
    project = read_project(Path.cwd())
    project.settings = replace(project.settings, remote="")
    looked = _Looked(project, asks_hub=arguments.hub)
    looked.look_for_models(Pipeline(project.settings, writes_committed=True), asks=False)
    states = looked.states(verify=arguments.verify)
    wrong = [state for state in states if state.verdict != "fresh"]
    rows = [{"file": it.part.file, "place": it.part.place, "verdict": it.verdict, "reason": it.reason} for it in states]
    shown = ((it, it.part.place if it.part.block else f"{it.part.file} ({it.part.place})") for it in wrong)
    lines = [f"{state.verdict.upper():8} {where}: {state.reason}" for state, where in shown]
    places, left = ({it.part.place for it in some} for some in (states, wrong))
    lines.append(f"{_counted(len(places))}, {f'{len(left)} to be written' if left else 'all fresh'}")
    answer = {"files": rows, "out_of_date": len(wrong), "remarks": looked.remarks}
    return report(arguments, answer, lines, remarks=looked.remarks, is_good=not wrong)


def _counted(places: int) -> str:
    return f"{places} picture{'' if places == 1 else 's'}"


@dataclass(slots=True)
class _Looked:
    """What is known of the parts of a project without drawing."""

    project: Project
    kept: Kept = field(init=False)
    remarks: list[str] = field(default_factory=list)
    models: dict[str, tuple[Outcome, ...]] = field(default_factory=dict)
    """By pattern, the models that match it."""
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Verdict and reason of patterns whose models are not known."""
    asks_hub: bool = False

    def __post_init__(self) -> None:
        self.kept = Kept(self.project)

    def look_for_models(self, pipeline: Pipeline, *, asks: bool) -> None:
        """Look up the models of each pattern; `asks` has those recorded anew of which there may be others now."""
        rows = (row.body.target for part in self.project.parts for row in part.models)
        patterns = dict.fromkeys(target for target in rows if is_pattern(target))
        if not patterns:
            return
        recordings = pipeline.recordings()
        for request in map(RecordingRequest, patterns):
            try:
                recording = recordings.names(request) if asks else recordings.names_kept(request)
                if recording is None:
                    finding = recordings.look(request)[1]
                    self.refused[request.target] = finding.verdict.value, f"{request.target}: {finding}"
                elif recording.error is not None:
                    raise recording.error
                else:
                    self.models[request.target] = listed(DiagramRequest(request), recording).models
            except TorchRecorderError as error:
                self.refused[request.target] = "failed", said(error)
        recordings.save_indexes()

    def states(self, *, verify: bool = False) -> list[State]:
        parts = [each for part in self.project.parts for each in self._expanded(part)]
        self._refuse_twins(parts)
        known = [part for part in parts if not self.refusal(part)[1]]
        asked = [request for part in known for request in part.requests]
        olds = [DiagramRequest(request.old) for request in asked if request.old is not None]
        collected = Collected(self.project.settings, (*asked, *olds), asks_hub=self.asks_hub)
        checks, remarks = checked(collected, verify=verify)
        self.remarks += [remark for remark in remarks if remark not in self.remarks]
        rows = {row.request: row for row in checks}
        shown = [it for it in parts if not (it.request and it.request.is_tried) or it.request.recording in rows]
        return [self._state(part, rows) for part in shown]

    def _refuse_twins(self, parts: list[FilePart]) -> None:
        """Raise OptionError if a picture of a table would be written where something else is."""
        by_file: dict[str, FilePart] = {}
        for part in parts:
            other = by_file.setdefault(part.file, part) if part.block is None else part
            if other.asks != part.asks:
                problem = f"{part.file} is written by {other.place}, too; write another folder"
                raise OptionError((f"{part.place}: {problem}",))

    def _expanded(self, part: FilePart) -> Iterator[FilePart]:
        """The part, its patterns made into the models that match them, and the pictures that it shows."""
        if not part.models or self.refusal(part)[1]:
            yield part
            return
        part = replace(part, models=tuple(each for row in part.models for each in self._rows(row)))
        yield part
        if part.links:
            yield from pictures_of(part)

    def _rows(self, row: ListedModel) -> Iterator[ListedModel]:
        """A row, or one for each model of its pattern that can be drawn."""
        if not is_pattern(row.body.target):
            yield row
        for model in self.models.get(row.body.target, ()):
            if not isinstance(model.error, LeftOut):
                target = model.request.recording.target
                yield replace(row, body=replace(row.body, target=target, is_tried=True, is_listed=False))

    def refusal(self, part: FilePart) -> tuple[str, str]:
        return next((self.refused[it.body.target] for it in part.models if it.body.target in self.refused), ("", ""))

    def _state(self, part: FilePart, rows: Mapping[RecordingRequest, Checked]) -> State:
        verdict, reason = self.refusal(part)
        if verdict:
            return State(part, verdict, reason)
        for request in part.requests:
            for recording in filter(None, (request.recording, request.old)):
                if (row := rows.get(recording)) is not None and row.is_wrong:
                    return State(part, row.verdict, f"{recording.target}: {row.reason}")
        state = self.kept.state(part, self.kept.shows(part, {it: row.graph for it, row in rows.items()}))
        is_short = any(request.recording not in rows for request in part.requests)
        return replace(state, is_old=state.is_old or is_short)


def update(arguments: argparse.Namespace) -> int:
    from torchrecorder.worker.client import processors  # with what starts processes, which `check` does not

    project = read_project(Path.cwd())
    if arguments.remote:
        project.settings = replace(project.settings, remote=place(project.root, arguments.remote))
    project.settings = replace(project.settings, jobs=arguments.jobs or processors())
    done = _Update(project, retries=arguments.retry, overwrites=arguments.force, asks_hub=arguments.hub)
    places = done.run()
    failed = f"{len(done.errors)} failed and left as they were" if done.errors else "all fresh"
    lines = (*(f"wrote {file}" for file in done.written), f"{_counted(places)}, {failed}")
    remarks, errors = sorted(done.remarks), done.errors
    answer = {"written": done.written, "errors": errors, "remarks": remarks}
    return report(arguments, answer, lines, remarks=remarks, errors=errors, is_good=not errors)


class _Update:
    def __init__(self, project: Project, *, retries: bool, overwrites: bool, asks_hub: bool) -> None:
        from torchrecorder.worker.lasting import PersistentWorker

        self.looked = _Looked(project, asks_hub=asks_hub)
        self.written: list[str] = []
        self.errors: dict[str, str] = {}
        """What went wrong, by where it is asked for."""
        self.remarks: set[str] = set()
        self._overwrites = overwrites
        asked = {"retries": retries, "asks_hub": asks_hub}
        self._pipeline = Pipeline(project.settings, PersistentWorker.of_thread, writes_committed=True, **asked)
        self._drawn: dict[DiagramRequest, Outcome] = {}
        self._left_out: dict[str, str] = {}  # reasons, by model of a pattern

    def run(self) -> int:
        """Write what is missing or out of date; the number of places that ask for a picture or a table."""
        self.looked.look_for_models(self._pipeline, asks=True)
        errors = [it.error for models in self.looked.models.values() for it in models]
        self._left_out = {it.target: it.reason for it in errors if isinstance(it, LeftOut)}
        while True:  # what is newly recorded says what a part is to show, and has a picture in a table of a pattern
            states = self.looked.states()
            refused = {it: why for it in states if (why := self.looked.refusal(it.part)[1])}
            self.errors |= {state.part.place: why for state, why in refused.items()}
            wrong = [it for it in states if (it.verdict != "fresh" or it.is_old) and it not in refused]
            asked = dict.fromkeys(request for state in wrong for request in state.part.requests)
            if not (new := [request for request in asked if request not in self._drawn]):
                break
            self._drawn |= self._pipeline.run(new, show_progress)
        self._write(wrong, [state.part for state in states])
        self.remarks |= {f"note: {target} is left out: {why}" for target, why in self._left_out.items()}
        self.remarks |= {*self.looked.remarks, *cache_remarks(self._pipeline)}
        return len({state.part.place for state in states})

    def _write(self, wrong: list[State], parts: list[FilePart]) -> None:
        made: dict[str, dict[FilePart, tuple[str, bytes]]] = {}
        for state in wrong:
            if (text := self._content(state)) is not None:
                made.setdefault(state.part.file, {})[state.part] = state.shows, text
        for file, contents in made.items():
            try:
                if self.looked.kept.write(file, contents, [part for part in parts if part.file == file]):
                    self.written.append(file)
            except OptionError as error:
                self.errors[file] = str(error)

    def _content(self, state: State) -> bytes | None:
        """New content of a part; None, with an error, if there is none or it must not be written."""
        part = state.part
        try:
            text = content(part, self._drawn)
        except TorchRecorderError as error:
            old = f"{error.summary()}; write it on a machine that has torch" if isinstance(error, OutOfDate) else ""
            self._fail(part.place, f"{old or said(error)}; what was there stays")
            return None
        for request in part.requests:
            outcome = self._drawn[request]
            if outcome.error is not None:
                self._left_out[request.recording.target] = outcome.error.summary()
            self.remarks |= {f"note: {outcome.info}"} if outcome.info else set()
        before = self.looked.kept.now(part) or b""
        lost = [it for it in self._left_out if has_row(before, it) and not has_row(text, it)] if part.models else []
        if lost and not self._overwrites:
            why = "; ".join(f"{target} has a row and cannot be drawn now: {self._left_out[target]}" for target in lost)
            self._fail(part.place, f"{why}; what was there stays, --force writes the table without it")
            return None
        if self._overwrites or self.looked.kept.is_ours(part, text):
            return text
        what = "it" if part.block else part.file
        self._fail(part.place, f"{what} was edited since it was written, or is not ours: --force overwrites it")
        return None

    def _fail(self, place: str, why: str) -> None:
        before = self.errors.get(place, "")
        self.errors[place] = why if before in ("", why) else f"{before}\n{why}"
