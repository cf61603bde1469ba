"""What the log of a build says of its diagrams, in the same words in every tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from torchrecorder.errors import (
    EngineNotFound,
    FailedInside,
    ForwardError,
    InputError,
    LeftOut,
    NotAModule,
    NotDrawn,
    OptionError,
    OutOfDate,
    TargetBuildFailed,
    TargetError,
    TorchMissing,
    TorchRecorderError,
    WorkerError,
    WorkerNotStarted,
    WorkerTimeout,
    listed,
)
from torchrecorder.page.outcome import Outcome
from torchrecorder.request import parse_target

Place = TypeVar("Place")
"""How a front end knows the directive or the fence that asks for a diagram."""

_LOG_LINES = 5
"""Lines of a dead process's log in a warning: its last exception is there, and one warning fits on a screen."""
_LISTED = 20  # places of one cause that are written out
_LISTED_TIMES = 5  # recordings in the list of times: those that are worth a look
_FEW = 10  # so few recordings need no list of times
_SETTING = re.compile(r"the setting `(\w+)`")
"""The words for a setting in errors, which each tool writes in its own way."""
_NAMED = 5  # classes that one line names of those that failed for one kind of reason
_MANY = 10  # classes without a picture, above which a build names the command that writes patterns for them
_WORDS: tuple[tuple[type[TorchRecorderError], str], ...] = (
    (LeftOut, "little to show in"),
    (InputError, "no inputs found for"),
    (TargetBuildFailed, "cannot be built without arguments:"),
    (TargetError, "cannot be imported:"),
    (ForwardError, "the forward fails in"),
    (WorkerTimeout, "too slow:"),
    (TorchMissing, "not recorded before, and no torch is here for"),
    (TorchRecorderError, "the recording process fails for"),
)


class Message(NamedTuple):
    """Message of a build in the log of its tool."""

    text: str
    """Empty if there are only details."""
    kind: str = ""
    """Of a warning, the last part of its name, `torchrecorder.<kind>`; empty if it is information."""
    place: str = ""
    """Where a warning belongs, as the tool writes it; empty if that is the whole build."""
    details: str = ""
    """A traceback or the tail of a log, for those who debug; of information, what it sums up."""


def log_entries(
    results: Iterable[tuple[Place, Outcome]], problems: Mapping[str, str], notice: str, locate: Callable[[Place], str]
) -> Iterator[Message]:
    """Messages of a build once its diagrams are drawn.

    Each failure is a warning at its place; one cause that fails at several is one warning. One that no page can be
    blamed for is a warning once for the whole build, with the number of diagrams that it costs.

    Args:
        results: What became of each directive or fence.
        problems: Of the pipeline, each with the kind of its warning.
        notice: Of the caches, as information.
        locate: Where a directive or fence is, as the tool writes it.
    """
    results = [(place, each) for place, result in results for each in (result, *result.models)]
    tried, reasons = said_of_tried(result for _, result in results)
    results = _without_skipped(results)
    for info in dict.fromkeys(result.info for _, result in results if result.info):
        yield Message(info)
    located: dict[object, list[tuple[Place, Outcome]]] = {}
    build_wide: dict[type[TorchRecorderError], list[TorchRecorderError]] = {}
    for place, result in results:
        error = result.error
        if left_out := result.request.left_out:
            without = f"the diagram is drawn without {'it' if len(left_out) == 1 else 'them'}"
            yield Message("\n".join((*left_out, without)), OptionError.kind, locate(place))
        if error is None or isinstance(error, NotDrawn):
            continue
        if is_build_wide(error):
            build_wide.setdefault(type(error), []).append(error)
        else:
            located.setdefault((type(error), error.shared() or (place, str(error))), []).append((place, result))
    for same in located.values():
        yield _failure(same[0][1], [*dict.fromkeys(locate(place) for place, _ in same)])
    for first, *others in build_wide.values():
        yield Message(message(first, missing=1 + len(others)), first.kind, details=first.details())
    yield from (Message(text, kind) for kind, text in problems.items())
    if notice:
        yield Message(notice)
    if tried:
        yield Message(tried, details=reasons)


