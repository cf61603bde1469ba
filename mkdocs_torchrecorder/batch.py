"""The diagrams of one page, or of a whole site at once: read, draw, report, put into the HTML.

At once, because starting torch is what costs: one process records all models, and one call of the engine lays out all
pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mkdocs_torchrecorder.fence import Fence, marked_fences, marker, read_fence, replace_markers
from mkdocs_torchrecorder.figure import closed, error_box, figure
from mkdocs_torchrecorder.links import Find, nowhere
from mkdocs_torchrecorder.page import KEY, MarkdownPage
from mkdocs_torchrecorder.report import Report, show_progress, tell_author
from torchrecorder.errors import OptionError
from torchrecorder.faults import unforeseen
from torchrecorder.page import (
    CopyNumbers,
    Outcome,
    Translate,
    asked_for,
    fatal_messages,
    in_english,
    is_closed,
    is_skipped,
    log_entries,
    message,
    needs,
    slowest,
    warning_text,
)
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import DiagramRequest, Settings, as_asked, site_options

if TYPE_CHECKING:
    from torchrecorder.worker.client import Worker

Result: TypeAlias = Outcome | OptionError
Results: TypeAlias = dict[Fence, Result]
"""What became of the fences of one page."""


@dataclass(frozen=True, slots=True)
class DrawnPages:
    """What became of all pages."""

    results: list[Results]
    """In the order of the pages."""
    warnings: list[str]
    stale: list[str]
    """What ends the build because it is out of date."""

    def fatal(self, raises: bool) -> list[str]:
        """What ends the build.

        Args:
            raises: Whether any failure does.
        """
        return self.warnings if raises else self.stale

    def sources(self) -> set[Path]:
        """The files of the models' code."""
        outcomes = (result for results in self.results for result in results.values())
        return {file for outcome in outcomes if isinstance(outcome, Outcome) for file in outcome.sources}


class Batch:
    """The diagrams of a build, from the first page that is converted to the last."""

    def __init__(
        self, settings: Settings, lasting: Callable[[Settings], AbstractContextManager[Worker]] | None = None
    ) -> None:
        """Make ready for a build; `lasting` opens a worker that records for one build after the other."""
        self.settings = settings
        self._requests: dict[Fence, DiagramRequest | Result] = {}
        self.pipeline = Pipeline(settings, None if lasting is None else lambda _: lasting(settings))

    def expect(self, page: MarkdownPage) -> None:
        """Have the worker start while other pages are converted, if a fence of this one needs it."""
        for request in self.requests(page).values():
            if isinstance(request, DiagramRequest):
                self.pipeline.expect(request)

    def requests(self, page: MarkdownPage, report: Report | None = None) -> dict[Fence, DiagramRequest | Result]:
        """What the fences of a page ask for; read once, though pages are looked at by several events."""
        options: dict[str, str] | None = None
        fences = marked_fences(page.html)
        for fence in fences:
            if fence not in self._requests:
                options = {**self.settings.options, **_page_options(page, None)} if options is None else options
                self._requests[fence] = _request(fence, options)
        if report is not None:
            _page_options(page, report)
        return {fence: self._requests[fence] for fence in fences}


def draw(pages: Sequence[MarkdownPage], batch: Batch) -> DrawnPages:
    """Draw what the markers of the pages ask for, and warn of what cannot be drawn."""
    report = Report()
    try:
        return _drawn(pages, batch, report)
    except Exception as unexpected:  # what no check foresees must not end the build
        error = unforeseen("the diagrams", unexpected)
        report.warn(message(error), details=error.details())
        results: list[Results] = [dict.fromkeys(marked_fences(it.html), OptionError((str(error),))) for it in pages]
        return DrawnPages(results, report.warnings, [])


def _drawn(pages: Sequence[MarkdownPage], batch: Batch, report: Report) -> DrawnPages:
    pipeline = batch.pipeline
    wanted = [batch.requests(page, report) for page in pages]
    requests = [it for of_page in wanted for it in of_page.values() if isinstance(it, DiagramRequest)]
    outcomes = pipeline.run(requests, show_progress)
    results = [
        {fence: outcomes[it] if isinstance(it, DiagramRequest) else it for fence, it in of_page.items()}
        for of_page in wanted
    ]
    placed = [
        ((page, fence), result)
        for page, of_page in zip(pages, results, strict=True)
        for fence, result in of_page.items()
    ]
    for entry in log_entries(placed, pipeline.problems(), pipeline.cache.notice):
        if entry.kind:
            first, *others = [page.location(fence) for page, fence in filter(None, (entry.place, *entry.also))] or [""]
            text = warning_text(entry.text, others, "`{}` of the plugin torchrecorder in mkdocs.yml")
            report.warn(text, first, entry.details)
        else:
            report.info(entry.text, entry.details)
    if text := slowest(pipeline.seconds):
        report.info(text)
    return DrawnPages(results, report.warnings, fatal_messages(result for _, result in placed))


