"""Pictures and tables in the text of reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

_MARKUP = re.compile(r"([\\*`_|])")


def escaped(text: str) -> str:
    """The text as one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def image(address: str, options: Mapping[str, str]) -> Iterator[str]:
    """Lines of an image; options without a value are left out."""
    yield f".. image:: {address}"
    yield from (f"   :{name}: {' '.join(value.split())}" for name, value in options.items() if value)


def table(heads: Sequence[str], rows: Iterable[Sequence[Sequence[str]]], said: str = "") -> Iterator[str]:
    """Lines of a table, each cell of which has lines of its own, and of a sentence below it."""
    yield from (".. list-table::", "   :header-rows: 1", "")
    for row in ([[escaped(head)] for head in heads], *rows):
        for column, cell in enumerate(row):
            first, *more = cell
            yield f"   {' ' if column else '*'} - {first}".rstrip()
            yield from (f"       {line}" for line in more)
    if said:
        yield from ("", f"*{escaped(said)}*")
