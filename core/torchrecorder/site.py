"""The one door for tools that build documentation: what they need of the core, and nothing else of it.

A front end gives a `Site` the settings that its configuration says, and for each place in its pages the `Body` that is
written there. The site reads it, draws all in one go, says what failed through the log of the tool, and keeps an
`Outcome` for each place, which the front end puts into its page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from torchrecorder import __version__
from torchrecorder.errors import LeftOut, NotDrawn, OptionError, TorchRecorderError
from torchrecorder.faults import unforeseen
from torchrecorder.page import words
from torchrecorder.page.diagram import Diagram, names_of_class
from torchrecorder.page.outcome import Outcome
from torchrecorder.page.remarks import Message, Place, fatal_messages, log_entries, message, slowest, with_setting
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import (
    SETTINGS,
    Body,
    DiagramRequest,
    DocstringField,
    FigureOptions,
    Rules,
    completed,
    read_settings,
    site_options,
    why_class_not_tried,
    why_not_tried,
)
from torchrecorder.request.models import COLUMNS, FEWEST_MODELS, NUMBERS, ModelList, read_list
from torchrecorder.request.reading import read_header
from torchrecorder.request.settings import Settings
from torchrecorder.trace.digests import note_traced

if TYPE_CHECKING:
    from torchrecorder.page.code import names_at as names_at
    from torchrecorder.page.figure import CopyNumbers as CopyNumbers
    from torchrecorder.page.figure import data_address as data_address
    from torchrecorder.page.models import ModelRow as ModelRow
    from torchrecorder.page.models import line_of_inputs as line_of_inputs
    from torchrecorder.page.models import models_html as models_html
    from torchrecorder.page.models import rows_of as rows_of
    from torchrecorder.worker.client import Worker
    from torchrecorder.worker.lasting import PersistentWorker as PersistentWorker

__all__ = [
    "COLUMNS",
    "FEWEST_MODELS",
    "NUMBERS",
    "SETTINGS",
    "Body",
    "Diagram",
    "DocstringField",
    "FigureOptions",
    "Message",
    "ModelList",
    "Outcome",
    "Rules",
    "Site",
    "TorchRecorderError",
    "__version__",
    "completed",
    "lines_below",
    "names_of_class",
    "read_header",
    "read_list",
    "why_class_not_tried",
    "why_not_tried",
    "words",
]

_HOMES = {
    **{"PersistentWorker": "worker.lasting", "CopyNumbers": "page.figure", "data_address": "page.figure"},
    **dict.fromkeys(("ModelRow", "line_of_inputs", "models_html", "rows_of"), "page.models"),
    "names_at": "page.code",
}
"""Names that many builds do not need: writers of pages, and workers of servers."""


class Site(Generic[Place]):
    """The build of a documentation: its settings, what its pages ask for, and what became of that.

    A place is whatever stands for a diagram in the front end: a directive, a fence, a documented class. Each front end
    has a subclass that says where messages go, and how places and settings are written there.
    """

    setting: ClassVar[str]
    """Name of a setting, with `{}` for what the core calls it."""
    where: ClassVar[str]
    """The same in a sentence that says where it is written: `torchrecorder_{}` in conf.py."""

    def __init__(
        self,
        root: Path,
        written: Mapping[str, object],
        *,
        open_worker: Callable[[Settings], AbstractContextManager[Worker]] | None = None,
        retries: bool = False,
        is_alone: bool = False,
    ) -> None:
        """Read the settings, and warn of those that are wrong, in whose place the defaults hold.

        Args:
            root: The folder that relative paths begin at.
            written: What the configuration says, by the names of `SETTINGS`.
            open_worker: Opens a worker that records for one build after the other.
            retries: Whether what failed before is tried again.
            is_alone: Whether the tool forks no processes.
        """
        self.settings, wrong = read_settings(root, written)
        self.results: dict[Place, Outcome] = {}
        self.warnings: list[str] = []
        """Of the last drawing, each with its place."""
        self._requests: dict[Place, DiagramRequest | Outcome] = {}
        self._pipeline = Pipeline(self.settings, open_worker, retries=retries, is_alone=is_alone)
        self.is_collecting = bool(self._pipeline.collects_into)
        """Whether a command only asks what the pages of all builders say, and nothing is drawn."""
        for name, problems in wrong.items():
            for problem in problems:
                self.warn(f"{self.setting.format(name)}: {problem}", "option")

    def tell(self, message: Message) -> None:
        """Put a message into the log of the tool."""
        raise NotImplementedError

    def locate(self, place: Place) -> str:
        """Location of a place as warnings write it: `page.md:12`."""
        raise NotImplementedError

    def expect(self, place: Place, body: Body, options: Mapping[str, str] | None = None) -> None:
        """Have the worker start while other pages are read, if this diagram needs it.

        `options` are those of its page, which come before those of the site.
        """
        request = self._request(place, body, options)
        if isinstance(request, DiagramRequest):
            self._pipeline.expect(request)

    def expect_any(self) -> None:
        """Have the worker start before pages are read, if their classes get diagrams and no build has been before."""
        if self.settings.rules.by_pattern:
            self._pipeline.expect_any()

    def advance(self) -> None:
        """Let the worker go on with what is expected; to be called now and then."""
        self._pipeline.advance()

    def close(self) -> None:
        """End what was started for a build that failed before it came to the diagrams."""
        self._pipeline.close()

    def page_options(self, written: object, place: str = "") -> dict[str, str]:
        """The options in the front matter of a page; wrong ones are left out, with a warning if a place is given."""
        good, wrong = site_options(written if isinstance(written, Mapping) else {})
        if not isinstance(written, Mapping | None):
            wrong = ["torchrecorder holds options, each in a line `name: value`"]
        for problem in wrong if place else ():
            self.warn(f"in the front matter, {problem}", "option", place)
        return good

    def _request(self, place: Place, body: Body, options: Mapping[str, str] | None = None) -> DiagramRequest | Outcome:
        """Request of a place, read once; an outcome if that is known without recording."""
        if place not in self._requests:
            try:
                request = body.request({**self.settings.options, **(options or {})})
            except OptionError as error:
                self._requests[place] = Outcome.refused(body, error)
            else:
                target = request.recording.target
                is_left_out = body.is_ranked and body.obstacle
                left_out = Outcome(request, None, LeftOut(target, body.obstacle))
                self._requests[place] = left_out if is_left_out else request
        return self._requests[place]

    def draw(
        self,
        bodies: Mapping[Place, Body],
        on_progress: Callable[[str, str, int, int], object] = lambda *_: None,
        *,
        options: Mapping[Place, Mapping[str, str]] | None = None,
        pictures: bool = True,
    ) -> None:
        """Draw what is asked for, and warn of what cannot be drawn; `results` has what became of each place.

        Args:
            bodies: What is written in each place.
            on_progress: Called with each step, as `Pipeline.run` does.
            options: Those of the pages of places.
            pictures: Whether the tool shows any; if not, only problems of what is written are of interest.
        """
        self.warnings = []
        options = options or {}
        requests = {place: self._request(place, body, options.get(place)) for place, body in bodies.items()}
        wanted = [request for request in requests.values() if isinstance(request, DiagramRequest)]
        if pictures:
            outcomes = self._pipeline.run(wanted, on_progress)
        else:
            outcomes = {request: Outcome(request, None, NotDrawn()) for request in wanted}
        results = {place: asked if isinstance(asked, Outcome) else outcomes[asked] for place, asked in requests.items()}
        if not pictures:
            results = {
                place: outcome
                for place, outcome in results.items()
                if isinstance(outcome.error, OptionError) or outcome.request.left_out
            }
        if self.shows_code:
            results = {place: self._with_code(place, outcome) for place, outcome in results.items()}
        self.results |= results
        pipeline = self._pipeline
        for said in log_entries(results.items(), pipeline.problems(), pipeline.cache.notice, self.locate):
            if said.kind:
                self.warn(*said)
            else:
                self.tell(said)
        if text := slowest(pipeline.seconds):
            self.tell(Message(text))

    @property
    def shows_code(self) -> bool:
        """Whether the documentation can show lines of code."""
        return bool(self.settings.code)

    def address_of_line(self, place: Place, module: str, file: Path, line: int) -> str:
        """Address of a line of the project's code, seen from the page of a place; empty for none."""
        from torchrecorder.page.code import by_pattern

        return by_pattern(self.settings.code, self.settings.root, file, line)

    def _with_code(self, place: Place, outcome: Outcome) -> Outcome:
        from torchrecorder.page.code import code_finder  # which most documentations do not need

        if outcome.diagram is None:
            return outcome
        find = code_finder(outcome.diagram, self.settings.path, partial(self.address_of_line, place))
        return replace(outcome, diagram=replace(outcome.diagram, code=find))

    def give_up(self, bodies: Mapping[Place, Body], unexpected: Exception) -> None:
        """Warn of what no check foresees, with a box for each place: it must not end the build."""
        error = self.unforeseen("the diagrams", unexpected)
        self.results |= {place: Outcome.refused(body, OptionError((str(error),))) for place, body in bodies.items()}

    def shown(self, place: Place) -> Outcome | None:
        """Outcome of a place, its pictures read; warns if they have left the cache and cannot be made again."""
        outcome = self.results.get(place)
        if outcome is None:
            return None
        loaded = outcome.loaded()
        if loaded.error is not None and loaded.error is not outcome.error:
            self.results[place] = loaded
            text = f"{loaded.request.recording.target}: {message(loaded.error)}"
            self.warn(text, loaded.error.kind, self.locate(place), loaded.error.details())
        for note in (note for one in (loaded, *loaded.models) for note in one.author_notes()):
            self.tell(Message("", details=f"torchrecorder: {note}"))
        return loaded

    def fatal(self) -> list[str]:
        """Messages that end the build: of diagrams that are out of date, or all warnings, as the settings say."""
        return self.warnings if self.settings.on_error == "raise" else fatal_messages(self.results.values())

    def sources(self) -> set[Path]:
        return {file for outcome in self.results.values() for file in outcome.sources}

    def watch(self, files: Iterable[Path]) -> None:
        """Note the files that pages depend on, for `torchrecorder stamp`."""
        note_traced(self.settings.cache, files)

    def warn(self, text: str, kind: str, place: str = "", details: str = "") -> None:
        text = with_setting(text, self.where)
        self.warnings.append(f"{place}: torchrecorder: {text}" if place else f"torchrecorder: {text}")
        self.tell(Message(text, kind, place, details))

    def failed(self, error: TorchRecorderError, place: str = "") -> None:
        self.warn(message(error), error.kind, place, error.details())

    def unforeseen(self, what: str, unexpected: Exception, place: str = "") -> TorchRecorderError:
        """Warn of what no check foresees; gives the error that stands for it."""
        error = unforeseen(what, unexpected)
        self.failed(error, place)
        return error


def lines_below(outcome: Outcome, translate: words.Translate = words.in_english) -> dict[str, str]:
    """The lines below a picture, by kind: its numbers, if they are asked for, and what a reader should know."""
    lines = {"facts": "", "remark": outcome.reader_line(translate)}
    if outcome.request.figure.facts:
        from torchrecorder.page.models import line_of_numbers  # few pages have one

        lines["facts"] = line_of_numbers(outcome, translate)
    return {kind: line for kind, line in lines.items() if line}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"torchrecorder.{_HOMES[name]}"), name)
