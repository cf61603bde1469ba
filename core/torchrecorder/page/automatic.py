"""Automatic diagrams: which are left out of their pages, what a build says of those, and which stand there closed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchrecorder.errors import (
    FailedInside,
    ForwardError,
    InputError,
    NotAModule,
    OptionError,
    TargetBuildFailed,
    TargetError,
    TorchMissing,
    TorchRecorderError,
    WorkerCrashed,
    WorkerTimeout,
    listed,
)
from torchrecorder.page.diagram import Outcome
from torchrecorder.request import DiagramRequest, parse_target

OPEN_HEIGHT = 600
"""The height in CSS pixels up to which a picture stands open in its page."""

_OF_THE_MODEL = (TargetError, InputError, ForwardError, WorkerTimeout, WorkerCrashed, FailedInside, TorchMissing)
_NAMED = 5
"""How many classes one line names of those that failed for one kind of reason."""
_WORDS: tuple[tuple[type[TorchRecorderError], str], ...] = (
    (InputError, "no inputs found for"),
    (TargetBuildFailed, "cannot be built without arguments:"),
    (TargetError, "cannot be imported:"),
    (ForwardError, "the forward fails in"),
    (WorkerTimeout, "too slow:"),
    (TorchMissing, "not recorded before, and no torch is here for"),
    (TorchRecorderError, "the recording process fails for"),
)


def asked_for(request: DiagramRequest, obstacle: str) -> DiagramRequest | Outcome:
    """What is to be recorded of a documented class, or what became of it, if no recording is needed to know that.

    Args:
        request: What its rule asks for.
        obstacle: Why it cannot be built without arguments; empty if nothing is known.
    """
    target = request.recording.target
    if not request.is_tried or not obstacle or "(" in target:
        return request
    return Outcome(request, None, TargetBuildFailed(target, obstacle))


def needs(parameters: Sequence[str]) -> str:
    """The obstacle that a constructor has parameters without defaults; empty if it has none."""
    return f"its constructor needs {', '.join(parameters)}" if parameters else ""


def is_skipped(result: Outcome | OptionError) -> bool:
    """Whether a page shows nothing in place of a diagram: it failed, and neither a page nor a pattern names it."""
    if isinstance(result, OptionError):
        return False
    by_name = not result.request.is_tried
    if isinstance(result.error, NotAModule):
        return not by_name or "*" in result.request.pattern  # a package has other classes, too
    return not by_name and isinstance(result.error, _OF_THE_MODEL)


def is_closed(outcome: Outcome, place: str) -> bool:
    """Whether an automatic diagram stands under a closed summary.

    Args:
        outcome: With a diagram.
        place: The setting `autodoc_place`.
    """
    assert outcome.diagram is not None
    return place == "summary" or (place == "auto" and outcome.diagram.size[1] > OPEN_HEIGHT)


def said_of_tried(outcomes: Iterable[Outcome]) -> tuple[str, str]:
    """What became of the diagrams that were tried, in one line; and, of each that is left out, why."""
    tried = [it for it in outcomes if it.request.is_tried and not isinstance(it.error, NotAModule)]
    if not tried:
        return "", ""
    by_words: dict[str, list[str]] = {}
    reasons: list[str] = []
    for outcome in tried:
        if (error := outcome.error) is not None and is_skipped(outcome):
            name = parse_target(outcome.request.recording.target).dotted
            words = next(words for kind, words in _WORDS if isinstance(error, kind))
            if "(" in outcome.request.recording.target:
                words = words.replace("without arguments", "with these arguments")
            by_words.setdefault(words, []).append(name)
            reasons.append(f"{name}: {error.summary()}")
    text = f"automatic diagrams: {len(tried) - len(reasons)} drawn"
    if reasons:
        why = "; ".join(f"{words} {listed([*dict.fromkeys(names)], _NAMED)}" for words, names in by_words.items())
        text += f", {len(reasons)} not: {why}"
    return text, "\n".join(reasons)
