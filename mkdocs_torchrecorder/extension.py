"""The Python-Markdown extension: everything MkDocs' plugin is not needed for.

Alone (Python-Markdown, Zensical) it draws the diagrams of each page when the page is converted. The plugin has it leave
its markers in the HTML, and draws all of them in one go.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension

from mkdocs_torchrecorder.batch import draw, fill
from mkdocs_torchrecorder.page import page_of_markdown
from mkdocs_torchrecorder.processors import FillMarkers, KeepSource, ShowIndented, SplitParagraphs, TakeFences
from mkdocs_torchrecorder.report import DiagramsFailed, Report
from torchrecorder.errors import OptionError
from torchrecorder.request import SITE_SETTINGS, Settings, SiteSetting, site_settings

ON_ERROR = SiteSetting(
    "on_error", "`warn` and show a box in the page, or `raise` and end the build.", "warn", ("warn", "raise")
)


class TorchRecorderExtension(Extension):
    """Turns ```` ```torchrecorder ```` fences into diagrams.

    Args:
        leave_markers: Whether the caller fills the markers.
        options: The options that `self.config` lists, by name.
    """

    def __init__(self, *, leave_markers: bool = False, **options: Any) -> None:
        self.config = {setting.name: [setting.default, setting.help] for setting in (*SITE_SETTINGS, ON_ERROR)}
        super().__init__(**options)
        self._leave_markers = leave_markers
        if self.getConfig("on_error") not in ON_ERROR.choices:
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
        batch = draw([page], settings(Path.cwd(), self.getConfigs()))
        if problems := batch.fatal(self.getConfig("on_error") == "raise"):
            raise DiagramsFailed("\n".join(problems))
        return fill(html, batch.results[0])


def settings(root: Path, written: Mapping[str, Any]) -> Settings:
    """The settings of a build; warns of wrong options for the site, which are left out.

    Args:
        root: The folder that relative paths begin at.
        written: The values of the extension's or the plugin's configuration, by name.

    Raises:
        OptionError: `on_stale` or `memory` cannot be read.
    """
    found, wrong = site_settings(root, written)
    for problem in wrong.pop("options", ()):
        Report().warn(f"options: {problem}")
    if wrong:
        raise OptionError(tuple(f"{name}: {problem}" for name, problems in wrong.items() for problem in problems))
    return found
