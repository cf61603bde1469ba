"""What a layer says of itself, `8, 16, kernel_size=(3, 3)`, as sizes and named settings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import isclose

from torchrecorder.view.op_families import names

MAX_READ = 2000
"""Longer texts are cut: a module may print a table."""
LISTED = 5
"""Values, or calls with one each, of which all are written."""
_BEGINNING = 3  # of more values that are a range, so many and the last are written
SIZES = ""
"""The name under which sizes are compared: those before the named settings, and those that torch names."""
SIZE_NAMES = names(
    """
    in_features out_features in1_features in2_features num_features in_channels out_channels num_embeddings
    embedding_dim normalized_shape input_size hidden_size num_channels
    """
)
_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_ROUNDED = 2e-3  # relative error of values that are written in four digits
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class ReprArguments:
    unnamed: tuple[str, ...] = ()
    named: dict[str, str] = field(default_factory=dict)

    def get(self, position: int, name: str, default: str = "") -> str:
        if name in self.named:
            return self.named[name]
        return self.unnamed[position] if 0 <= position < len(self.unnamed) else default

    def by_name(self) -> dict[str, str]:
        """Each setting as written, the sizes as one under an empty name."""
        sizes = (*self.unnamed, *(value for name, value in self.named.items() if name in SIZE_NAMES))
        by_name = {SIZES: ", ".join(sizes)} if sizes else {}
        return by_name | {name: value for name, value in self.named.items() if name not in SIZE_NAMES}

    def changed(self, name: str, value: str) -> ReprArguments:
        if name != SIZES:
            return ReprArguments(self.unnamed, self.named | {name: value})
        named = {key: other for key, other in self.named.items() if key not in SIZE_NAMES}
        return ReprArguments(tuple(split(value)), named)


@lru_cache(maxsize=1024)
def read(extra_repr: str) -> ReprArguments:
    """The values in the text; what is not written as arguments are is left out."""
    unnamed: list[str] = []
    named: dict[str, str] = {}
    for part in split(extra_repr[:MAX_READ]):
        match = _NAMED.fullmatch(part)
        if match:
            named[match[1]] = re.sub(r"^\[(.*)\]$", r"(\1)", match[2])  # a list says what a tuple does
        elif part:
            unnamed.append(part)
    return ReprArguments(tuple(unnamed), named)


def split(text: str) -> list[str]:
    """The parts between the commas and line breaks that are in no brackets."""
    parts, level, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "([{":
            level += 1
        elif character in ")]}":
            level -= 1
        elif character in ",\n" and level <= 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]


def side_by_side(values: Sequence[str], mark: str = ", ", *, ends: bool = False) -> str:
    """A few values; of a longer range the first ones and the last, or only its `ends`; of many others nothing."""
    if len(values) > (2 if ends else LISTED) and is_range(values):
        return f"{', '.join(values[: 1 if ends else _BEGINNING])} … {values[-1]}"
    return mark.join(values) if len(values) <= LISTED else ""


def is_range(values: Sequence[str]) -> bool:
    """Whether values follow from the first and the last, by one step or factor."""
    rows = [[*map(float, _NUMBERS.findall(value))] for value in values]
    is_alike = len({_NUMBERS.sub("", value) for value in values}) == 1
    return is_alike and bool(rows[0]) and all(map(_is_even, zip(*rows, strict=True)))


def _is_even(numbers: Sequence[float]) -> bool:
    """Whether numbers, at least one, have one step or one factor."""
    first, last, n = numbers[0], numbers[-1], max(len(numbers) - 1, 1)
    ways = [[first + (last - first) * i / n for i in range(n + 1)]]
    if first * last > 0:
        ways.append([first * (last / first) ** (i / n) for i in range(n + 1)])
    return any(all(map(partial(isclose, rel_tol=_ROUNDED), numbers, way)) for way in ways)
