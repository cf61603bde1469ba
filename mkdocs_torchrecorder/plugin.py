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

from mkdocs.config import config_options as c
from mkdocs.config.base import Config
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

from mkdocs_torchrecorder.extension import TorchRecorderExtension
from mkdocs_torchrecorder.fence import Fence, asked_fences, marked_fences
from mkdocs_torchrecorder.figure import PageFiller, anchor, drop_markers, finder
from mkdocs_torchrecorder.page import MarkdownPage, draw, page_of_file
from mkdocs_torchrecorder.site import FenceSite, warn_of_place
from torchrecorder.site import SETTINGS, PersistentWorker, Site, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page
    from mkdocs.utils.templates import TemplateContext

_FILES = {name: f"assets/{name}" for name in (words.STYLE, words.SCRIPT, words.MODELS_SCRIPT)}
"""Where the style sheet and the scripts lie in a site."""
BEFORE_MKDOCSTRINGS, AFTER_SEARCH, AFTER_ALL = 50, -95, -100  # mkdocstrings has 0, search -90


class TorchRecorderConfig(Config):  # type: ignore[no-untyped-call] # of MkDocs
    """The plugin's part of `mkdocs.yml`; MkDocs itself warns of other keys. Paths are relative to its folder.

    Each takes any value: what is wrong with it is a warning, as in Sphinx, and no end.
    """

    vars().update({setting.name: c.Type(object, default=setting.default) for setting in SETTINGS})

    enabled = c.Type(bool, default=True)
    """Whether fences become diagrams; if not, they are shown as code."""


