"""The settings of `mkdocs.yml` and of the Markdown extension, and the site that they say."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs_torchrecorder.report import tell
from torchrecorder.site import SETTINGS, Site, Tool

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

    from mkdocs_torchrecorder.fence import Fence


def make_site(
    root: Path,
    written: Mapping[str, Any],
    locate: Callable[[Fence], str],
    open_worker: Callable[[Any], AbstractContextManager[Any]] | None = None,
) -> Site[Fence]:
    """The site of a build; warns of settings that are wrong, and leaves them out.

    Args:
        root: The folder that relative paths begin at.
        written: The values of the extension's or the plugin's configuration, by name.
        locate: Where a fence is, for warnings.
        open_worker: Opens a worker that records for one build after the other.
    """
    known = {setting.name for setting in SETTINGS} & written.keys()
    tool: Tool[Fence] = Tool(tell, locate, "{}", "`{}` of the plugin torchrecorder in mkdocs.yml")
    return Site(root, {name: written[name] for name in known}, tool, open_worker=open_worker)


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
