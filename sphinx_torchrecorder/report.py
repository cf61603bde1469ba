"""What a build says in Sphinx's log: how far it is, and what failed.

Failures are Sphinx warnings, which `-W` counts and `suppress_warnings` can silence by `torchrecorder.<kind>`. They come
at every build until the cause is gone: a build that fails once under `-W` and passes the next time has hidden it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from sphinx.util import logging
from sphinx.util.display import status_iterator

from torchrecorder.site import Message, Progress

logger = logging.getLogger(__name__)

TYPE = "torchrecorder"


def tell(message: Message) -> None:
    """Put a message into the log; its place is a location."""
    if message.kind:
        logger.warning("%s", message.text, location=message.place or None, type=TYPE, subtype=message.kind)
    elif message.text:
        logger.info("torchrecorder: %s", message.text)
    if message.details:
        logger.verbose("%s", message.details, location=message.place or None)


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
