"""What Zensical tells an extension. None of it is its public interface, so all that reads it is here.

Zensical renders pages in one process and keeps them: a page is rendered again when its text, the configuration, or a
file under `watch:` has changed. It runs no plugins, and asks no extension whether a page is still right. References are
resolved when all pages are rendered, wherever the HTML holds an element `autoref`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown import Markdown

from torchrecorder.site import names_of_class

_LINK = "#torchrecorder-class-"
_ADDRESSES = """<script type="module">
const known = {}, xlink = "http://www.w3.org/1999/xlink";
for (const a of document.querySelectorAll(".torchrecorder-references a"))
  known[a.textContent] ??= a.getAttribute("href");
for (const a of document.querySelectorAll("a[data-class]"))
  if (known[a.dataset.class]) a.setAttributeNS(xlink, "xlink:href", known[a.dataset.class]);
</script>"""
"""Takes the addresses of classes from the references of a page."""
_LINKS = re.compile(rf'xlink:href="{_LINK}([^"]*)"')


@dataclass(frozen=True, slots=True)
class ZensicalPage:
    path: str
    """Below the folder of the documentation."""
    meta: Mapping[str, Any]
    """Its front matter."""
    config: Mapping[str, Any]
    """The configuration of the site, with defaults."""
    has_references: bool
    """Whether elements `autoref` become links."""

    @staticmethod
    def of(md: Markdown) -> ZensicalPage | None:
        """The page that this Markdown converts; None if that is not Zensical's."""
        try:
            context = md.preprocessors["rendering_context"]
        except KeyError:
            return None
        page, config = getattr(context, "page", None), getattr(context, "config", None)
        path, meta = getattr(page, "path", None), getattr(page, "meta", None)
        if not isinstance(path, str) or not isinstance(config, Mapping):
            return None
        has_references = "mkdocs-autorefs" in md.inlinePatterns
        return ZensicalPage(path, meta if isinstance(meta, Mapping) else {}, config, has_references)

    @property
    def root(self) -> Path:
        return Path(str(self.config.get("root_dir") or os.curdir)).resolve()

    @property
    def language(self) -> str:
        theme = self.config.get("theme")
        return str(theme.get("language") or "") if isinstance(theme, Mapping) else ""

    @property
    def file(self) -> Path:
        return self.root / str(self.config.get("docs_dir", "")) / self.path

    def unwatched(self, files: Iterable[Path], path: Sequence[str]) -> str:
        """Advice on what to add to `watch:` so that pages follow files, imported from a path; empty if it has them."""
        written = [str(entry) for entry in self.config.get("watch") or ()]
        watched = {self.root.joinpath(entry).resolve() for entry in written}
        watched |= {Path(row[0]) for row in self.config.get("watched_files") or ()}
        there = (file for file in files if file.exists())  # torch looks for names of which there are no files
        missing = [file for file in there if watched.isdisjoint((file.resolve(), *file.resolve().parents))]
        if not missing:
            return ""
        entries = [*written, *dict.fromkeys(self._entry(file, path) for file in sorted(missing))]
        shown = os.path.relpath(min(missing), self.root)
        more = f" and {len(missing) - 1} more are" if len(missing) > 1 else " is"
        if (self.root / "zensical.toml").is_file():
            line = f"`watch = {json.dumps(entries)}` under [project] in zensical.toml"
        else:
            line = f"`watch: [{', '.join(entries)}]` in mkdocs.yml"
        return f"{shown}{more} not watched, so Zensical keeps pictures when it changes: write {line}"

    def _entry(self, file: Path, path: Sequence[str]) -> str:
        """The folder of packages that the file is in; if that is more than code, the package; else the file."""
        file = file.resolve()
        folder = next((Path(entry) for entry in path if file.is_relative_to(entry)), None)
        if folder is None:
            return os.path.relpath(file, self.root)
        if self.root.is_relative_to(folder):
            folder /= file.relative_to(folder).parts[0]
        return os.path.relpath(folder, self.root)


def find_later(cls: str) -> str:
    return _LINK + cls


def with_references(html: str) -> str:
    """The HTML with references to the classes in its pictures, and a script that takes the addresses from them.

    They stand beside the pictures: what becomes of one that leads nowhere, a `span`, would end the SVG.
    """
    classes = dict.fromkeys(match[1] for match in _LINKS.finditer(html))
    if not classes:
        return html
    names = ((cls, name) for cls in classes for name in names_of_class(cls))
    wanted = "".join(f'<autoref identifier="{name}" optional>{cls}</autoref>' for cls, name in names)
    before, end, after = _LINKS.sub(r'data-class="\1"', html).rpartition("</figure>")
    return f'{before}<span class="torchrecorder-references" hidden>{wanted}</span>{_ADDRESSES}{end}{after}'
