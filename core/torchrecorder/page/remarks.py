"""What is said of diagrams, in the same words in every tool: to the readers of a page, and in the log of a build."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from torchrecorder.errors import (
    EngineNotFound,
    FailedInside,
    NotDrawn,
    OptionError,
    OutOfDate,
    StylerError,
    TorchMissing,
    TorchRecorderError,
    WorkerError,
    WorkerNotStarted,
)
from torchrecorder.page.automatic import is_skipped, said_of_tried
from torchrecorder.page.diagram import Outcome
from torchrecorder.page.words import GRADES, Translate, in_english, translated
from torchrecorder.request import parse_target

Place = TypeVar("Place")
"""How a front end knows the directive or the fence that asks for a diagram."""

_LOG_LINES = 5
_LISTED = 20
"""How many places of one cause are written out."""
_LISTED_TIMES = 5
_FEW = 10
"""So few recordings need no list of times."""
_HOW_IT_RAN = re.compile(r"the forward ran |\w+ stands for ")
_PLACE = re.compile(r" ([\w-]+)/\S*\.py:\d+(, [\d…]+)*$")
"""Lines of a file in a package, whose name comes first, at the end of notes of a recording."""
_SETTING = re.compile(r"the setting `(\w+)`")
"""What errors call a setting, which each tool writes in its own way."""


@dataclass(frozen=True, slots=True)
class LogEntry(Generic[Place]):
    """One message of a build about its diagrams."""

    text: str
    kind: str = ""
    """Of a warning, the last part of its name, `torchrecorder.<kind>`; empty if it is information."""
    place: Place | None = None
    """Where a warning belongs; None if it concerns the whole build."""
    details: str = ""
    """A traceback or the tail of a log, for those who debug; of information, what it sums up."""
    also: tuple[Place, ...] = ()
    """Further places of a warning, where the same cause has failed."""


def log_entries(
    results: Iterable[tuple[Place, Outcome | OptionError]], problems: Mapping[str, str], notice: str
) -> Iterator[LogEntry[Place]]:
    """What a build logs once its diagrams are drawn.

    Each failure is a warning at its place; one cause that fails at several is one warning. One that no page can be
    blamed for is a warning once for the whole build, with the number of diagrams that it costs.

    Args:
        results: What became of each directive or fence.
        problems: Of the pipeline, each with the kind of its warning.
        notice: Of the caches, as information.
    """
    results = list(results)
    tried, reasons = said_of_tried(result for _, result in results if isinstance(result, Outcome))
    results = _without_skipped(results)
    for info in dict.fromkeys(result.info for _, result in results if isinstance(result, Outcome)):
        if info:
            yield LogEntry(info)
    located: dict[object, list[tuple[Place, Outcome | OptionError]]] = {}
    build_wide: dict[type[TorchRecorderError], list[TorchRecorderError]] = {}
    for place, result in results:
        error = result if isinstance(result, OptionError) else result.error
        if isinstance(result, Outcome) and result.request.left_out:
            left_out = result.request.left_out
            without = f"the diagram is drawn without {'it' if len(left_out) == 1 else 'them'}"
            yield LogEntry("\n".join((*left_out, without)), OptionError.kind, place)
        if error is None or isinstance(error, NotDrawn):
            continue
        if is_build_wide(error):
            build_wide.setdefault(type(error), []).append(error)
        else:
            located.setdefault((type(error), error.shared() or (place, str(error))), []).append((place, result))
    for (place, result), *same in located.values():
        yield replace(_failure(result, place), also=tuple(dict.fromkeys(it for it, _ in same if it != place)))
    for first, *others in build_wide.values():
        yield LogEntry(message(first, missing=1 + len(others)), first.kind, None, first.details())
    for kind, text in problems.items():
        yield LogEntry(text, kind)
    if notice:
        yield LogEntry(notice)
    if tried:
        yield LogEntry(tried, details=reasons)


def _without_skipped(results: list[tuple[Place, Outcome | OptionError]]) -> list[tuple[Place, Outcome | OptionError]]:
    """The results that a build speaks of one by one.

    Where torch is missing, what was drawn elsewhere is there, and what could not be drawn there is not missing.
    """
    any_is_drawn = any(isinstance(it, Outcome) and it.request.is_tried and it.diagram for _, it in results)
    return [
        (place, it)
        for place, it in results
        if isinstance(it, OptionError)
        or not is_skipped(it)
        or (it.error is not None and is_build_wide(it.error) and not any_is_drawn)
    ]


def failure(error: TorchRecorderError, place: Place | None) -> LogEntry[Place]:
    """The warning of a diagram that failed, at its place."""
    return LogEntry(message(error), error.kind, place, error.details())


def _failure(result: Outcome | OptionError, place: Place) -> LogEntry[Place]:
    if isinstance(result, OptionError):
        return failure(result, place)
    assert result.error is not None
    entry = failure(result.error, place)
    if not result.request.pattern:
        return entry
    name = parse_target(result.request.recording.target).dotted
    advice = f'the pattern {result.request.pattern!r} asks for it; "{name}": False leaves it out'
    return replace(entry, text=f"{entry.text}\n{advice}")


def warning_text(text: str, also: Sequence[str], setting: str) -> str:
    """A warning as a tool writes it.

    Args:
        text: Of its entry.
        also: Further places of it.
        setting: How the tool writes a setting, with `{}` for its name.
    """
    named = _SETTING.sub(lambda found: setting.format(found[1]), text)
    more = f" and {len(also) - _LISTED} more" if len(also) > _LISTED else ""
    return "\n  ".join([f"{named}\nthe same at", *also[:_LISTED]]) + more if also else named


def problems_of(error: TorchRecorderError) -> tuple[str, ...]:
    """What a box in a page says, each problem by itself."""
    return error.problems if isinstance(error, OptionError | StylerError) else (error.summary(),)


def slowest(seconds: Mapping[str, float]) -> str:
    """What a build logs of the time that its recordings took; nothing if they are few.

    Args:
        seconds: Of each recording, by target.
    """
    if len(seconds) <= _FEW:
        return ""
    most = sorted(seconds.items(), key=lambda pair: -pair[1])[:_LISTED_TIMES]
    lines = (f"{time:8.2f} s  {target}" for target, time in most)
    return "\n".join((f"the slowest of {len(seconds)} recordings, {sum(seconds.values()):.1f} s in all:", *lines))


def fatal_messages(results: Iterable[Outcome | OptionError]) -> list[str]:
    """What ends a build: diagrams that are out of date where the settings do not allow it; each text once."""
    errors = (result.error for result in results if isinstance(result, Outcome))
    fatal = [message(error) for error in errors if isinstance(error, OutOfDate) and error.is_fatal]
    return list(dict.fromkeys(fatal))


def is_build_wide(error: TorchRecorderError) -> bool:
    """Whether no page can be blamed for it; then it is logged once, however many diagrams it costs."""
    is_inside = isinstance(error, FailedInside) and error.at_start
    return is_inside or isinstance(error, EngineNotFound | TorchMissing | WorkerNotStarted)


def message(error: TorchRecorderError, missing: int = 0) -> str:
    """The text of a warning.

    Args:
        error: What happened. If a process died, the last lines of its log are added, since nothing else says why.
        missing: How many diagrams it costs, if it is logged once for all of them.
    """
    lines = [str(error)]
    if isinstance(error, WorkerError):
        lines += error.details().splitlines()[-_LOG_LINES:]
    if missing:
        lines[0] = f"{missing} diagram{' is' if missing == 1 else 's are'} missing: {lines[0]}"
    return "\n".join(lines)


def with_code(note: str) -> list[tuple[str, bool]]:
    """The stretches of a note, and whether each is code, which stands between backticks."""
    stretches = note.split("`")
    if len(stretches) % 2 == 0:  # the code has a backtick of its own
        return [(note, False)]
    return [(text, i % 2 == 1) for i, text in enumerate(stretches) if text]


def reader_notes(outcome: Outcome, translate: Translate = in_english) -> tuple[str, ...]:
    """What a reader should know of a picture: where it ends too early, what was guessed, what it does not show."""
    if outcome.diagram is None:
        return ()
    notes: list[str] = []
    if isinstance(outcome.error, OutOfDate):
        notes.append(f"This diagram is out of date: {'; '.join(outcome.error.reasons)}")
    elif outcome.error is not None:
        notes.append(f"This diagram is not complete: {outcome.error.summary()}")
    facts = outcome.diagram.facts
    if guessed := facts.get("guessed"):
        template = translate(GRADES.get(facts.get("grade", ""), "{}"))
        notes.append(template.format(translated(guessed, translate)))
    notes += [note for note in outcome.diagram.notes if _is_for_readers(note, outcome)]
    return tuple(translated(note, translate) for note in notes)


def author_notes(outcome: Outcome) -> tuple[str, ...]:
    """What only the author of a model can use: it goes to the log of a build that writes the page, at `-v`."""
    target = outcome.request.recording.target
    if outcome.diagram is None:
        return ()
    notes = [note for note in outcome.diagram.notes if not _is_for_readers(note, outcome)]
    return tuple(f"{target}: {note}" for note in (*notes, *outcome.diagram.weakened))


def _is_for_readers(note: str, outcome: Outcome) -> bool:
    """Whether a note is not about how a model was run, or about lines of a library."""
    if _HOW_IT_RAN.match(note):
        return False
    found = _PLACE.search(note)
    return found is None or found[1] == parse_target(outcome.request.recording.target).dotted.partition(".")[0]