def fill(
    html: str,
    results: Mapping[Fence, Result],
    find: Find = nowhere,
    script: str | None = None,
    save: Callable[[str], str] | None = None,
    *,
    style: str = "",
    place: str = "auto",
    translate: Translate = in_english,
) -> str:
    """The HTML of a page with its diagrams; markers of other fences stay.

    Args:
        html: Of the page.
        results: What became of its fences.
        find: Knows the pages that pictures link to.
        script: The element of the script. None for paper: no style sheet, and a switch shows its first depth alone.
        save: Makes a file of an SVG and gives its address, seen from the page.
        style: The element of the style sheet, if the page does not link it.
        place: The setting `autodoc_place`.
        translate: Gives our texts in the language of the page.
    """
    copies = CopyNumbers()

    def placed(fence: Fence, caption: str) -> str:
        result = results.get(fence)
        if result is None:
            return marker(fence, caption)
        if fence.automatic and is_skipped(result):
            return ""
        if isinstance(result, OptionError):
            body = read_fence(fence)
            return error_box(body.target, result.problems, body.options.get("name") or "", translate)
        outcome = _loaded(result, is_paper=script is None)
        tell_author(outcome)
        can_hide = script is not None
        try:
            shown = figure(outcome, copies, find, caption=caption, can_hide=can_hide, save=save, translate=translate)
        except Exception as unexpected:  # of one figure, which must not cost the page
            error = unforeseen(outcome.request.recording.target, unexpected)
            Report().warn(message(error), fence.page, error.details())
            return error_box(outcome.request.recording.target, (str(error),), outcome.request.figure.name, translate)
        is_shut = fence.automatic and can_hide and outcome.diagram is not None and is_closed(outcome, place)
        return closed(shown, outcome, translate) if is_shut else shown

    filled = replace_markers(html, placed)
    before, end, after = filled.rpartition("</figure>")
    if not end:
        return filled
    # In the figure, whose words no search finds.
    return f"{before}{style}{script or '' if 'torchrecorder-zoom' in before else ''}{end}{after}"


def _loaded(outcome: Outcome, *, is_paper: bool) -> Outcome:
    """The outcome with the pictures that are shown; on paper its first depth alone, since nothing switches there."""
    loaded = outcome.loaded()
    if loaded.error is not None and loaded.error is not outcome.error:  # its pictures have left the cache
        text = f"{loaded.request.recording.target}: {message(loaded.error)}"
        Report().warn(text, details=loaded.error.details())
    if is_paper and loaded.diagram is not None:
        return replace(loaded, diagram=replace(loaded.diagram, steps=()))
    return loaded


def drop_markers(html: str, page: str) -> str:
    """The HTML of a finished page with a box for each marker that is left in it, of which a warning tells."""
    report = Report()

    def box(fence: Fence, _: str) -> str:
        which = f"for a fence of {fence.page or 'another page'}" if fence.raw else "that another version has left"
        text = f"a marker {which} came into this page when all was drawn: empty the cache of the plugin that put it in"
        report.warn(text, page)
        return error_box(read_fence(fence).target, (text,))

    return replace_markers(html, box)


def _request(fence: Fence, options: Mapping[str, str]) -> DiagramRequest | Result:
    try:
        if fence.problem:
            raise OptionError((fence.problem,))
        request = read_fence(fence).request(options)
    except OptionError as error:
        return error
    if not fence.automatic:
        return request
    how, pattern, needed, *_ = (*fence.automatic.split(" "), "", "")
    request = as_asked(request, pattern, is_tried=how == "tried")
    return asked_for(request, needs([name for name in needed.split(",") if name]))


def _page_options(page: MarkdownPage, report: Report | None) -> dict[str, str]:
    """The options in a page's front matter; a wrong one is left out, and warned of if there is a report."""
    if page.options is None:
        return {}
    if not isinstance(page.options, Mapping):
        if report is not None:
            report.warn(f"in the front matter, {KEY} holds options, each in a line `name: value`", page.location())
        return {}
    good, wrong = site_options(page.options)
    if report is not None:
        for problem in wrong:
            report.warn(f"in the front matter, {problem}", page.location())
    return good
