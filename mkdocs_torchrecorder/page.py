"""A page whose diagrams are drawn: its name and source for warnings, its front matter, its HTML.

The one place that knows where each tool keeps the page that Markdown is working on; where none does, warnings name the
line alone. mkdocstrings gives the options of a block `::: pkg.Net`, whose `extra` may say more of the diagrams of its
classes, to its templates alone. Those hand them on, beside the object they are at, as the hook for the references in a
docstring, which our Markdown of docstrings finds where autorefs keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from markdown import Markdown
from markdown.preprocessors import Preprocessor
from markdown.util import Registry

from mkdocs_torchrecorder.fence import Fence, asked_fences, find_line
from mkdocs_torchrecorder.site import show_progress
from mkdocs_torchrecorder.zensical import ZensicalPage
from torchrecorder.site import Message, Site, completed

if TYPE_CHECKING:
    from mkdocs.structure.files import File

KEY = "torchrecorder"


class KeepSource(Preprocessor):
    """Remembers the text as it was given, before any other processor (30) changes it, for warnings that name a line."""

    name, priority = "torchrecorder_source", 100
    text = ""

    def run(self, lines: list[str]) -> list[str]:
        self.text = "\n".join(lines)
        return lines


@dataclass(frozen=True, slots=True, eq=False)
class MarkdownPage:
    name: str
    """As the reader of a warning knows it: its path below the folder of the documentation."""
    html: str
    source: Callable[[], str] = field(repr=False)
    """Reads the text with the front matter; called only if there is something to report."""
    options: object = None
    """What its front matter says under `torchrecorder`."""

    def location(self, fence: Fence | None = None) -> str:
        """`page.md:12` for a fence of the page; without the line if it came from elsewhere, as from a docstring."""
        line = (fence.line or find_line(fence, self.source())) if fence else None
        if not self.name:
            return f"line {line}" if line else ""
        return f"{self.name}:{line}" if line else self.name


def draw(pages: Sequence[MarkdownPage], site: Site[Fence]) -> None:
    """Draw what the markers of the pages ask for, and warn of what cannot be drawn."""
    fences = {fence: page for page in pages for fence in asked_fences(page.html)}
    said = {page: site.page_options(page.options, page.location()) for page in pages if page.options is not None}
    bodies = {fence: fence.body for fence in fences}
    try:
        site.draw(bodies, show_progress, options={fence: said.get(page, {}) for fence, page in fences.items()})
    except Exception as unexpected:  # what no check foresees must not end the build
        site.give_up(bodies, unexpected)


def page_of_file(file: File, html: str) -> MarkdownPage:

    def read() -> str:
        if file.abs_src_path:
            return _read(Path(file.abs_src_path))
        return str(getattr(file, "content_string", ""))  # a page that a plugin made up, from MkDocs 1.6 on

    meta = file.page.meta if file.page is not None else {}
    return MarkdownPage(file.src_uri, html, read, meta.get(KEY))


def page_of_markdown(md: Markdown, html: str) -> MarkdownPage:
    # MkDocs and ProperDocs leave the file with the processor that resolves links.
    if (file := getattr(_registered(md.treeprocessors, "relpath"), "file", None)) is not None:
        return page_of_file(file, html)
    if (page := ZensicalPage.of(md)) is not None:
        return MarkdownPage(page.path, html, lambda: _read(page.file), page.meta.get(KEY))
    text = str(getattr(_registered(md.preprocessors, KeepSource.name), "text", ""))
    return MarkdownPage("", html, lambda: text)


def folder_of_markdown(md: Markdown) -> Path:
    """The folder of the configuration file that this Markdown was set up from; the current one if none is known."""
    if (page := ZensicalPage.of(md)) is not None:
        return page.root
    config = getattr(_registered(md.treeprocessors, "relpath"), "config", None)
    file = getattr(config, "config_file_path", None)
    return Path(file).parent.resolve() if file else Path.cwd()


def _registered(registry: Registry[Any], name: str) -> object:
    if name not in registry:
        return None
    return registry[name]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""


_BLOCK = re.compile(
    r"^(?:#{1,6} *)?::: ?(?P<name>\S+)[^\n]*\n(?P<options>(?:(?: {4}|\t)[^\n]*(?:\n|\Z)|[ \t]*\n)*)", re.M
)


def with_block(fence: Fence, page: MarkdownPage, md: Markdown) -> tuple[Fence | None, list[Message]]:
    """The fence of a documented class as the block that shows it wants it, None for no diagram, and what is wrong."""
    hook = getattr(_registered(md.inlinePatterns, "mkdocs-autorefs"), "hook", None)
    extra = getattr(getattr(hook, "config", None), "extra", None)
    if not isinstance(extra, Mapping) or KEY not in extra:
        return (fence if fence.is_wanted else None), []
    shown, name = str(getattr(getattr(hook, "current_object", None), "path", "")), fence.body.target.partition("(")[0]
    block, line = _find(page.source(), shown, extra[KEY])
    known = fence.body if fence.is_wanted else None
    body, wrong = completed(known, name, extra[KEY], is_named=block == shown)
    place = page.location(replace(fence, line=line))
    messages = [Message(f"{KEY} under `extra` of mkdocstrings: {problem}", "option", place) for problem in wrong]
    return None if body is None else replace(fence, body=body, line=line), messages


def _find(source: str, shown: str, said: object) -> tuple[str, int]:
    """Name in the block of a page that says so of an object, and its line; nothing if the site says it of all."""
    import yaml  # mkdocstrings has it

    for block in _BLOCK.finditer(source):
        if shown == block["name"] or shown.startswith(f"{block['name']}."):
            try:
                written: Any = yaml.safe_load(dedent(block["options"].expandtabs(4)))
                is_it = written["options"]["extra"][KEY] == said
            except (yaml.YAMLError, KeyError, TypeError):
                continue
            if is_it:
                start = source.index(f"{KEY}:", block.start("options"))
                return block["name"], source.count("\n", 0, start) + 1
    return "", 0
