"""The plugin for MkDocs and ProperDocs: one batch for the whole site, and figures that search never sees.

Markdown leaves markers. When all pages are converted, `on_env` draws what they ask for; when search has indexed a page,
`on_page_context` puts its figures in. Results stay with their fences, not with the HTML of that moment, because other
plugins still change it in between.
"""

from __future__ import annotations

import hashlib
import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

from mkdocs_torchrecorder.batch import Batch, Results, draw, drop_markers, fill
from mkdocs_torchrecorder.config import TorchRecorderConfig
from mkdocs_torchrecorder.extension import MACHINE_CACHE, ON_ERROR, PLACE, TorchRecorderExtension, chosen, settings
from mkdocs_torchrecorder.fence import marked_fences
from mkdocs_torchrecorder.figure import anchor
from mkdocs_torchrecorder.links import finder
from mkdocs_torchrecorder.page import page_of_file
from mkdocs_torchrecorder.report import Report
from torchrecorder.faults import unforeseen
from torchrecorder.page import ASSETS, SCRIPT, STYLE, Outcome, Translate, message, translation
from torchrecorder.request import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page
    from mkdocs.utils.templates import TemplateContext

    from torchrecorder.worker.lasting import PersistentWorker

_FILES = {name: f"assets/{name}" for name in (STYLE, SCRIPT)}
"""Where the style sheet and the script lie in a site."""
BEFORE_MKDOCSTRINGS, AFTER_SEARCH, AFTER_ALL = 50, -95, -100


