"""What a build says in Sphinx's log: how far it is, and what failed.

Failures are Sphinx warnings, which `-W` counts and `suppress_warnings` can silence by `torchrecorder.<kind>`. They come
at every build until the cause is gone: a build that fails once under `-W` and passes the next time has hidden it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType

from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.display import status_iterator

from torchrecorder.errors import OptionError
from torchrecorder.page import LogEntry, Outcome, author_notes, fatal_messages, log_entries, warning_text
from torchrecorder.pipeline import Progress

logger = logging.getLogger(__name__)

_TYPE = "torchrecorder"


def report(results: Iterable[tuple[str, Outcome | OptionError]], problems: Mapping[str, str], notice: str) -> None:
    """Warn of each diagram that failed, where it is asked for; and of what concerns the whole build, once.

    Raises:
        ExtensionError: A diagram is out of date, and the settings say that this ends the build.
    """
    results = [
        (place, it)
        for place, it in results
        if isinstance(it, OptionError) or it.error or it.info or it.request.left_out or it.request.is_tried
    ]
    if not results and not problems and not notice:
        return
    for entry in log_entries(results, problems, notice):
        if entry.kind:
            warn(entry)
        else:
            logger.info("torchrecorder: %s", entry.text)
            if entry.details:
                logger.verbose("%s", entry.details)
    if fatal := fatal_messages(result for _, result in results):
        raise ExtensionError("\n".join(fatal), modname=_TYPE)


def tell_author(outcome: Outcome) -> None:
    """Log at `-v` what only the author of a model can use, where a page with its diagram is written."""
    for note in author_notes(outcome):
        logger.verbose("torchrecorder: %s", note)


def warn(entry: LogEntry[str]) -> None:
    """Warn of what an entry says; its places are locations."""
    text = warning_text(entry.text, entry.also, "`torchrecorder_{}` in conf.py")
    logger.warning("%s", text, location=entry.place, type=_TYPE, subtype=entry.kind)
    if entry.details:
        logger.verbose("%s", entry.details, location=entry.place)


class ProgressLine:
    """Shows the pipeline's progress as Sphinx shows its own; a context manager that ends the last line.

    Sphinx shows progress while it iterates over something. We are called instead, so each call moves an iterator one
    step, over whatever is being worked on at that moment.
    """

    def __init__(self, verbosity: int) -> None:
        self._verbosity = verbosity
        self._now: Progress | None = None
        self._line: Iterator[Progress] = iter(())

    def __call__(self, progress: Progress) -> None:
        """Show a step."""
        if self._now is None or self._now.stage != progress.stage:
            self._end()
            is_recording = progress.stage == "recording"
            self._line = status_iterator(
                self._steps(),
                "recording models... " if is_recording else "drawing diagrams... ",
                "purple",
                progress.total if is_recording else 1,  # all pictures are laid out in one step
                self._verbosity,
                lambda step: step.target or f"{step.total} of them",
            )
        self._now = progress
        next(self._line)

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _steps(self) -> Iterator[Progress]:
        while self._now is not None:
            yield self._now

    def _end(self) -> None:
        self._now = None
        for _ in self._line:
            pass
