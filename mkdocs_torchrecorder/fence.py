"""Fences in a page's text: where they are, which of them are ours, what they say, and the markers in their place.

Other fences are passed over as a unit, so a fence that is shown inside a longer one is never taken for a diagram. A
fence ends where Python-Markdown's own fences end: at a line with the same characters behind the same indentation.

Behind `torchrecorder`, the first line may hold a model, `pkg.Net` or `pkg.Net(width=64, depth=2)`, options, `depth=2`
or `shape="1,3; 1,8"`, and attribute lists, `{.wide #net depth=2}`, in any order.

A marker is what stands in the HTML where a diagram will be. It holds the whole fence, so it survives whatever carries
it: caches, the pages of another plugin, a second Markdown for docstrings. The fence is written in letters and digits
only, because such carriers like to rewrite attributes. An empty `<div>` gives nothing to search indexes, and an
unfilled one shows nothing.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from torchrecorder.request import Body, read_body

LANGUAGE = "torchrecorder"

_TAB = 4
_OPENING_LINE = re.compile(r"(?P<prefix>[ >]*)(?P<ticks>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
_OURS = re.compile(r"(?:\{ *)?\.?" + LANGUAGE + r"(?=[\s{}]|$)(?P<header>.*)")

_PAIR = re.compile(r"(?P<name>[A-Za-z][\w-]*)=(?P<value>.*)", re.ASCII | re.DOTALL)
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "\"'"

_MARKER_START = '<div class="torchrecorder-marker" data-fence="'
_MARKER = re.compile(rf'{_MARKER_START}([\w=-]+)"></div>', re.ASCII)
_SHOWN = re.compile(r"<(pre|textarea|script|style)\b.*?</\1>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
"""Where HTML shows or hides text instead of reading it."""


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
class PlacedFence:
    """A fence, and the lines it takes."""

    fence: Fence
    prefix: str
    """The indentation and quote signs before it."""
    start: int
    """Index of its first line."""
    end: int
    """Index of the line behind it."""


def find_fences(lines: Sequence[str]) -> Iterator[PlacedFence]:
    """Our fences, in their order. Tabs must have been expanded."""
    copies: Counter[str] = Counter()
    at = 0
    while at < len(lines):
        opening = _OPENING_LINE.fullmatch(lines[at]) if "```" in lines[at] or "~~~" in lines[at] else None
        inner = _inner_lines(lines, at, opening) if opening else None
        if opening is None or inner is None:
            at += 1
            continue
        end = at + len(inner) + 2
        if ours := _OURS.fullmatch(opening["info"].strip()):
            prefix = opening["prefix"]
            raw = "\n".join([lines[at][len(prefix) :], *inner, opening["ticks"]])
            copies[raw] += 1
            yield PlacedFence(Fence(ours["header"], "\n".join(inner), raw, copies[raw]), prefix, at, end)
        at = end


def find_line(fence: Fence, text: str) -> int | None:
    """Number of the line in the text of a file in which the fence begins; None if it came from elsewhere."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(_TAB).split("\n")
    return next((place.start + 1 for place in find_fences(lines) if place.fence == fence), None)


def _inner_lines(lines: Sequence[str], at: int, opening: re.Match[str]) -> list[str] | None:
    """The lines between an opening and its end, without prefix; None if there is no end."""
    inner: list[str] = []
    prefix = opening["prefix"]
    for line in lines[at + 1 :]:
        text = _without_prefix(line, prefix) if prefix else line
        if text is None:
            return None
        if text.rstrip() == opening["ticks"]:
            return inner
        inner.append(text if text.strip() else "")
    return None


def _without_prefix(line: str, prefix: str) -> str | None:
    """The line behind the prefix; None if it does not belong to the block that the prefix makes."""
    if line.startswith(prefix):
        return line[len(prefix) :]
    return None if line.strip(" >" if ">" in prefix else " ") else ""


def read_fence(fence: Fence) -> Body:
    """What a fence says, in its first line and below."""
    header = read_header(fence.header)
    body = read_body(fence.body.split("\n"), header.target, header.options)
    problems = [*header.problems, *body.problems]
    named = body.options.pop("target", None)
    if named and body.target:
        problems.append(f"two models are named, {body.target} and {named}")
    return Body(body.target or named or "", body.options, tuple(problems), body.legend)


def read_header(text: str) -> Body:
    """What the words say; the body of the fence may say more."""
    target, problems = "", []
    options: dict[str, str | None] = {}
    for word in _words(text):
        name, value = _option(word)
        if name in options and name != "class":
            problems.append(f"{name} is given twice")
        if name:
            options[name] = f"{options[name]} {value}" if name in options and name == "class" else value
        elif target:
            problems.append(f"cannot read {word!r}: the model is {target}, and an option is written `depth=2`")
        else:
            target = word
    return Body(target, options, tuple(problems))


def _option(word: str) -> tuple[str, str]:
    """Name and value; no name if it is not an option. `.wide` is a class and `#net` a name, as in attribute lists."""
    if pair := _PAIR.fullmatch(word):
        value = pair["value"]
        is_quoted = len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]
        return pair["name"].lower(), value[1:-1] if is_quoted else value
    if len(word) > 1 and word[0] in ".#":
        return "class" if word[0] == "." else "name", word[1:]
    return "", ""


def _words(text: str) -> Iterator[str]:
    """Split at spaces, and at the braces of an attribute list; not inside quotes and brackets."""
    word, quote, depth = "", "", 0
    for char in text:
        if not quote and not depth and (char.isspace() or char in "{}"):
            if word:
                yield word
            word = ""
            continue
        word += char
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES and (depth or word in ("'", '"') or word[-2] == "="):
            quote = char  # elsewhere it is an apostrophe
        else:
            depth = max(0, depth + (char in _OPENING) - (char in _CLOSING))
    if word:
        yield word


def marker(fence: Fence) -> str:
    """The marker of a fence."""
    fields = [fence.header, fence.body, fence.raw, fence.copy]
    data = base64.urlsafe_b64encode(json.dumps(fields).encode()).decode()
    return f'{_MARKER_START}{data}"></div>'


def is_marker(text: str) -> bool:
    """Whether the text is a marker and nothing else."""
    return text.startswith(_MARKER_START) and _MARKER.fullmatch(text) is not None


def marked_fences(text: str) -> list[Fence]:
    """The fences of the markers in a piece of HTML, in their order."""
    return [_fence(match[1]) for match in _MARKER.finditer(text)] if _MARKER_START in text else []


def replace_markers(text: str, replacement: Callable[[Fence], str]) -> str:
    """The HTML with something else in place of every marker."""
    return _MARKER.sub(lambda match: replacement(_fence(match[1])), text)


def show_examples(text: str) -> str:
    """The HTML with the fence itself in place of a marker that has come into shown or hidden text."""
    if _MARKER_START not in text:
        return text
    return _SHOWN.sub(lambda part: replace_markers(part[0], lambda fence: html.escape(fence.raw, quote=False)), text)


@lru_cache(maxsize=4096)
def _fence(data: str) -> Fence:
    """The fence in a marker, which is looked at by one event of a build after the other."""
    return Fence(*json.loads(base64.urlsafe_b64decode(data)))
