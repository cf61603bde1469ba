"""Addresses of the pages of classes, asked of the plugin autorefs, which mkdocstrings brings along; it may be absent.

Not by elements that autorefs replaces itself: it has done so before the figures are put into the pages, and what it
does not find it warns of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from torchrecorder.site import Diagram, names_of_class

Find: TypeAlias = Callable[[str], str | None]
"""Gives the address of a class, seen from one page; None if it has no page."""


def nowhere(cls: str) -> str | None:
    """Finds nothing, where there is no autorefs."""
    return None


def finder(plugins: Mapping[str, object], page_url: str) -> Find:
    """Finds what autorefs of these plugins finds, seen from a page."""
    get = getattr(plugins.get("autorefs"), "get_item_url", None)
    if get is None:
        return nowhere

    def find(cls: str) -> str | None:
        urls = (_ask(get, name, page_url) for name in names_of_class(cls))
        return next((url for url in urls if url), None)

    return find


def addresses(diagram: Diagram, find: Find) -> dict[str, str]:
    return {cls: url for cls in diagram.classes if (url := find(cls))}


def _ask(get: Callable[..., object], name: str, page_url: str) -> str | None:
    """Address of a name by autorefs; up to version 1.3 it gives that alone, then with a title."""
    try:
        with _quiet(get.__module__):
            url = get(name, from_url=page_url)
    except KeyError:
        return None
    return str(url[0] if isinstance(url, tuple) else url)


@contextmanager
def _quiet(module: str) -> Iterator[None]:
    """Keeps autorefs from warning of a class with several pages: no author wrote a reference to correct."""
    logger = logging.getLogger(f"mkdocs.plugins.{module}")  # as plugins of MkDocs name theirs
    logger.addFilter(_reject)
    try:
        yield
    finally:
        logger.removeFilter(_reject)


def _reject(record: logging.LogRecord) -> bool:
    return False
