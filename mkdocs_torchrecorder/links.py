"""Addresses of the pages of classes, asked of the plugin autorefs, which mkdocstrings brings along; it may be absent.

Not by elements that autorefs replaces itself: it has done so before the figures are put into the pages, and what it
does not find it warns of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TypeAlias

from torchrecorder.site import names_of_class

Find: TypeAlias = Callable[[str], str | None]
"""Gives the address of a class, seen from one page; None if it has no page."""


def nowhere(cls: str) -> str | None:
    """Finds nothing, where there is no autorefs."""
    return None


def finder(plugins: Mapping[str, object], page_url: str) -> Find:
    """Finds what autorefs of these plugins finds, seen from a page."""
    get: Callable[..., object] | None = getattr(plugins.get("autorefs"), "get_item_url", None)
    if get is None:
        return nowhere
    logger = logging.getLogger(f"mkdocs.plugins.{get.__module__}")  # as plugins of MkDocs name theirs

    def ask(name: str) -> str | None:
        # Autorefs would warn of a class with several pages: no author wrote a reference to correct.
        logger.addFilter(_reject)
        try:
            url = get(name, from_url=page_url)
        except KeyError:
            return None
        finally:
            logger.removeFilter(_reject)
        return str(url[0] if isinstance(url, tuple) else url)  # up to version 1.3 it gives no title

    return lambda cls: next(filter(None, map(ask, names_of_class(cls))), None)


def _reject(record: logging.LogRecord) -> bool:
    return False
