"""How far the recording is, shown as Sphinx shows its own reading and writing."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from sphinx.util import logging
from sphinx.util.display import status_iterator

from torchrecorder.pipeline import Progress

logger = logging.getLogger(__name__)


class ProgressLine:
    """Takes the pipeline's progress; a context manager that ends the last line.

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
            self._line = self._begin(progress)
        self._now = progress
        next(self._line)

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _begin(self, first: Progress) -> Iterator[Progress]:
        recording = first.stage == "recording"
        return status_iterator(
            self._steps(),
            "recording models... " if recording else "drawing diagrams... ",
            "purple",
            first.total if recording else 1,  # all pictures are laid out in one step
            self._verbosity,
            lambda step: step.target or f"{step.total} of them",
        )

    def _steps(self) -> Iterator[Progress]:
        while self._now is not None:
            yield self._now

    def _end(self) -> None:
        self._now = None
        for _ in self._line:
            pass
