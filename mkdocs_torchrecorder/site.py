"""The site of one build: what a configuration says of it, and what it says in the log.

The logger's name makes MkDocs and ProperDocs count the warnings, so `--strict` fails; at every build until the cause is
gone. Without them, Python shows warnings on the standard error output.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchrecorder.site import SETTINGS, Message, Site

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

    from mkdocs_torchrecorder.fence import Fence

_logger = logging.getLogger("mkdocs.plugins.torchrecorder")


class DiagramsFailed(Exception):
    """Raised in place of going on, where `on_error` is `raise`; its text is that of all the warnings."""


class FenceSite(Site["Fence"]):
    """The site of a build, as the configuration of the extension or the plugin says it."""

    setting, where = "{}", "`{}` of the plugin torchrecorder in mkdocs.yml"

    def __init__(
        self,
        root: Path,
        written: Mapping[str, Any],
        locate: Callable[[Fence], str],
        open_worker: Callable[[Any], AbstractContextManager[Any]] | None = None,
    ) -> None:
        self._locate = locate
        known = {setting.name for setting in SETTINGS} & written.keys()
        super().__init__(root, {name: written[name] for name in known}, open_worker=open_worker)

    def tell(self, message: Message) -> None:
        tell(message)

    def locate(self, place: Fence) -> str:
        return self._locate(place)


def warn_of_place(site: Site[Fence], config: MkDocsConfig, *, is_served: bool) -> None:
    """Warn of a cache that MkDocs publishes, and of one whose every write makes its server build again, for ever."""
    docs = Path(config.docs_dir).resolve()
    for cache, setting in ((site.settings.committed, "cache"), (site.settings.cache, "machine_cache")):
        if cache is None or not cache.resolve().is_relative_to(docs):
            continue
        place = cache.resolve().relative_to(docs)
        is_hidden = any(part.startswith(".") for part in place.parts)
        is_published = not is_hidden and not (config.exclude_docs and config.exclude_docs.match_file(place / "README"))
        if is_published or (is_served and setting == "machine_cache"):
            why = "is published and watched" if is_published else "is watched, so that the server builds for ever"
            shown = os.path.relpath(cache, site.settings.root)
            site.warn(f"the cache {shown} lies in docs_dir, where it {why}: move it by the setting {setting}", "cache")


def tell(message: Message) -> None:
    """Put a message into the log; its place is page and line, as an editor understands them."""
    text = f"{message.place}: torchrecorder: {message.text}" if message.place else f"torchrecorder: {message.text}"
    if message.kind:
        _logger.warning("%s", text)
    elif message.text:
        _logger.info("%s", text)
    if message.details:
        _logger.debug("%s", message.details)


def show_progress(stage: str, target: str, done: int, total: int) -> None:
    """Log a step. A build in which nothing is recorded or drawn logs none."""
    if stage == "recording":
        _logger.info("torchrecorder: recording %d/%d: %s", done + 1, total, target)
    else:
        _logger.info("torchrecorder: drawing %d diagram%s", total, "" if total == 1 else "s")
