"""What became of one request, and what a page says of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from torchrecorder.errors import (
    FailedInside,
    ForwardError,
    InputError,
    LeftOut,
    NotAModule,
    OptionError,
    OutOfDate,
    StylerError,
    TargetError,
    TorchMissing,
    TorchRecorderError,
    WorkerCrashed,
    WorkerTimeout,
)
from torchrecorder.faults import unforeseen
from torchrecorder.page import about
from torchrecorder.page.diagram import Diagram
from torchrecorder.page.words import TABLE_HEAD, Translate, in_english, translated
from torchrecorder.request import Body, DiagramRequest, FigureOptions, RecordingRequest, is_pattern, parse_target

OPEN_HEIGHT = 600
"""The height in CSS pixels up to which the picture of an automatic diagram stands open in its page."""

_OF_THE_MODEL = (
    *(TargetError, InputError, ForwardError, LeftOut, WorkerTimeout, WorkerCrashed, FailedInside, TorchMissing),
)
_HOW_IT_RAN = re.compile(r"the forward ran |\w+ stands for ")
_PLACE = re.compile(r" ([\w-]+)/\S*\.py:\d+(, [\d…]+)*$")
"""Lines of a file in a package, whose name comes first, at the end of notes of a recording."""

_figure_text = lru_cache(maxsize=256)(repr)  # the diagrams of a site mostly share their options


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one request: a diagram, an error, or both if the forward failed half-way."""

    request: DiagramRequest
    diagram: Diagram | None
    error: TorchRecorderError | None = None
    sources: tuple[Path, ...] = ()
    """Files of the model's code, also of one that failed, for a server to watch."""
    info: str = ""
    """Why the diagram may be out of date, though it most likely is not; for the log, not for a warning."""
    models: tuple[Outcome, ...] = ()
    """Of a pattern, what became of each model that it means."""

    def with_models(self, outcomes: Mapping[DiagramRequest, Outcome]) -> Outcome:
        """A copy with other outcomes for its models, by their requests, and with their sources."""
        models = tuple(outcomes.get(it.request, it) for it in self.models)
        sources = (*self.sources, *(file for it in models for file in it.sources))
        return replace(self, models=models, sources=tuple(dict.fromkeys(sources)))

    @property
    def each(self) -> tuple[Outcome, ...]:
        """Itself; of a pattern, those of its models that a page shows."""
        if self.error is None and is_pattern(self.request.recording.target):
            return tuple(it for it in self.models if not it.is_skipped)
        return (self,)

    @staticmethod
    def of_depths(request: DiagramRequest, outcomes: Sequence[Outcome]) -> Outcome:
        """Outcome of a request, of the outcomes of its depths."""
        if len(outcomes) == 1:
            return outcomes[0]
        drawn = [(str(it.request.drawing.depth), it.diagram) for it in outcomes if it.diagram is not None]
        error = next((outcome.error for outcome in outcomes if outcome.error is not None), None)
        sources = tuple(dict.fromkeys(file for outcome in outcomes for file in outcome.sources))
        info = next((outcome.info for outcome in outcomes if outcome.info), "")
        return Outcome(request, Diagram.of_depths(drawn) if drawn else None, error, sources, info)

    def signature(self) -> str:
        """Changes when what a page shows of the request changes."""
        digest = self.diagram and self.diagram.digest
        models = "".join(it.signature() for it in self.models)
        lines = f"{self.diagram.moved}" if self.diagram and self.diagram.code and self.diagram.moved else ""
        shown = f"({digest!r}, {str(self.error)!r}, {_figure_text(self.request.figure)}){models}{lines}"
        return hashlib.sha256(shown.encode()).hexdigest()

    def loaded(self) -> Outcome:
        """A copy with its pictures read; with an error, if they have left the cache and cannot be made again.

        The pictures go with the copy, so that a site need not hold those of all its pages at once.
        """
        if self.diagram is None:
            return replace(self, models=tuple(it.loaded() for it in self.models)) if self.models else self
        try:
            diagram = replace(self.diagram)
            _ = diagram.drawings
            return replace(self, diagram=diagram)
        except Exception as error:
            return replace(self, diagram=None, error=unforeseen(self.request.recording.target, error))

    @staticmethod
    def refused(body: Body, error: OptionError) -> Outcome:
        """The outcome of a body that says no request; its box keeps the name, so that links to it still lead there."""
        figure = FigureOptions(name=body.options.get("name") or "")
        return Outcome(DiagramRequest(RecordingRequest(body.target), figure=figure), None, error)

    @property
    def is_skipped(self) -> bool:
        """Whether a page shows nothing in its place: it failed, and neither a page nor a pattern names it."""
        by_name = not self.request.is_tried
        if isinstance(self.error, NotAModule):
            return not by_name or "*" in self.request.pattern  # a package has other classes, too
        return not by_name and isinstance(self.error, _OF_THE_MODEL)

    def is_closed(self, place: str) -> bool:
        """Whether an automatic diagram stands under a closed summary, by the setting `autodoc_place`."""
        if self.diagram is None:
            return False
        return place == "summary" or (place == "auto" and self.diagram.size[1] > OPEN_HEIGHT)

    def title(self, translate: Translate = in_english) -> str:
        name = self.request.recording.target
        return translate("Architecture of {}").format(self.diagram.facts.get("model", name) if self.diagram else name)

    def reasons(self, translate: Translate = in_english) -> tuple[str, ...]:
        """The texts of a box in the place of the diagram, each problem by itself."""
        if self.error is None:
            return (translate("It was not drawn."),)
        several = self.error.problems if isinstance(self.error, OptionError | StylerError) else ()
        return several if len(several) > 1 else (str(self.error),)

    def rows(self, translate: Translate = in_english) -> list[tuple[str, ...]]:
        """The texts of the table of layers, down to the depth that is asked for; the first row is its head."""
        from torchrecorder.page.figure import table_cells  # a build that writes no page does not need it

        depth = max(self.request.depths, default=self.request.drawing.depth)
        table = self.diagram.table if self.diagram else ()
        rows = [table_cells(row, translate) for row in table if isinstance(depth, str) or row.level <= depth]
        return [tuple(map(translate, TABLE_HEAD)), *rows]

    def reader_line(self, translate: Translate = in_english) -> str:
        """The one line below the picture: where it ends too early, or that its sizes are those of an example."""
        if self.diagram is None:
            return ""
        if isinstance(self.error, OutOfDate):
            return translated(f"This diagram is out of date: {'; '.join(self.error.reasons)}", translate)
        if self.error is not None:
            return translated(f"This diagram is not complete: {self.error.summary()}", translate)
        return about.line(self.diagram, translate)

    def guess_note(self) -> str:
        """Inputs that were found, with where they come from; empty if they were given."""
        return about.guess(self.diagram) if self.diagram is not None else ""

    def about(self, translate: Translate = in_english) -> tuple[str, ...]:
        """Notes that readers can open: where inputs come from, and what the picture does not show."""
        if self.diagram is None:
            return ()
        own = parse_target(self.request.recording.target).dotted.partition(".")[0]
        kept = [note for note in self.diagram.notes if not _HOW_IT_RAN.match(note)]
        kept = [note for note in kept if (lines := _PLACE.search(note)) is None or lines[1] == own]  # none of a library
        return tuple(filter(None, (about.guess(self.diagram, translate), *(translated(it, translate) for it in kept))))

    def author_notes(self) -> tuple[str, ...]:
        """All notes: they go to the log of a build that writes the page, at `-v`."""
        if self.diagram is None:
            return ()
        notes = filter(None, (self.guess_note(), *self.diagram.notes, *self.diagram.weakened))
        return tuple(f"{self.request.recording.target}: {note}" for note in notes)
