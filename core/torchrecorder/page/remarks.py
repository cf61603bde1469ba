"""What is said around a picture and in place of one that failed, in the same words in every tool."""

from __future__ import annotations

from collections.abc import Iterator

from torchrecorder.errors import (
    EngineNotFound,
    FailedInside,
    OutOfDate,
    TorchMissing,
    TorchRecorderError,
    WorkerError,
    WorkerNotStarted,
)
from torchrecorder.page.diagram import Outcome

_LOG_LINES = 5


def concerns_build(error: TorchRecorderError) -> bool:
    """Whether no page can be blamed for it; then it is said once, however many diagrams it costs."""
    is_inside = isinstance(error, FailedInside) and error.at_start
    return is_inside or isinstance(error, EngineNotFound | TorchMissing | WorkerNotStarted)


def message(error: TorchRecorderError, missing: int = 0) -> str:
    """The text of a warning.

    Args:
        error: What happened. Of a process that died, its last words are told too, since nothing else tells why.
        missing: How many diagrams it costs, if it is said once for all of them.
    """
    lines = [str(error)]
    if isinstance(error, WorkerError):
        lines += error.details().splitlines()[-_LOG_LINES:]
    if missing:
        lines[0] = f"{missing} diagram{' is' if missing == 1 else 's are'} missing: {lines[0]}"
    return "\n".join(lines)


def remarks(outcome: Outcome) -> tuple[str, ...]:
    """What a reader should know of a picture: where it ends too early, what was guessed, what it does not show."""
    return tuple(_remarks(outcome))


def _remarks(outcome: Outcome) -> Iterator[str]:
    if outcome.diagram is None:
        return
    if isinstance(outcome.error, OutOfDate):
        yield f"This diagram is out of date: {'; '.join(outcome.error.reasons)}"
    elif outcome.error is not None:
        yield f"This diagram is not complete: {outcome.error.summary()}"
    if guessed := outcome.diagram.facts.get("guessed"):
        yield guessed
    yield from outcome.diagram.notes
