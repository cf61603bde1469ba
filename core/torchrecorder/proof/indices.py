"""Stretches of axes that indices and spans of them take: `[:, 4:]`, `[:, :36…288]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Stretch = tuple[int, int]
"""Beginning and end along an axis."""
_SPAN = re.compile(r"(\d+)(?:…(\d+))?")
_ALL = re.compile(r"(?:(?<=\[)|(?<= ))(?::|\.\.\.), |, (?::|\.\.\.)(?=[,\]])")
"""Axes of which an index takes all."""


def is_in_span(words: str, text: str) -> bool:
    """Whether words such as `[:, :36…288]` hold an index such as `[:, :72]`."""
    if _pattern(words) != _pattern(text):
        return False
    spans = ((int(first), int(last or first)) for first, last in _SPAN.findall(words))
    return all(min(span) <= int(n) <= max(span) for span, (n, _) in zip(spans, _SPAN.findall(text), strict=True))


def beyond_span(words: str, texts: Iterable[str]) -> str:
    """The fault of words such as `[:, :36…288]`: an index that they do not hold, or an end that no index has."""
    texts, spans = [*texts], _SPAN.findall(words)
    wrong = [f"leaves out “{it}”" for it in texts if _pattern(words) == _pattern(it) and not is_in_span(words, it)]
    alike = [text for text in texts if _pattern(_ALL.sub("", words)) == _pattern(_ALL.sub("", text))]  # of other axes
    for span, there in zip(spans, zip(*map(_SPAN.findall, alike), strict=True), strict=False):
        wrong += [f"has an end {end} that nothing takes" for end in span if end and (end, "") not in there]
    return min(wrong, default="")


def _pattern(words: str) -> str:
    return _SPAN.sub("#", words)


def stretches_of(text: str, shape: Sequence[int]) -> list[Stretch]:
    """By axis the stretch that an index takes."""
    indices = [index for index in text.strip("[]()").rstrip(",").split(", ") if index != "None"]
    if "..." in indices:
        at = indices.index("...")
        indices[at : at + 1] = [":"] * (len(shape) - len(indices) + 1)
    region = [(0, size) for size in shape]
    for axis, (index, size) in enumerate(zip(indices, shape, strict=False)):
        bounds = [int(bound) if bound else None for bound in index.split(":")]
        start, stop, _ = slice(*bounds).indices(size) if ":" in index else (int(index) % size, int(index) % size + 1, 1)
        region[axis] = start, stop
    return region


def is_within(region: Sequence[Stretch], words: str, shape: Sequence[int]) -> bool:
    """Whether a region is what an index takes, or between the ends of one such as `[:, :36…288]`."""
    ends = _SPAN.sub(r"\1", words), re.sub(r"\d+…", "", words)
    bounds = zip(region, *(stretches_of(end, shape) for end in ends), strict=True)
    return all(min(a, b) <= at <= max(a, b) for own, *of in bounds for at, a, b in zip(own, *of, strict=True))


def together(regions: Sequence[list[Stretch]]) -> list[Stretch] | None:
    """The stretches of several regions together; None if they do not meet, or differ in more than one axis."""
    union = [*regions[0]]
    for axis, stretches in enumerate(zip(*regions, strict=True)):
        ordered = sorted({*stretches})
        union[axis] = ordered[0][0], max(stop for _, stop in ordered)
        if any(start > before for (start, _), (_, before) in zip(ordered[1:], ordered, strict=False)):
            return None
    return union if sum(len({*stretches}) > 1 for stretches in zip(*regions, strict=True)) < 2 else None
