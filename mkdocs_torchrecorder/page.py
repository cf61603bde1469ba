"""A page whose diagrams are drawn: its name and source for warnings, its front matter, its HTML.

The one place that knows where each tool keeps the page that Markdown is working on; where none does, warnings name the
line alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markdown import Markdown
from markdown.preprocessors import Preprocessor
from markdown.util import Registry

from mkdocs_torchrecorder.fence import Fence, asked_fences, find_line
from mkdocs_torchrecorder.site import show_progress
from mkdocs_torchrecorder.zensical import ZensicalPage
from torchrecorder.site import Site

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
