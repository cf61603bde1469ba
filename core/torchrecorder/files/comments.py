"""Pairs of comments in a file of Markdown or reStructuredText, between which a picture or a table is written.

    <!-- torchrecorder: pkg.Net shape=1,3,32,32 -->          .. torchrecorder: pkg.Net shape=1,3,32,32
    …                                                        …
    <!-- /torchrecorder -->                                  .. /torchrecorder

A comment stands on lines of its own. Lines are looked at as bytes, so that all around them stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_FENCE = re.compile(rb"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)*(?P<marks>`{3,}|~{3,})(?P<info>.*)")
_COLON = rb"torchrecorder(?P<colon>:(?!:)\s*|\s+(?=\w+\.\w))(?P<said>.*?)"
"""Also without the colon, if a dotted name follows: a slip is not taken for a remark."""
_ANY = re.compile(rb"(?:<!--|\.\.)\s*/?\s*torchrecorder")
_COMMENT_OF_REST = re.compile(
    rb"(?:^|(?<=\A\xef\xbb\xbf))\.\.[ \t]+/?[ \t]*torchrecorder.*\n?(?:[ \t]+\S.*\n?)*", re.MULTILINE
)
_END = b"-->"
_MARK = b"\xef\xbb\xbf"
REST = ".rst"
"""The ending of files of reStructuredText."""


class Block(NamedTuple):
    """What stands between an opening and a closing comment."""

    line: int
    said: str
    """The text of the opening comment; a list of models has more lines."""
    start: int
    end: int
    """The bytes of the file between the two comments."""
    newline: bytes


class _Syntax(NamedTuple):
    opening: re.Pattern[bytes]
    closing: re.Pattern[bytes]
    opens: str
    closes: str  # how the two are written
    lines: Callable[[bytes, re.Pattern[bytes]], Iterator[tuple[int, int, bytes]]]


def blocks(data: bytes, ending: str = ".md") -> tuple[list[Block], list[tuple[int, str]]]:
    """The blocks of a file, and its problems, each with its line."""
    if not _ANY.search(data.replace(b"\0", b"")):  # also in UTF-16
        return [], []
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = data.count(b"\n", 0, error.start) + 1
        return [], [(bad, "it is not in UTF-8, so nothing is written into it; save it in UTF-8")]
    syntax = _IN_REST if ending == REST else _IN_MARKDOWN
    found: list[Block] = []
    problems: list[tuple[int, str]] = []
    opened: tuple[int, str, int, bytes] | None = None
    for number, start, line in syntax.lines(data, syntax.opening):
        end = start + len(line)
        if opening := syntax.opening.fullmatch(line):
            if opening["end"] is None or opening["colon"].isspace():
                problems.append((number, f"this comment is written `{syntax.opens}`"))
            if opened is not None:
                why = f"it begins within that of line {opened[0]}; close that one before: {syntax.closes}"
                problems.append((number, why))
            newline = b"\r\n" if line.endswith(b"\r\n") else b"\n"
            opened = number, opening["said"].decode().strip(), end, newline
        elif syntax.closing.fullmatch(line):
            if opened is None:
                problems.append((number, f"nothing is open that {syntax.closes} could close"))
            else:
                found.append(Block(*opened[:3], start, opened[3]))
            opened = None
    if opened is not None:
        problems.append((opened[0], f"the comment has no end: write {syntax.closes} on a line below it"))
    return found, problems


def _lines_of_markdown(data: bytes, opening: re.Pattern[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Lines outside of fenced code, each with its number and first byte; an opening comment is one with all of its."""
    fence, comment = b"", b""
    at = len(_MARK) if data.startswith(_MARK) else 0
    first = number_of_first = 0
    for number, line in enumerate(data[at:].splitlines(keepends=True), 1):
        start, at = at, at + len(line)
        if comment:
            comment += line
        elif mark := _FENCE.fullmatch(line.rstrip()):
            is_end = fence and mark["marks"].startswith(fence) and not mark["info"].strip()
            fence = b"" if is_end else fence or mark["marks"]
        elif not fence and opening.fullmatch(line):
            comment, first, number_of_first = line, start, number
        elif not fence:
            yield number, start, line
        if comment and (_END in line or not line.strip()):
            yield number_of_first, first, comment
            comment = b""
    if comment:
        yield number_of_first, first, comment


def _lines_of_rest(data: bytes, _: re.Pattern[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Comments that may be ours, each with the indented lines below it, its number and first byte."""
    for found in _COMMENT_OF_REST.finditer(data):
        yield data.count(b"\n", 0, found.start()) + 1, found.start(), found[0]


_IN_MARKDOWN = _Syntax(
    re.compile(rb" {0,3}<!--\s*" + _COLON + rb"(?P<end>-->\s*)?", re.DOTALL),
    re.compile(rb" {0,3}<!--\s*/\s*torchrecorder\s*-->\s*"),
    "<!-- torchrecorder: pkg.Net shape=1,3 -->",
    "<!-- /torchrecorder -->",
    _lines_of_markdown,
)
_IN_REST = _Syntax(
    re.compile(rb"\.\.[ \t]+" + _COLON + rb"(?P<end>)", re.DOTALL),
    re.compile(rb"\.\.[ \t]+/[ \t]*torchrecorder\s*"),
    ".. torchrecorder: pkg.Net shape=1,3",
    ".. /torchrecorder",
    _lines_of_rest,
)


def spliced(data: bytes, texts: list[tuple[Block, str]]) -> bytes:
    """The file with new texts between its comments, in the line ends of each comment."""
    for block, text in sorted(texts, reverse=True):
        written = f"\n{text.strip()}\n\n".encode().replace(b"\n", block.newline)
        data = data[: block.start] + written + data[block.end :]
    return data
