"""What Python-Markdown does with our fences, one processor for each step of it.

A fence becomes a placeholder of Markdown's own stash, as in every extension that takes code. That happens before it is
known whether the fence is meant or only shown in an indented code block, so the stash holds a marker, and nothing is
drawn before the finished HTML tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER, AtomicString, code_escape

from mkdocs_torchrecorder.fence import LANGUAGE, find_fences
from mkdocs_torchrecorder.marker import is_marker, marked_fences, marker, show_examples

_PLACEHOLDER = re.compile(HTML_PLACEHOLDER % "([0-9]+)")
_PREFIXED_PLACEHOLDER = re.compile(f"(?m)^(?P<prefix>.*){_PLACEHOLDER.pattern}")


class KeepSource(Preprocessor):
    """Remembers the text as it was given, before anybody (30) touches it, for warnings that name a line."""

    name, priority = "torchrecorder_source", 100
    text = ""

    def run(self, lines: list[str]) -> list[str]:
        """The lines as they are."""
        self.text = "\n".join(lines)
        return lines


class TakeFences(Preprocessor):
    """Takes our fences out of the text. After snippets (32) were put in, before other fences (25) are taken."""

    name, priority = "torchrecorder_fences", 26

    def run(self, lines: list[str]) -> list[str]:
        """The lines with one placeholder for each fence."""
        if not any(LANGUAGE in line for line in lines):
            return lines
        left: list[str] = []
        done = 0
        for place in find_fences(lines):
            left += [*lines[done : place.start], place.prefix + self.md.htmlStash.store(marker(place.fence))]
            done = place.end
        return left + lines[done:]


class SplitParagraphs(BlockProcessor):
    """Ends the paragraph before a fence that follows without an empty line: a figure inside of `<p>` is no HTML.

    Just before paragraphs (10) are made, when lists and quotes have taken what is theirs.
    """

    name, priority = "torchrecorder_paragraphs", 12

    def test(self, parent: Element, block: str) -> bool:
        """Whether one of the lines is a placeholder of ours."""
        return any(self._is_ours(line) for line in block.split("\n"))

    def run(self, parent: Element, blocks: list[str]) -> None:
        """Make a paragraph of the first such line alone."""
        lines = blocks.pop(0).split("\n")
        at = next(i for i, line in enumerate(lines) if self._is_ours(line))
        if at:
            self.parser.parseBlocks(parent, ["\n".join(lines[:at])])
        SubElement(parent, "p").text = lines[at].strip()
        if rest := lines[at + 1 :]:
            blocks.insert(0, "\n".join(rest))

    def _is_ours(self, line: str) -> bool:
        found = _PLACEHOLDER.fullmatch(line.strip())
        return found is not None and is_marker(_stored(self.parser.md, found[1]))


class ShowIndented(Treeprocessor):
    """Gives back the fences in indented code, before anybody colours it (30)."""

    name, priority = "torchrecorder_indented", 50

    def run(self, root: Element) -> None:
        """Put the text of fences into the text of code."""
        for code in root.iterfind(".//pre/code"):
            if code.text:
                code.text = AtomicString(_PREFIXED_PLACEHOLDER.sub(self._raw, code.text))

    def _raw(self, found: re.Match[str]) -> str:
        raw = _raw_fence(self.md, found[2])
        if raw is None:
            return found[0]
        return "\n".join((found["prefix"] + line).rstrip() for line in code_escape(raw).split("\n"))


class FillMarkers(Postprocessor):
    """Puts figures in place of the markers, at the very end, when the stash has gone into the HTML.

    Markdown's table of contents runs this on pieces of headings too; what holds no marker is left alone.
    """

    name, priority = "torchrecorder_figures", 1

    def __init__(self, md: Markdown, fill: Callable[[Markdown, str], str] | None) -> None:
        super().__init__(md)
        self._fill = fill

    def run(self, text: str) -> str:
        """The HTML with figures; with markers, if they are filled later."""
        text = show_examples(text)
        return self._fill(self.md, text) if self._fill and marked_fences(text) else text


def _raw_fence(md: Markdown, number: str) -> str | None:
    """The fence behind a placeholder; None if it is not ours."""
    fences = marked_fences(_stored(md, number))
    return fences[0].raw if len(fences) == 1 else None


def _stored(md: Markdown, number: str) -> str:
    """The text behind a placeholder; empty if there is none."""
    stash = md.htmlStash.rawHtmlBlocks
    stored = stash[int(number)] if int(number) < len(stash) else None
    return stored if isinstance(stored, str) else ""
