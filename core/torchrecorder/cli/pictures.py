"""`torchrecorder update` and `torchrecorder check` without a documentation: pictures in the files of a project."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchrecorder.cli import projects
from torchrecorder.cli.projects import Checked, checked
from torchrecorder.cli.shared import FAILED, Commands, cache_remarks, print_json, said, show_progress
from torchrecorder.errors import LeftOut, OptionError, OutOfDate, TorchRecorderError
from torchrecorder.files.contents import content, has_row, pictures_of
from torchrecorder.files.kept import Kept, State
from torchrecorder.files.project import FilePart, Project, read_project
from torchrecorder.page.outcome import Outcome
from torchrecorder.pipeline import Pipeline, listed
from torchrecorder.pipeline.collecting import Collected
from torchrecorder.request import DiagramRequest, RecordingRequest, is_pattern, place
from torchrecorder.request.models import ListedModel


def add_update(commands: Commands) -> None:
    projects.add_update(commands, update)


def add_check(commands: Commands) -> None:
    projects.add_check(commands, check)


def check(arguments: argparse.Namespace) -> int:
    project = read_project(Path.cwd())
    project.settings = replace(project.settings, remote="")
    looked = _Looked(project, asks_hub=arguments.hub)
    looked.look_for_models(Pipeline(project.settings, writes_committed=True), asks=False)
    states = looked.states(verify=arguments.verify)
    wrong = [state for state in states if state.verdict != "fresh"]
    if arguments.json:
        print_json({"files": [_row(it) for it in states], "out_of_date": len(wrong), "remarks": looked.remarks})
        return FAILED if wrong else 0
    for remark in looked.remarks:
        print(f"torchrecorder: {remark}", file=sys.stderr)
    for state in wrong:
        print(f"{state.verdict.upper():8} {_shown(state.part)}: {state.reason}")
    places, left = ({it.part.place for it in some} for some in (states, wrong))
    print(f"{_counted(len(places))}, {f'{len(left)} to be written' if left else 'all fresh'}")
    return FAILED if wrong else 0


def _row(state: State) -> dict[str, str]:
    part = state.part
    return {"file": part.file, "place": part.place, "verdict": state.verdict, "reason": state.reason}


def _shown(part: FilePart) -> str:
    return part.place if part.block is not None else f"{part.file} ({part.place})"


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
        rows = {row.request: row for row in self._checked([*asked, *olds], verify=verify)}
        shown = [it for it in parts if not (it.request and it.request.is_tried) or it.request.recording in rows]
        return [self._state(part, rows) for part in shown]

    def _refuse_twins(self, parts: list[FilePart]) -> None:
        """Raise OptionError if a picture of a table would be written where something else is."""
        by_file: dict[str, FilePart] = {}
        for part in parts:
            other = by_file.setdefault(part.file, part) if part.block is None else part
            if other.asks != part.asks:
                raise OptionError(
                    (f"{part.place}: {part.file} is written by {other.place}, too; write another folder",)
                )

    def _checked(self, requests: list[DiagramRequest], *, verify: bool = False) -> list[Checked]:
        collected = Collected(self.project.settings, tuple(requests), asks_hub=self.asks_hub)
        rows, remarks = checked(collected, verify=verify)
        self.remarks += [remark for remark in remarks if remark not in self.remarks]
        return rows

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
    if arguments.json:
        print_json({"written": done.written, "errors": done.errors, "remarks": sorted(done.remarks)})
        return FAILED if done.errors else 0
    for remark in sorted(done.remarks):
        print(f"torchrecorder: {remark}", file=sys.stderr)
    for where, error in done.errors.items():
        print(f"torchrecorder: error: {where}: {error}", file=sys.stderr)
    for file in done.written:
        print(f"wrote {file}")
    failed = f", {len(done.errors)} failed and left as they were" if done.errors else ", all fresh"
    print(f"{_counted(places)}{failed}")
    return FAILED if done.errors else 0


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
        self._left_out: dict[str, str] = {}
        """Reasons, by model of a pattern."""

    def run(self) -> int:
        """Write what is missing or out of date; the number of places that ask for a picture or a table."""
        self.looked.look_for_models(self._pipeline, asks=True)
        errors = [it.error for models in self.looked.models.values() for it in models]
        self._left_out = {it.target: it.reason for it in errors if isinstance(it, LeftOut)}
        while True:  # what is newly recorded says what a part is to show, and has a picture in a table of a pattern
            states = self.looked.states()
            wrong = [it for it in states if (it.verdict != "fresh" or it.is_old) and not self._is_refused(it)]
            asked = dict.fromkeys(request for state in wrong for request in state.part.requests)
            if not (new := [request for request in asked if request not in self._drawn]):
                break
            self._drawn |= self._pipeline.run(new, show_progress)
        self._write(wrong, [state.part for state in states])
        self.remarks |= {f"note: {target} is left out: {why}" for target, why in self._left_out.items()}
        self.remarks |= {*self.looked.remarks, *cache_remarks(self._pipeline)}
        return len({state.part.place for state in states})

    def _is_refused(self, state: State) -> bool:
        if refused := self.looked.refusal(state.part)[1]:
            self.errors[state.part.place] = refused
        return bool(refused)

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
