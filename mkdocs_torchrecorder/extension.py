"""The Python-Markdown extension: everything MkDocs' plugin is not needed for.

A fence becomes a placeholder of Markdown's own stash, as in every extension that takes code. That happens before it is
known whether the fence is meant or only shown in an indented code block, so the stash holds a marker, and nothing is
drawn before the HTML is finished:

    KeepSource       (100)  the text as it was given, for warnings that name a line
    TakeFences        (26)  ```torchrecorder … ```  ->  a placeholder, for which the stash holds the marker
    SplitParagraphs   (12)  a placeholder in a paragraph  ->  a paragraph of its own
    ShowIndented      (50)  <pre><code> placeholder  ->  <pre><code> the fence as it was written
    SetCaptions       (25)  before inline patterns (20): an element at the end of the tree for each caption, so that
                            all that reads text or corrects links meets it; HTML in a caption is text
    TakeCaptions      (-1)  after links were corrected (0): the elements leave the tree for the markers
    FillMarkers        (1)  <div class="torchrecorder-marker">  ->  <figure class="torchrecorder">

Alone (Python-Markdown, Zensical) it draws the diagrams of each page when the page is converted. The plugin has it leave
its markers in the HTML, and draws all of them in one go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER, AtomicString, code_escape

from mkdocs_torchrecorder.fence import (
    Fence,
    continued,
    find_fences,
    is_marker,
    marked_fences,
    marker,
    show_examples,
    without_shown,
)
from mkdocs_torchrecorder.figure import Find, PageFiller
from mkdocs_torchrecorder.page import KeepSource, MarkdownPage, draw, folder_of_markdown, page_of_markdown, with_block
from mkdocs_torchrecorder.site import DiagramsFailed, FenceSite, tell
from mkdocs_torchrecorder.zensical import ZensicalPage, find_later, with_references
from torchrecorder.site import SETTINGS, Message, Site, words

_PLACEHOLDER = re.compile(HTML_PLACEHOLDER % "([0-9]+)")
_CAPTION = "torchrecorder-caption"
_PREFIXED_PLACEHOLDER = re.compile(f"(?m)^(?P<prefix>.*){_PLACEHOLDER.pattern}")


class TorchRecorderExtension(Extension):
    """Turns ```` ```torchrecorder ```` fences into diagrams.

    Args:
        leave_markers: Whether the caller fills the markers.
        options: The options that `self.config` lists, by name.
    """

    def __init__(self, *, leave_markers: bool = False, **options: Any) -> None:
        self.config = {
            setting.name: [setting.default, setting.help]
            for setting in SETTINGS
            if setting.name != "autodoc"  # Markdown alone knows no documented classes
        }
        super().__init__(**options)
        self._leave_markers = leave_markers

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Markdown names it so)
        md.parser.blockprocessors.register(SplitParagraphs(md.parser), SplitParagraphs.name, SplitParagraphs.priority)
        for before in (KeepSource, TakeFences):
            md.preprocessors.register(before(md), before.name, before.priority)
        for kind in (ShowIndented, SetCaptions, TakeCaptions):
            md.treeprocessors.register(kind(md), kind.name, kind.priority)
        figures = FillMarkers(md, None if self._leave_markers else self._fill)
        md.postprocessors.register(figures, FillMarkers.name, FillMarkers.priority)

    def _fill(self, md: Markdown, html: str) -> str:
        from torchrecorder.site import PersistentWorker  # the plugin has its own

        page, zensical = page_of_markdown(md, html), ZensicalPage.of(md)
        site = FenceSite(folder_of_markdown(md), self.getConfigs(), page.location, PersistentWorker.of_process)
        draw([page], site)
        find: Find = find_later if zensical is not None and zensical.has_references else lambda _: None
        if zensical is not None:
            _follow(zensical, site)
        if problems := site.fatal():
            raise DiagramsFailed("\n".join(problems))
        style, *both = words.assets()
        script, models_script = (f'<script type="module">{it}</script>' for it in both)  # run when the page is there
        translate = words.translation(zensical.language if zensical is not None else "")
        scripts, style = (script, models_script), f"<style>{style}</style>"
        return with_references(PageFiller(site, find, scripts, style=style, translate=translate).fill(html))


_said: set[str] = set()
"""What a process has said of files that are not watched, which each page would say again."""


def _follow(page: ZensicalPage, site: Site[Fence]) -> None:
    """See to it that Zensical renders the page again when a file of its models changes."""
    path = site.settings.path
    installed = [Path(folder) for folder in path if folder.rstrip(os.sep).endswith("-packages")]
    files = [file for file in site.sources() if not any(file.is_relative_to(folder) for folder in installed)]
    with suppress(OSError):  # a cache that cannot be written is warned of elsewhere
        site.watch([*files, *installed])
    if (text := page.unwatched(files, path)) and text not in _said:
        _said.add(text)
        site.warn(text, "option")


class TakeFences(Preprocessor):
    """Takes our fences out of the text. After snippets (32) were put in, before other fences (25) are taken."""

    name, priority = "torchrecorder_fences", 26
    _reported: tuple[Message, ...] = ()

    def run(self, lines: list[str]) -> list[str]:
        """Lines with a placeholder for each fence."""
        left: list[str] = []
        done = 0
        page: MarkdownPage | None = None
        for place in find_fences(lines):
            page = page_of_markdown(self.md, "") if page is None else page
            fence, wrong = with_block(place.fence, page, self.md) if place.fence.is_automatic else (place.fence, [])
            for message in wrong:
                if message not in self._reported:  # by another class of the block
                    tell(message)
            self._reported = (*self._reported, *wrong)
            left += lines[done : place.start]
            if fence is not None:
                placeholder = self.md.htmlStash.store(marker(replace(fence, page=page.name)))
                left.append(place.prefix + placeholder + place.suffix)
            done = place.end
        return left + lines[done:]


class SplitParagraphs(BlockProcessor):
    """Ends the paragraph before a fence that follows without an empty line: a figure inside of `<p>` is not valid HTML.

    Just before paragraphs (10) are made, when lists and quotes have taken what is theirs.
    """

    name, priority = "torchrecorder_paragraphs", 12

    def test(self, parent: Element, block: str) -> bool:
        return any(self._is_ours(line) for line in block.split("\n"))

    def run(self, parent: Element, blocks: list[str]) -> None:
        lines = blocks.pop(0).split("\n")
        at = next(i for i, line in enumerate(lines) if self._is_ours(line))
        if at:
            self.parser.parseBlocks(parent, ["\n".join(lines[:at])])
        SubElement(parent, "p").text = lines[at].strip()
        if rest := lines[at + 1 :]:
            blocks.insert(0, "\n".join(rest))

    def _is_ours(self, line: str) -> bool:
        placeholder = _PLACEHOLDER.fullmatch(line.strip())
        return placeholder is not None and is_marker(_stored(self.parser.md, int(placeholder[1])))


class ShowIndented(Treeprocessor):
    """Gives back the fences in indented code, before it is highlighted (30)."""

    name, priority = "torchrecorder_indented", 50

    def run(self, root: Element) -> None:
        for code in root.iterfind(".//pre/code"):
            if code.text:
                code.text = AtomicString(_PREFIXED_PLACEHOLDER.sub(self._raw, code.text))

    def _raw(self, placeholder: re.Match[str]) -> str:
        fences = marked_fences(_stored(self.md, int(placeholder[2])))
        if len(fences) != 1:  # it is not ours
            return placeholder[0]
        first, *others = code_escape(fences[0].raw).split("\n")
        prefix = placeholder["prefix"]
        return "\n".join([prefix + first, *((continued(prefix) + line).rstrip() for line in others)])


class SetCaptions(Treeprocessor):
    name, priority = "torchrecorder_captions", 25

    def run(self, root: Element) -> None:
        stash = [block if isinstance(block, str) else "" for block in self.md.htmlStash.rawHtmlBlocks]
        captions: dict[int, str] = {}
        for number, block in enumerate(stash):
            if is_marker(block) and (text := marked_fences(block)[0].body.options.get("caption")):
                captions[number] = text
        if not captions:
            return
        texts = [*root.itertext(), *(without_shown(block) for block in stash if not is_marker(block))]
        seen = {int(number) for text in texts for number in _PLACEHOLDER.findall(text)}
        for number in sorted(seen & captions.keys()):
            SubElement(root, _CAPTION, {"number": str(number)}).text = captions[number]


class TakeCaptions(Treeprocessor):
    name, priority = "torchrecorder_captions_taken", -1

    def run(self, root: Element) -> None:
        for element in root.findall(_CAPTION):
            root.remove(element)
            number = int(element.attrib.pop("number"))
            _, _, inner = self.md.serializer(element).partition(">")
            (fence,) = marked_fences(_stored(self.md, number))
            written = fence.body.options.get("caption") or ""
            for stored in map(int, _PLACEHOLDER.findall(inner)):
                if (text := _stored(self.md, stored)).startswith("<") and text in written:
                    self.md.htmlStash.rawHtmlBlocks[stored] = escape(text)
            caption = inner.rpartition("</")[0].strip()
            self.md.htmlStash.rawHtmlBlocks[number] = marker(fence, caption)


class FillMarkers(Postprocessor):
    """Puts figures in place of the markers, at the very end, when the stash has gone into the HTML.

    Markdown's table of contents runs this on pieces of headings too; what holds no marker is left alone.
    """

    name, priority = "torchrecorder_figures", 1

    def __init__(self, md: Markdown, fill: Callable[[Markdown, str], str] | None) -> None:
        super().__init__(md)
        self._fill = fill

    def run(self, text: str) -> str:
        text = show_examples(text)
        return self._fill(self.md, text) if self._fill and marked_fences(text) else text


def _stored(md: Markdown, number: int) -> str:
    """The text behind a placeholder; empty if there is none."""
    stash = md.htmlStash.rawHtmlBlocks
    stored = stash[number] if number < len(stash) else None
    return stored if isinstance(stored, str) else ""