class TorchRecorderPlugin(BasePlugin[TorchRecorderConfig]):  # type: ignore[no-untyped-call] # of MkDocs
    """Draws the diagrams of a site.

    MkDocs calls the methods in the order in which they stand here, the last three where there is a reason to.
    A server's next builds begin at `on_config`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._site: Site[Fence] | None = None
        self._lasting: PersistentWorker | None = None
        self._server: LiveReloadServer | None = None
        self._sources: set[Path] = set()
        self._watched: set[Path] = set()

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
        """Have a server's builds share a worker; that this method exists has MkDocs keep the plugin between them."""
        if command == "serve":
            self._lasting = PersistentWorker()

    @event_priority(BEFORE_MKDOCSTRINGS)
    def on_config(self, config: MkDocsConfig) -> MkDocsConfig | None:
        """Have every Markdown of this build use the extension, that of docstrings too.

        As an object, not by name: another plugin may have copied the configuration of extensions already.
        """
        self._pages: dict[Fence, MarkdownPage] = {}
        self._documented: dict[str, bool] = {}
        self._written: set[str] = set()
        self._urls: dict[str, str] = {}
        self._site = None
        if not self.config.enabled:
            return None
        root = Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
        open_worker = self._lasting.open if self._lasting is not None else None
        self._site = site = FenceSite(root.resolve(), dict(self.config), self._locate, open_worker)
        warn_of_place(site, config, is_served=self._lasting is not None)
        _add_to_mkdocstrings(config, site, self._documented)
        config.markdown_extensions.append(TorchRecorderExtension(leave_markers=True))  # type: ignore[arg-type]
        config.extra_css.insert(0, _FILES[words.STYLE])
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files | None:
        """Add the style sheet and the scripts, where the site has none of that name."""
        if self.config.enabled:
            for file in _FILES.values():
                if files.get_file_from_path(file) is None:
                    files.append(File(file, str(words.ASSETS.parent), config.site_dir, config.use_directory_urls))
        return files

    def on_page_content(self, html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
        """Have torch imported while other pages are converted, if a diagram of this one is to be recorded."""
        fences = asked_fences(html) if self._site is not None else []
        if self._site is not None and fences:
            options = self._site.page_options(page_of_file(page.file, html).options)
            for fence in fences:
                self._site.expect(fence, fence.body, options)
        return None

    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> Environment | None:
        """Draw the diagrams of all pages, and report failures."""
        site = self._site
        if site is None:
            return None
        if "mkdocstrings" in config.plugins:
            for problem in site.settings.rules.problems(self._documented):
                site.warn(f"autodoc: {problem}", "option")
        pages = [page for file in files if (page := file.page) is not None and marked_fences(page.content or "")]
        marked = [page_of_file(page.file, page.content or "") for page in pages]
        self._pages = {fence: page for page in marked for fence in asked_fences(page.html)}
        draw(marked, site)
        for page in pages:
            # Links to the names of figures lead somewhere: MkDocs, from 1.6 on, has looked for ids already.
            ids: set[str] | None = getattr(page, "present_anchor_ids", None)
            if ids is not None:
                fences = asked_fences(page.content or "")
                ids.update(anchor(site.results[fence].request.figure.name) for fence in fences)
        self._urls = {file.src_uri: file.url for file in files}
        self._sources |= site.sources()
        self._watch()
        if problems := site.fatal():
            raise PluginError("\n".join(problems))
        return env

    @event_priority(AFTER_SEARCH)
    def on_page_context(
        self, context: TemplateContext, *, page: Page, config: MkDocsConfig, nav: Navigation
    ) -> TemplateContext | None:
        """Put the figures into a page, which search has read by now."""
        if self._site is not None and marked_fences(page.content or ""):
            page.content = self._fill(self._site, page.content or "", page.url, config)
        return context

    def on_post_page(self, output: str, *, page: Page, config: MkDocsConfig) -> str | None:
        """Put in the figures of other pages, which a blog shows as excerpts without calling any plugin."""
        if self._site is None:
            return output
        self._written.add(page.file.abs_dest_path)
        if not marked_fences(output):
            return output
        return drop_markers(self._fill(self._site, output, page.url, config), page.file.src_uri, self._site)

    @event_priority(AFTER_ALL)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Put the figures into what other plugins have made of the contents of pages.

        Such as one page with all pages, to be printed: there, nothing can be turned or opened.
        """
        if self._site is None:
            return
        for folder, _, names in os.walk(config.site_dir):
            for file in (os.path.join(folder, name) for name in sorted(names) if name.endswith(".html")):
                if file not in self._written:
                    try:
                        self._fill_file(self._site, Path(file), config)
                    except Exception as unexpected:  # of a file that another plugin wrote
                        self._site.unforeseen(os.path.relpath(file, config.site_dir), unexpected)

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[..., None]
    ) -> LiveReloadServer | None:
        """Have the server watch the files of the models, after its first build."""
        self._server = server
        self._watch()
        return server

    def on_build_error(self, *, error: Exception) -> None:
        if self._site is not None:
            self._site.close()

    def on_shutdown(self) -> None:
        if self._lasting is not None:
            self._lasting.close()

    def _fill(self, site: Site[Fence], html: str, url: str, config: MkDocsConfig) -> str:
        # The script stands in the contents: themes that load a page into another run those of its contents only.
        script, models_script = (
            f'<script src="{escape(get_relative_url(_FILES[name], url))}" defer></script>'
            for name in (words.SCRIPT, words.MODELS_SCRIPT)
        )

        def save(svg: str) -> str:
            data = svg.encode()
            name = f"assets/torchrecorder-{hashlib.sha256(data).hexdigest()[:16]}.svg"
            file = Path(config.site_dir, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            return get_relative_url(name, url)

        def page_of(fence: Fence) -> str | None:
            to = self._urls.get(fence.page)
            return None if to is None else get_relative_url(to, url)

        find = finder(config.plugins, url)
        filler = PageFiller(site, find, (script, models_script), save, page_of, translate=_translate(config))
        return filler.fill(html)

    def _fill_file(self, site: Site[Fence], file: Path, config: MkDocsConfig) -> None:
        html = file.read_text(encoding="utf-8", errors="surrogateescape")
        if marked_fences(html):
            url = file.relative_to(config.site_dir).as_posix()
            filled = PageFiller(site, finder(config.plugins, url), translate=_translate(config)).fill(html)
            filled = drop_markers(filled, url, site)
            file.write_text(filled, encoding="utf-8", errors="surrogateescape")

    def _locate(self, fence: Fence) -> str:
        return self._pages[fence].location(fence) if fence in self._pages else fence.page

    def _watch(self) -> None:
        if self._server is not None:
            for file in sorted(self._sources - self._watched):
                # For a file that is not there yet, the folder it may appear in.
                if (place := next(filter(Path.exists, (file, file.parent)), None)) is not None:
                    self._server.watch(str(place), recursive=False)
            self._watched |= self._sources


def _translate(config: MkDocsConfig) -> words.Translate:
    """Into the language of the site: Material has one of its own, the themes of MkDocs have a locale."""
    return words.translation(str(config.theme.get("language") or config.theme.get("locale") or ""))


def _add_to_mkdocstrings(config: MkDocsConfig, site: Site[Fence], documented: dict[str, bool]) -> None:
    """Have mkdocstrings' handler of Python ask us for each class that it shows, and note those."""
    plugin = config.plugins.get("mkdocstrings")
    if plugin is None and not site.settings.rules.by_pattern:
        return
    if plugin is None:
        text = "autodoc draws the classes that mkdocstrings shows; name mkdocstrings under `plugins:`"
        site.warn(text, "option")
        return
    options = plugin.config["handlers"].setdefault("python", {}).setdefault("options", {})
    ours = {"autodoc": site.settings.rules, "documented": documented}
    options["extensions"] = [*options.get("extensions", ()), {"mkdocs_torchrecorder.automatic": ours}]
