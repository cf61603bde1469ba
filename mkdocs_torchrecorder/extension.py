"""The Python-Markdown extension: everything MkDocs' plugin is not needed for.

Alone (Python-Markdown, Zensical) it draws the diagrams of each page when the page is converted. The plugin has it leave
its markers in the HTML, and draws all of them in one go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension

from mkdocs_torchrecorder.batch import draw, fill
from mkdocs_torchrecorder.page import page_of_markdown
from mkdocs_torchrecorder.processors import FillMarkers, KeepSource, ShowIndented, SplitParagraphs, TakeFences
from mkdocs_torchrecorder.report import DiagramsFailed, Report
from torchrecorder.request import Settings, site_options


class TorchRecorderExtension(Extension):
    """Turns ```` ```torchrecorder ```` fences into diagrams.

    Args:
        leave_markers: Whether somebody else fills the markers.
        options: The options that `self.config` lists, by name.
    """

    def __init__(self, *, leave_markers: bool = False, **options: Any) -> None:
        self.config = {
            "path": [[], "Folders to import models from, relative to the current one."],
            "cache": ["", "Folder of recordings to commit with the project; builds only read it."],
            "on_stale": ["warn", "`warn`, `error` or `placeholder`: what cannot be recorded again here."],
            "python": ["", "The Python that records models; that of the build, if not given."],
            "memory": ["", "Address space that a recording may take, as in `32G`; `0` for no limit."],
            "remote": ["", "A cache that a team shares: a URL that fsspec understands, or a folder."],
            "engine": ["auto", "`auto`, `pure`, `dot`, or the path of a Graphviz program."],
            "options": [{}, "Options for every diagram that does not set them itself."],
            "on_error": ["warn", "`warn` and show a box, or `raise`, for a builder that counts no warnings."],
        }
        super().__init__(**options)
        self._leave_markers = leave_markers
        if self.getConfig("on_error") not in ("warn", "raise"):
            raise ValueError(f"on_error is warn or raise, not {self.getConfig('on_error')!r}")

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Markdown names it so)
        """Called by Markdown."""
        md.preprocessors.register(KeepSource(md), KeepSource.name, KeepSource.priority)
        md.preprocessors.register(TakeFences(md), TakeFences.name, TakeFences.priority)
        md.parser.blockprocessors.register(SplitParagraphs(md.parser), SplitParagraphs.name, SplitParagraphs.priority)
        md.treeprocessors.register(ShowIndented(md), ShowIndented.name, ShowIndented.priority)
        figures = FillMarkers(md, None if self._leave_markers else self._fill)
        md.postprocessors.register(figures, FillMarkers.name, FillMarkers.priority)

    def _fill(self, md: Markdown, html: str) -> str:
        page = page_of_markdown(md, html)
        batch = draw([page], self._settings())
        if problems := batch.fatal(self.getConfig("on_error") == "raise"):
            raise DiagramsFailed("\n".join(problems))
        return fill(html, batch.results[0])

    def _settings(self) -> Settings:
        return settings(Path.cwd(), self.getConfigs())


def settings(root: Path, written: Mapping[str, Any]) -> Settings:
    """The settings of a build; warns of wrong options for the site, which are left out.

    Args:
        root: The folder that relative paths begin at.
        written: The values of the extension's or the plugin's configuration, by name.

    Raises:
        OptionError: `on_stale` or `memory` cannot be read.
    """
    good, wrong = site_options(written["options"])
    for problem in wrong:
        Report().warn(f"options: {problem}")
    path: str | Sequence[str] = written["path"]
    return Settings.for_project(
        root,
        committed=written["cache"],
        path=[path] if isinstance(path, str) else path,
        remote=written["remote"],
        engine=written["engine"],
        options=good,
        python=written["python"],
        memory=str(written["memory"]),
        on_stale=written["on_stale"],
    )
