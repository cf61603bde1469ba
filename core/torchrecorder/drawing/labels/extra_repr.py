"""Reading what a module says of itself: `8, 16, kernel_size=(3, 3), stride=(2, 2)`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)
MAX_READ = 2000
"""Longer texts are cut: a module may print a table."""


@dataclass(frozen=True)
class Said:
    """The values in an `extra_repr`, as text."""

    unnamed: tuple[str, ...] = ()
    named: dict[str, str] = field(default_factory=dict)

    def get(self, position: int, name: str, default: str = "") -> str:
        """The value that is written at a position or under a name."""
        if name in self.named:
            return self.named[name]
        return self.unnamed[position] if 0 <= position < len(self.unnamed) else default


@lru_cache(maxsize=4096)
def read(extra_repr: str) -> Said:
    """The values in the text; what is not written as arguments are is left out."""
    unnamed: list[str] = []
    named: dict[str, str] = {}
    for part in _split(extra_repr[:MAX_READ]):
        match = _NAMED.fullmatch(part)
        if match:
            named[match[1]] = match[2]
        elif part:
            unnamed.append(part)
    return Said(tuple(unnamed), named)


def sizes(value: str) -> tuple[str, ...]:
    """The parts of a tuple, or the value alone: `(3, 3)` gives `3` and `3`."""
    return tuple(part for part in _split(value.strip().strip("()[]")) if part)


def _split(text: str) -> list[str]:
    """The parts between the commas that stand outside brackets."""
    parts, level, start = [], 0, 0
    for position, sign in enumerate(text):
        if sign in "([{":
            level += 1
        elif sign in ")]}":
            level -= 1
        elif sign in ",\n" and level <= 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]
