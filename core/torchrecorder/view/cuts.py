"""Cuts of tensors: an index or a split, and the stretch of an axis that it takes, in words of the code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_NUMBER = re.compile(r"\d+")


class Slice(NamedTuple):
    """A step from a tensor to a part of it."""

    of: int
    """Id of the value that it takes a part of."""
    axis: int
    """-1 if it takes a stretch of several axes."""
    start: int
    stop: int
    words: str
    pieces: int = 0
    """Into how many equal parts it was split; 0 if the code gives a stretch."""
    name: str = ""
    """The variable that gets it, `gate`, where no other tensor has that name."""


def _pattern(words: str) -> str:
    return _NUMBER.sub("#", words)


def span_of(turns: Sequence[str]) -> str:
    """The words of what is read in several turns: `[:, :36…288]`; empty if they differ in more than numbers."""
    if len({*map(_pattern, turns)}) > 1:
        return ""
    numbers = zip(*map(_NUMBER.findall, turns), strict=True)
    ends = [(of, min(of, key=int), max(of, key=int)) for of in numbers]
    # they may shrink from turn to turn, or be in no order
    spans = iter([a if a == b else f"{b}…{a}" if (of[0], of[-1]) == (b, a) else f"{a}…{b}" for of, a, b in ends])
    return _NUMBER.sub(lambda _: next(spans), turns[0])


def stretches(cuts: Iterable[Slice]) -> Iterator[tuple[int, int]]:
    """Stretches of an axis, those that meet as one."""
    ordered = sorted((cut.start, cut.stop) for cut in cuts)
    start, stop = ordered[0]
    for begin, end in ordered[1:]:
        if begin > stop:
            yield start, stop
            start = begin
        stop = max(stop, end)
    yield start, stop


def bracket(axis: int, whole: Sequence[int], start: int, stop: int) -> str:
    """A stretch of an axis as an index."""
    text = f"{start or ''}:{stop if stop != whole[axis] else ''}"
    return f"[..., {text}]" if axis > 1 and axis == len(whole) - 1 else f"[{':, ' * axis}{text}]"


def cut_by_index(source: int, text: str, whole: Sequence[int]) -> Slice:
    inner = text[1:-1].rstrip(",") if text.startswith("(") else text
    indices = [index for index in inner.split(", ") if index != "None"]
    if "..." in indices:
        at = indices.index("...")
        indices[at : at + 1] = [":"] * (len(whole) - len(indices) + 1)
    taken = [(axis, *_bounds(index, whole[axis])) for axis, index in enumerate(indices[: len(whole)])]
    cut = [(axis, start, stop) for axis, start, stop in taken if (start, stop) != (0, whole[axis])]
    axis, start, stop = cut[0] if len(cut) == 1 else (-1, 0, 0)
    return Slice(source, axis, start, stop, f"[{inner}]")


def _bounds(index: str, size: int) -> tuple[int, int]:
    if ":" not in index:
        return (start := int(index) % size), start + 1
    first, _, last = index.partition(":")
    return slice(*(int(text) if text else None for text in (first, last))).indices(size)[:2]
