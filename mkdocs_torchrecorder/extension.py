"""The Python-Markdown extension: everything MkDocs' plugin is not needed for.

A fence becomes a placeholder of Markdown's own stash, as in every extension that takes code. That happens before it is
known whether the fence is meant or only shown in an indented code block, so the stash holds a marker, and nothing is
drawn before the HTML is finished:

    KeepSource       (100)  the text as it was given, for warnings that name a line
    TakeFences        (26)  ```torchrecorder … ```  ->  a placeholder, for which the stash holds the marker
    SplitParagraphs   (12)  a placeholder in a paragraph  ->  a paragraph of its own
    ShowIndented      (50)  <pre><code> placeholder  ->  <pre><code> the fence as it was written
    SetCaptions, TakeCaptions    the text of a caption  ->  HTML in the marker
    FillMarkers        (1)  <div class="torchrecorder-marker">  ->  <figure class="torchrecorder">

Alone (Python-Markdown, Zensical) it draws the diagrams of each page when the page is converted. The plugin has it leave
its markers in the HTML, and draws all of them in one go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
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

from mkdocs_torchrecorder.batch import Batch, DrawnPages, draw, fill
from mkdocs_torchrecorder.caption import SetCaptions, TakeCaptions
from mkdocs_torchrecorder.fence import continued, find_fences, is_marker, marked_fences, marker, show_examples
from mkdocs_torchrecorder.links import nowhere
from mkdocs_torchrecorder.page import KeepSource, folder_of_markdown, page_of_markdown
from mkdocs_torchrecorder.report import DiagramsFailed, Report
from mkdocs_torchrecorder.zensical import ZensicalPage, find_later, with_references
from torchrecorder.page import ASSETS, SCRIPT, STYLE, translation
from torchrecorder.request import AUTOMATIC_SETTINGS, SITE_SETTINGS, Settings, SiteSetting, site_settings
from torchrecorder.request.settings import CACHE_FOLDER

ON_ERROR = SiteSetting(
    "on_error", "`warn` and show a box in the page, or `raise` and end the build.", "warn", ("warn", "raise")
)

MACHINE_CACHE = SiteSetting(
    "machine_cache", "Folder of what this machine records and draws, which git ignores.", CACHE_FOLDER
)
PLACE = next(setting for setting in AUTOMATIC_SETTINGS if setting.choices)
_PLACEHOLDER = re.compile(HTML_PLACEHOLDER % "([0-9]+)")
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
            for setting in (*SITE_SETTINGS, PLACE, ON_ERROR, MACHINE_CACHE)
        }
        super().__init__(**options)
        self._leave_markers = leave_markers

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Markdown names it so)
        """Called by Markdown."""
        md.preprocessors.register(KeepSource(md), KeepSource.name, KeepSource.priority)
        md.preprocessors.register(TakeFences(md), TakeFences.name, TakeFences.priority)
        md.parser.blockprocessors.register(SplitParagraphs(md.parser), SplitParagraphs.name, SplitParagraphs.priority)
        md.treeprocessors.register(ShowIndented(md), ShowIndented.name, ShowIndented.priority)
        for captions in (SetCaptions, TakeCaptions):
            md.treeprocessors.register(captions(md), captions.name, captions.priority)
        figures = FillMarkers(md, None if self._leave_markers else self._fill)
        md.postprocessors.register(figures, FillMarkers.name, FillMarkers.priority)

    def _fill(self, md: Markdown, html: str) -> str:
        from torchrecorder.worker.lasting import worker_of_process  # the plugin has its own

        page, zensical = page_of_markdown(md, html), ZensicalPage.of(md)
        site = settings(folder_of_markdown(md), self.getConfigs())
        drawn = draw([page], Batch(site, worker_of_process))
        find = nowhere
        if zensical is not None:
            find = find_later if zensical.has_references else nowhere
            _follow(zensical, drawn, site)
        if problems := drawn.fatal(chosen(ON_ERROR, self.getConfigs()) == "raise"):
            raise DiagramsFailed("\n".join(problems))
        style, script = (ASSETS.joinpath(name).read_text(encoding="utf-8") for name in (STYLE, SCRIPT))
        script = f'<script type="module">{script}</script>'  # which runs when all of the page is there
        place = chosen(PLACE, self.getConfigs())
        style = f"<style>{style}</style>"
        translate = translation(zensical.language if zensical is not None else "")
        filled = fill(html, drawn.results[0], find, script, style=style, place=place, translate=translate)
        return with_references(filled)


_said: set[str] = set()
"""What a process has said of files that are not watched, which each page would say again."""


def _follow(page: ZensicalPage, drawn: DrawnPages, site: Settings) -> None:
    """See to it that Zensical renders the page again when a file of its models changes."""
    from torchrecorder.trace.stamped import note_traced

    installed = [Path(folder) for folder in site.path if folder.rstrip(os.sep).endswith("-packages")]
    files = [file for file in drawn.sources() if not any(file.is_relative_to(folder) for folder in installed)]
    with suppress(OSError):  # a cache that cannot be written is warned of elsewhere
        note_traced(site.cache, [*files, *installed])
    if (text := page.unwatched(files, site.path)) and text not in _said:
        _said.add(text)
        report = Report()
        report.warn(text)
        drawn.warnings.extend(report.warnings)


def settings(root: Path, written: Mapping[str, Any]) -> Settings:
    """The settings of a build; warns of values that are wrong, which are left out.

    Args:
        root: The folder that relative paths begin at.
        written: The values of the extension's or the plugin's configuration, by name.
    """
    found, wrong = site_settings(root, written, cache=chosen(MACHINE_CACHE, written))
    for name, problems in wrong.items():
        for problem in problems:
            Report().warn(f"{name}: {problem}")
    return found


def chosen(setting: SiteSetting, written: Mapping[str, Any]) -> str:
    """The value of one of our own settings; warns of one that is wrong, in place of which the default holds."""
    value, problem = setting.chosen(written[setting.name])
    if problem:
        Report().warn(f"{setting.name}: {problem}")
    return value


class TakeFences(Preprocessor):
    """Takes our fences out of the text. After snippets (32) were put in, before other fences (25) are taken."""

    name, priority = "torchrecorder_fences", 26

    def run(self, lines: list[str]) -> list[str]:
        """The lines with one placeholder for each fence."""
        left: list[str] = []
        done = 0
        page: str | None = None
        for place in find_fences(lines):
            page = page_of_markdown(self.md, "").name if page is None else page
            placeholder = self.md.htmlStash.store(marker(replace(place.fence, page=page)))
            left += [*lines[done : place.start], place.prefix + placeholder + place.suffix]
            done = place.end
        return left + lines[done:]


class SplitParagraphs(BlockProcessor):
    """Ends the paragraph before a fence that follows without an empty line: a figure inside of `<p>` is not valid HTML.

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
        placeholder = _PLACEHOLDER.fullmatch(line.strip())
        return placeholder is not None and is_marker(_stored(self.parser.md, placeholder[1]))


class ShowIndented(Treeprocessor):
    """Gives back the fences in indented code, before it is highlighted (30)."""

    name, priority = "torchrecorder_indented", 50

    def run(self, root: Element) -> None:
        """Put the text of fences into the text of code."""
        for code in root.iterfind(".//pre/code"):
            if code.text:
                code.text = AtomicString(_PREFIXED_PLACEHOLDER.sub(self._raw, code.text))

    def _raw(self, placeholder: re.Match[str]) -> str:
        fences = marked_fences(_stored(self.md, placeholder[2]))
        if len(fences) != 1:  # it is not ours
            return placeholder[0]
        first, *others = code_escape(fences[0].raw).split("\n")
        prefix = placeholder["prefix"]
        return "\n".join([prefix + first, *((continued(prefix) + line).rstrip() for line in others)])


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


def _stored(md: Markdown, number: str) -> str:
    """The text behind a placeholder; empty if there is none."""
    stash = md.htmlStash.rawHtmlBlocks
    stored = stash[int(number)] if int(number) < len(stash) else None
    return stored if isinstance(stored, str) else ""
