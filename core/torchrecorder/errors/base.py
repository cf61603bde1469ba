"""What all errors are: facts, and three templates that are filled with them, `_summary`, `_hint` and `_details`.

The facts stay readable as attributes; one of several lines is a tuple. In a template a part in brackets,
`[ ({origin})]`, is left out if a fact in it is empty. `to_json` and `from_json` carry an error through the worker's
pipe, and pickling takes the same way.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, ClassVar, dataclass_transform

_OPTIONAL_PART = re.compile(r"\[([^][]*)\]")
_FACT = re.compile(r"\{(\w+)")
_MACHINERY = re.compile(r"[/\\](torchrecorder|IPython|ipykernel)[/\\](?!.*ipykernel_)")
"""In names of files with code of ours, or of what runs a notebook."""
_UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Control characters, those that reverse the direction of a line, and what UTF-8 or XML cannot hold."""
TEXT_LIMIT = 2000
"""Characters of a fact in a message; a model's error may have millions."""
LOG_LIMIT = 50_000
"""The same for details, which go into the log."""
OUT_OF_MEMORY = ("MemoryError", "OutOfMemoryError", "can't allocate memory", "out of memory", "not enough memory")
"""Texts of exceptions that more memory was wanted than there is: Python's and torch's classes, and their messages."""
_TARGET_LIMIT = 160  # the same for a target: arguments that a program has computed may be tables


@dataclass_transform(eq_default=False, field_specifiers=(field,))
@dataclass(eq=False, repr=False)
class TorchRecorderError(Exception):
    """Base class; `kind` is the last part of the warning's name, `torchrecorder.<kind>`."""

    kind: ClassVar[str] = "error"
    _summary: ClassVar[str] = ""
    _hint: ClassVar[str] = ""
    _details: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(eq=False, repr=False)(cls)

    def __str__(self) -> str:
        hint = self.hint()
        return f"{self.summary()}\n{hint}" if hint else self.summary()

    def summary(self) -> str:
        """Sentence on what happened and where."""
        return self._filled(self._summary)

    def hint(self) -> str:
        """Advice on what to do next; empty where the summary says it."""
        return self._filled(self._hint)

    def details(self) -> str:
        """A traceback or the tail of a log, for a person who debugs."""
        return self._filled(self._details)

    def _render_traceback_(self) -> list[str]:
        """Lines that IPython prints for it: frames of the user's code alone, and the message."""
        frames = traceback.extract_tb(self.__traceback__)
        shown = traceback.format_list([it for it in frames if not _MACHINERY.search(it.filename)])
        return [text.rstrip() for text in (*shown, self.details(), f"{type(self).__name__}: {self}") if text]

    def shared(self) -> str:
        """Text that is the same in all failures of one cause; empty if each has to be corrected where it is written."""
        return str(self)

    def to_json(self) -> dict[str, Any]:
        """The error as plain data: its class name and its facts."""
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return {"type": type(self).__name__, **facts}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> TorchRecorderError:
        """The error that `to_json` wrote.

        Raises:
            FormatError: `data` names no error of ours or lacks a fact.
        """
        try:
            cls = _classes()[data["type"]]
            long = _FACT.findall(cls._details)
            facts = {k: _shown(v, LOG_LIMIT if k in long else TEXT_LIMIT) for k, v in data.items() if k != "type"}
            return cls(**facts)
        except (KeyError, TypeError) as error:
            raise FormatError(what="an error message", reason=f"{type(error).__name__}: {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchRecorderError.from_json, (self.to_json(),)

    def _filled(self, template: str) -> str:
        facts = {f.name: _shown(getattr(self, f.name), LOG_LIMIT) for f in fields(self)}
        if "target" in facts:
            facts["target"] = shown_target(facts["target"])
        # The brackets go before the facts come in, which may have brackets of their own.
        known = {name for name, fact in facts.items() if fact}
        template = _OPTIONAL_PART.sub(
            lambda part: part[1] if known.issuperset(_FACT.findall(part[1])) else "", template
        )
        return template.format_map({k: "\n".join(v) if isinstance(v, tuple) else v for k, v in facts.items()})


def shown_text(text: str, limit: int = TEXT_LIMIT) -> str:
    """A text of others without what acts in a terminal or cannot be written, cut to a number of characters."""
    seen = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text[:limit])
    return seen if len(text) <= limit else f"{seen[: limit - 1]}…"


def text_of(error: BaseException) -> str:
    """An exception as `Type: message`; the type alone, if it refuses to say more."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def listed(words: Sequence[str], most: int, rest: str = "more") -> str:
    """The first words, and how many more there are: `conv1, bn1 and 3 more`."""
    more = f" and {len(words) - most} {rest}" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def near_miss(word: str, known: Iterable[str]) -> str:
    """The known word that is most like a word; empty if none is."""
    return next(iter(get_close_matches(word, [*known], 1)), "")


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "", *, lead: str = "", count: int = 1) -> str:
    """The question for the near misses of a word, `did you mean depth?`; other advice if there are none."""
    near = get_close_matches(word, [*known], count)
    return f"{lead}did you mean {' or '.join(near)}?" if near else otherwise


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, what it was raised from, and what was being handled when it was raised, each once."""
    seen: set[int] = set()
    pending = [error]
    while pending:
        raised = pending.pop()
        if raised is not None and id(raised) not in seen:
            seen.add(id(raised))
            yield raised
            pending += [raised.__cause__, raised.__context__]


def shown_target(text: str) -> str:
    """A target for a line of text, with no more than the beginning of its arguments."""
    return text if len(text) <= _TARGET_LIMIT else f"{text[:_TARGET_LIMIT]}…)"


def _shown(fact: Any, limit: int) -> Any:
    if isinstance(fact, str):
        return shown_text(fact, limit)
    return tuple(_shown(part, limit) for part in fact) if isinstance(fact, list | tuple) else fact


def _classes(base: type[TorchRecorderError] = TorchRecorderError) -> dict[str, type[TorchRecorderError]]:
    found = {base.__name__: base}
    for cls in base.__subclasses__():
        found |= _classes(cls)
    return found


class FormatError(TorchRecorderError, ValueError):
    """Stored data cannot be read."""

    kind = "cache"
    _summary = "cannot read {what}: {reason}"
    what: str
    reason: str