def _without_skipped(results: list[tuple[Place, Outcome]]) -> list[tuple[Place, Outcome]]:
    # Where torch is missing, what was drawn elsewhere is there, and what could not be drawn there is not missing.
    any_is_drawn = any(outcome.request.is_tried and outcome.diagram for _, outcome in results)
    errors = (outcome.error for _, outcome in results if not any_is_drawn)
    missing = {error for error in errors if error is not None and is_build_wide(error)}
    return [(place, outcome) for place, outcome in results if not outcome.is_skipped or outcome.error in missing]


def _failure(result: Outcome, places: Sequence[str]) -> Message:
    error = result.error
    assert error is not None
    text = message(error)
    if result.request.pattern:
        name = parse_target(result.request.recording.target).dotted
        text += f'\nthe pattern {result.request.pattern!r} asks for it; "{name}": False leaves it out'
    return Message(with_places(text, places[1:]), error.kind, places[0], error.details())


def with_places(text: str, also: Sequence[str]) -> str:
    """A warning with the further places of its cause."""
    more = f" and {len(also) - _LISTED} more" if len(also) > _LISTED else ""
    return "\n  ".join([f"{text}\nthe same at", *also[:_LISTED]]) + more if also else text


def with_setting(text: str, written: str) -> str:
    """A warning that names settings as its tool does, which writes one as `written`, with `{}` for its name."""
    return _SETTING.sub(lambda match: written.format(match[1]), text)


def slowest(seconds: Mapping[str, float]) -> str:
    """List of the recordings that took longest, given the seconds of each by target; empty if there are few."""
    if len(seconds) <= _FEW:
        return ""
    most = sorted(seconds.items(), key=lambda pair: -pair[1])[:_LISTED_TIMES]
    lines = (f"{time:8.2f} s  {target}" for target, time in most)
    return "\n".join((f"the slowest of {len(seconds)} recordings, {sum(seconds.values()):.1f} s in all:", *lines))


def fatal_messages(results: Iterable[Outcome]) -> list[str]:
    """Messages that end a build: of diagrams that are out of date where the settings do not allow it; each once."""
    errors = (result.error for result in results)
    fatal = [message(error) for error in errors if isinstance(error, OutOfDate) and error.is_fatal]
    return list(dict.fromkeys(fatal))


def is_build_wide(error: TorchRecorderError) -> bool:
    """Whether no page can be blamed for it; then it is logged once, however many diagrams it costs."""
    is_inside = isinstance(error, FailedInside) and error.at_start
    return is_inside or isinstance(error, EngineNotFound | TorchMissing | WorkerNotStarted)


def message(error: TorchRecorderError, missing: int = 0) -> str:
    """Text of a warning, with the number of diagrams that are missing if it is logged once for all of them."""
    # Nothing else says why a process died.
    lines = [str(error), *(error.details().splitlines()[-_LOG_LINES:] if isinstance(error, WorkerError) else ())]
    if missing:
        lines[0] = f"{missing} diagram{' is' if missing == 1 else 's are'} missing: {lines[0]}"
    return "\n".join(lines)


def said_of_tried(outcomes: Iterable[Outcome]) -> tuple[str, str]:
    """Summary of the diagrams that were tried, in one line; and the reason for each that is left out."""
    tried = [each for each in outcomes if each.request.is_tried and not isinstance(each.error, NotAModule)]
    if not tried:
        return "", ""
    by_words: dict[str, list[str]] = {}
    reasons: list[str] = []
    for outcome in tried:
        if (error := outcome.error) is not None and outcome.is_skipped:
            name = parse_target(outcome.request.recording.target).dotted
            words = next(words for kind, words in _WORDS if isinstance(error, kind))
            if "(" in outcome.request.recording.target:
                words = words.replace("without arguments", "with these arguments")
            by_words.setdefault(words, []).append(name)
            reasons.append(f"{name}: {error.reason if isinstance(error, LeftOut) else error.summary()}")
    text = f"automatic diagrams: {len(tried) - len(reasons)} drawn"
    if reasons:
        why = "; ".join(f"{words} {listed([*dict.fromkeys(names)], _NAMED)}" for words, names in by_words.items())
        text += f", {len(reasons)} not: {why}"
    if len(reasons) > _MANY:
        text += "; `torchrecorder suggest docs` prints settings with which more can be drawn"
    return text, "\n".join(reasons)