class TorchRecorderPlugin(BasePlugin[TorchRecorderConfig]):  # type: ignore[no-untyped-call] # of MkDocs
    """Draws the diagrams of a site.

    MkDocs calls, in this order:

    - `on_startup`: a server gets a worker that outlives its builds;
    - `on_config`: the settings are read; every Markdown of the build gets the extension;
    - `on_files`: the style sheet and the script become files of the site;
    - `on_page_content`, for each page: what records is started, once a diagram needs it;
    - `on_env`, when all pages are converted: the diagrams of the whole site are drawn, and failures reported;
    - `on_page_context`, after the search plugin: the figures of a page replace its markers;
    - `on_post_page`: the figures of other pages replace the markers that a blog has copied from them;
    - `on_post_build`: so they do in files that other plugins have written by themselves, such as a page to print;
    - `on_serve`, after a server's first build: it watches the files of the models;
    - `on_shutdown`: the worker of a server ends.

    A server's next builds begin at `on_config`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._batch: Batch | None = None
        self._lasting: PersistentWorker | None = None
        self._server: LiveReloadServer | None = None
        self._sources: set[Path] = set()
        self._watched: set[Path] = set()

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
        """Have a server's builds share a worker; that this method exists has MkDocs keep the plugin between them."""
        if command == "serve":
            from torchrecorder.worker.lasting import PersistentWorker  # builds mostly record nothing

            self._lasting = PersistentWorker()

    def on_shutdown(self) -> None:
        """End the worker that a server's builds shared."""
        if self._lasting is not None:
            self._lasting.close()

    @event_priority(BEFORE_MKDOCSTRINGS)
    def on_config(self, config: MkDocsConfig) -> MkDocsConfig | None:
        """Have every Markdown of this build use the extension, that of docstrings too.

        As an object, not by name: another plugin may have copied the configuration of extensions already.
        """
        self._results: Results = {}
        self._written: set[str] = set()
        self._batch = None
        if not self.config.enabled:
            return None
        self._batch = Batch(self._read_settings(config), self._lasting.open if self._lasting is not None else None)
        if self.config["autodoc"]:
            _add_to_mkdocstrings(config, self.config["autodoc"])
        config.markdown_extensions.append(TorchRecorderExtension(leave_markers=True))  # type: ignore[arg-type]
        config.extra_css.insert(0, _FILES[STYLE])
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files | None:
        """Add the style sheet and the script, if the site has none of that name."""
        if self.config.enabled:
            for file in _FILES.values():
                if files.get_file_from_path(file) is None:
                    files.append(File(file, str(ASSETS.parent), config.site_dir, config.use_directory_urls))
        return files

    def on_page_content(self, html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
        """Have torch imported while other pages are converted, if a diagram of this one is to be recorded."""
        if self._batch is not None and marked_fences(html):
            self._batch.expect(page_of_file(page.file, html))
        return None

    def on_build_error(self, *, error: Exception) -> None:
        """End what was started for a build that failed before it came to the diagrams."""
        if self._batch is not None:
            self._batch.pipeline.close()

    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> Environment | None:
        """Draw the diagrams of all pages."""
        if self._batch is None:
            return None
        pages = [page for file in files if (page := file.page) is not None and marked_fences(page.content or "")]
        if self.config["autodoc"] and "mkdocstrings" in config.plugins:
            _warn_of_patterns(self.config["autodoc"])
        drawn = draw([page_of_file(page.file, page.content or "") for page in pages], self._batch)
        for page, results in zip(pages, drawn.results, strict=True):
            self._results |= results
            # Links to the names of figures lead somewhere: MkDocs, from 1.6 on, has looked for ids already.
            ids: set[str] | None = getattr(page, "present_anchor_ids", None)
            if ids is not None:
                ids.update(anchor(it.request.figure.name) for it in results.values() if isinstance(it, Outcome))
        self._sources |= drawn.sources()
        self._watch()
        if problems := drawn.fatal(self._on_error == "raise"):
            raise PluginError("\n".join(problems))
        return env

    @event_priority(AFTER_SEARCH)
    def on_page_context(
        self, context: TemplateContext, *, page: Page, config: MkDocsConfig, nav: Navigation
    ) -> TemplateContext | None:
        """Put the figures into a page."""
        if self._batch is not None and marked_fences(page.content or ""):
            page.content = self._fill(page.content or "", page.url, config)
        return context

    def on_post_page(self, output: str, *, page: Page, config: MkDocsConfig) -> str | None:
        """Put in the figures of other pages, which a blog shows as excerpts without calling any plugin."""
        if self._batch is None:
            return output
        self._written.add(page.file.abs_dest_path)
        if not marked_fences(output):
            return output
        return drop_markers(self._fill(output, page.url, config), page.file.src_uri)

    @event_priority(AFTER_ALL)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Put the figures into what other plugins have made of the contents of pages.

        Such as one page with all pages, to be printed: there, nothing can be turned or opened.
        """
        if self._batch is None:
            return
        for folder, _, names in os.walk(config.site_dir):
            for file in (os.path.join(folder, name) for name in sorted(names) if name.endswith(".html")):
                if file not in self._written:
                    try:
                        self._fill_file(Path(file), config)
                    except Exception as unexpected:  # of a file that another plugin wrote
                        error = unforeseen(os.path.relpath(file, config.site_dir), unexpected)
                        Report().warn(message(error), details=error.details())

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[..., None]
    ) -> LiveReloadServer | None:
        """Build again when a model's code changes."""
        self._server = server
        self._watch()
        return server

    def _fill(self, html: str, url: str, config: MkDocsConfig) -> str:
        # The script stands in the contents: themes that load a page into another run those of its contents only.
        script = f'<script src="{escape(get_relative_url(_FILES[SCRIPT], url))}" defer></script>'

        def save(svg: str) -> str:
            data = svg.encode()
            name = f"assets/torchrecorder-{hashlib.sha256(data).hexdigest()[:16]}.svg"
            file = Path(config.site_dir, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            return get_relative_url(name, url)

        find = finder(config.plugins, url)
        return fill(html, self._results, find, script, save, place=self._place, translate=_translate(config))

    def _fill_file(self, file: Path, config: MkDocsConfig) -> None:
        html = file.read_text(encoding="utf-8", errors="surrogateescape")
        if marked_fences(html):
            url = file.relative_to(config.site_dir).as_posix()
            filled = fill(html, self._results, finder(config.plugins, url), translate=_translate(config))
            filled = drop_markers(filled, url)
            file.write_text(filled, encoding="utf-8", errors="surrogateescape")

    def _read_settings(self, config: MkDocsConfig) -> Settings:
        root = Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
        site = settings(root.resolve(), dict(self.config))
        self._place, self._on_error = (chosen(it, dict(self.config)) for it in (PLACE, ON_ERROR))
        _warn_of_place(site, config, is_served=self._lasting is not None)
        return site

    def _watch(self) -> None:
        if self._server is not None:
            for file in sorted(self._sources - self._watched):
                # For a file that is not there yet, the folder it may appear in.
                if (place := next(filter(Path.exists, (file, file.parent)), None)) is not None:
                    self._server.watch(str(place), recursive=False)
            self._watched |= self._sources


def _translate(config: MkDocsConfig) -> Translate:
    """Into the language of the site: Material has one of its own, the themes of MkDocs have a locale."""
    return translation(str(config.theme.get("language") or config.theme.get("locale") or ""))


def _add_to_mkdocstrings(config: MkDocsConfig, autodoc: object) -> None:
    """Have mkdocstrings' handler of Python ask us for each class that it shows."""
    plugin = config.plugins.get("mkdocstrings")
    if plugin is None:
        Report().warn("autodoc draws the classes that mkdocstrings shows; name mkdocstrings under `plugins:`")
        return
    from mkdocs_torchrecorder.automatic import forget  # needs griffe, as mkdocstrings does

    forget()
    handlers = plugin.config["handlers"]
    options = handlers.setdefault("python", {}).setdefault("options", {})
    options["extensions"] = [*options.get("extensions", ()), {"mkdocs_torchrecorder.automatic": {"autodoc": autodoc}}]


def _warn_of_patterns(autodoc: object) -> None:
    from mkdocs_torchrecorder.automatic import unmatched

    for problem in unmatched(autodoc):
        Report().warn(f"autodoc: {problem}")


def _warn_of_place(settings: Settings, config: MkDocsConfig, *, is_served: bool) -> None:
    """Warn of a cache that MkDocs publishes, and of one whose every write makes its server build again, for ever."""
    docs = Path(config.docs_dir).resolve()
    for cache, setting in ((settings.committed, "cache"), (settings.cache, MACHINE_CACHE.name)):
        if cache is None or not cache.resolve().is_relative_to(docs):
            continue
        place = cache.resolve().relative_to(docs)
        is_hidden = any(part.startswith(".") for part in place.parts)
        is_published = not is_hidden and not (config.exclude_docs and config.exclude_docs.match_file(place / "README"))
        is_written = cache is settings.cache
        if is_published or (is_served and is_written):
            why = "is published and watched" if is_published else "is watched, so that the server builds for ever"
            shown = os.path.relpath(cache, settings.root)
            Report().warn(f"the cache {shown} lies in docs_dir, where it {why}: move it by the setting {setting}")
