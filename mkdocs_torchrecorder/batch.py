"""The diagrams of one page, or of a whole site at once: read, draw, report, put into the HTML.

At once, because starting torch is what costs: one process records all models, and one call of the engine lays out all
pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TypeAlias

from mkdocs_torchrecorder.fence import Fence
from mkdocs_torchrecorder.figure import error_box, figure
from mkdocs_torchrecorder.header import read_fence
from mkdocs_torchrecorder.links import Find, nowhere
from mkdocs_torchrecorder.marker import marked_fences, marker, replace_markers
from mkdocs_torchrecorder.page import KEY, Page
from mkdocs_torchrecorder.report import Report, show_progress
from torchrecorder.errors import NotDrawn, OptionError, OutOfDate, TorchRecorderError
from torchrecorder.page import Copies, Outcome, concerns_build, message
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import DiagramRequest, Settings, site_options
from torchrecorder.worker.client import PersistentWorker

Result: TypeAlias = Outcome | OptionError
Results: TypeAlias = dict[Fence, Result]
"""What became of the fences of one page."""


@dataclass(frozen=True, slots=True)
class Batch:
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


def draw(pages: Sequence[Page], settings: Settings, lasting: PersistentWorker | None = None) -> Batch:
    """Draw what the markers of the pages ask for, and warn of what cannot be drawn.

    Args:
        pages: All that are to be drawn at once.
        settings: Of the build.
        lasting: Records for one build after the other.
    """
    report = Report()
    wanted = [_requests(page, settings.options, report) for page in pages]
    pipeline = Pipeline(settings, None if lasting is None else lambda _: lasting.open(settings))
    requests = [request for asked in wanted for request in asked.values() if isinstance(request, DiagramRequest)]
    outcomes = pipeline.run(requests, show_progress)
    results = [
        {fence: outcomes[it] if isinstance(it, DiagramRequest) else it for fence, it in asked.items()}
        for asked in wanted
    ]
    report.doubts(outcome.info for outcome in outcomes.values())
    _report(pages, results, report)
    for text in pipeline.problems().values():
        report.warn(text)
    if pipeline.cache.notice:
        report.say(pipeline.cache.notice)
    errors = [outcome.error for outcome in outcomes.values()]
    stale = [message(error) for error in errors if isinstance(error, OutOfDate) and error.is_fatal]
    return Batch(results, report.warnings, stale)


def fill(html: str, results: Mapping[Fence, Result], find: Find = nowhere, script: str | None = None) -> str:
    """The HTML of a page with its diagrams; markers of other fences stay.

    Args:
        html: Of the page.
        results: What became of its fences.
        find: Knows the pages that pictures link to.
        script: Address of the script, seen from the page; None if it has none, and no style sheet either.
    """
    copies = Copies()

    def shown(fence: Fence) -> str:
        result = results.get(fence)
        if result is None:
            return marker(fence)
        if isinstance(result, OptionError):
            body = read_fence(fence)
            return error_box(body.target, "\n".join(result.problems), body.options.get("name") or "")
        result = _at_hand(result)
        copy = copies.add(result.diagram) if result.diagram else 1
        return figure(result, copy, find, can_hide=script is not None)

    filled = replace_markers(html, shown)
    before, end, after = filled.rpartition("</figure>")
    if script is None or "torchrecorder-zoom" not in before:
        return filled
    return f'{before}{end}<script src="{escape(script)}" defer></script>{after}'


def _at_hand(outcome: Outcome) -> Outcome:
    """The outcome with its pictures read; warns if they went meanwhile and cannot be made again."""
    found = outcome.at_hand()
    if found.error is not None and found.error is not outcome.error:
        text = f"{outcome.request.recording.target}: {message(found.error)}"
        Report().warn(text, details=found.error.details())
    return found


def _requests(page: Page, site: Mapping[str, str], report: Report) -> dict[Fence, DiagramRequest | OptionError]:
    here = {**site, **_page_options(page, report)}
    asked: dict[Fence, DiagramRequest | OptionError] = {}
    for fence in marked_fences(page.html):
        try:
            asked[fence] = read_fence(fence).request(here)
        except OptionError as error:
            asked[fence] = error
    return asked


def _page_options(page: Page, report: Report) -> dict[str, str]:
    """The options in a page's front matter; a wrong one is warned of once and left out."""
    if page.options is None:
        return {}
    if not isinstance(page.options, Mapping):
        report.warn(f"in the front matter, {KEY} holds options, each in a line `name: value`", page.location())
        return {}
    good, wrong = site_options({str(name): value for name, value in page.options.items()})
    for problem in wrong:
        report.warn(f"in the front matter, {problem}", page.location())
    return good


def _report(pages: Sequence[Page], results: Sequence[Results], report: Report) -> None:
    concerned: dict[type[TorchRecorderError], list[TorchRecorderError]] = {}
    for page, fence, error in _errors(pages, results):
        if concerns_build(error):
            concerned.setdefault(type(error), []).append(error)
        else:
            report.warn(message(error), page.location(fence), error.details())
    for errors in concerned.values():
        report.warn(message(errors[0], missing=len(errors)))


def _errors(pages: Sequence[Page], results: Sequence[Results]) -> Iterator[tuple[Page, Fence, TorchRecorderError]]:
    for page, of_page in zip(pages, results, strict=True):
        for fence, result in of_page.items():
            error = result if isinstance(result, OptionError) else result.error
            if error is not None and not isinstance(error, NotDrawn):
                yield page, fence, error
