"""Fences in a page's text: where they are, and which of them are ours.

Other fences are passed over as a unit, so a fence that is shown inside a longer one is never taken for a diagram. A
fence ends where Python-Markdown's own fences end: at a line with just the same signs behind the same indentation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LANGUAGE = "torchrecorder"

_TAB = 4
_OPENING = re.compile(r"(?P<prefix>[ >]*)(?P<signs>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
_OURS = re.compile(r"(?:\{ *)?\.?" + LANGUAGE + r"(?=[\s{}]|$)(?P<header>.*)")


@dataclass(frozen=True, slots=True)
class Fence:
    """One fence as it is written, without the indentation and quote signs before it."""

    header: str
    """What stands behind the word `torchrecorder`."""
    body: str
    raw: str
    """All of it, as it is shown where it is only an example."""
    copy: int = 1
    """Tells it from equal ones before it in the page."""


@dataclass(frozen=True, slots=True)
class Place:
    """A fence, and the lines it takes."""

    fence: Fence
    prefix: str
    """The indentation and quote signs before it."""
    start: int
    """Index of its first line."""
    end: int
    """Index of the line behind it."""


def find_fences(lines: Sequence[str]) -> Iterator[Place]:
    """Our fences, in their order. Tabs must have been expanded."""
    copies: Counter[str] = Counter()
    at = 0
    while at < len(lines):
        opening = _OPENING.fullmatch(lines[at]) if "```" in lines[at] or "~~~" in lines[at] else None
        inner = _inside(lines, at, opening) if opening else None
        if opening is None or inner is None:
            at += 1
            continue
        end = at + len(inner) + 2
        if ours := _OURS.fullmatch(opening["info"].strip()):
            prefix = opening["prefix"]
            raw = "\n".join([lines[at][len(prefix) :], *inner, opening["signs"]])
            copies[raw] += 1
            yield Place(Fence(ours["header"], "\n".join(inner), raw, copies[raw]), prefix, at, end)
        at = end


def find_line(fence: Fence, text: str) -> int | None:
    """Number of the line in the text of a file in which the fence begins; None if it came from elsewhere."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(_TAB).split("\n")
    return next((place.start + 1 for place in find_fences(lines) if place.fence == fence), None)


def _inside(lines: Sequence[str], at: int, opening: re.Match[str]) -> list[str] | None:
    """The lines between an opening and its end, without prefix; None if there is no end."""
    inner: list[str] = []
    for line in lines[at + 1 :]:
        text = _without_prefix(line, opening["prefix"])
        if text is None:
            return None
        if text.rstrip() == opening["signs"]:
            return inner
        inner.append(text if text.strip() else "")
    return None


def _without_prefix(line: str, prefix: str) -> str | None:
    """The line behind the prefix; None if it does not belong to the block that the prefix makes."""
    if line.startswith(prefix):
        return line[len(prefix) :]
    return None if line.strip(" >" if ">" in prefix else " ") else ""
