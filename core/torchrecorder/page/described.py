"""What the docstring of a model says of it: the paper that it is from, and its licence.

The docstring is read from the files that its recording depended on; nothing is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_FIELD = r"^[ \t]*[-*]?[ \t]*:?\**(?:{})\**[ \t]*:\**[ \t]*(?P<text>\S.*(?:\n[ \t]+\S.*)*)"
"""A field as `:paper: …`, `Paper: …` or `**Paper**: …`, whose indented next lines go on with it."""
DESCRIBED = {
    "paper": re.compile(_FIELD.format("papers?|references?"), re.IGNORECASE | re.MULTILINE),
    "licence": re.compile(_FIELD.format("licen[cs]e"), re.IGNORECASE | re.MULTILINE),
}
"""What can be asked for, with its field."""
_LINKS = (
    re.compile(r"`(?P<text>[^`<>]*?)\s*<(?P<url>https?://[^>\s]+)>`_*"),
    re.compile(r"\[(?P<text>[^\]]*)\]\((?P<url>https?://[^)\s]+)\)"),
    re.compile(r"(?P<text>)(?P<url>https?://[^\s<>`\"']*[^\s<>`\"'.,;:)\]])"),
)
"""Links of reStructuredText and Markdown, and bare addresses."""
_OF_PAPERS = re.compile(
    r"https?://(?:www\.|dx\.)?(?:arxiv\.org|doi\.org|openreview\.net|aclanthology\.org|openaccess\.)"
)


class Described(NamedTuple):
    text: str = ""
    url: str = ""
    """Where it leads; empty for nowhere."""


def described(what: str, names: Iterable[str], files: Iterable[Path]) -> Described:
    """The `paper` or the `licence` of a model; empty if its docstrings name none.

    A paper without a field is the first link to a place where papers are.

    Args:
        what: Which of the two.
        names: The function that makes the model, and its class, without their modules; the first that says it counts.
        files: Those that may define them.
    """
    files = tuple(files)
    for docstring in (text for name in dict.fromkeys(names) for text in _docstrings(name, files)):
        if field := DESCRIBED[what].search(docstring):
            text = " ".join(field["text"].split())
            words, url = _link(text)
            return Described(words or text.replace(url, "").strip(" ,.;:()<>") or _address(url), url)
        if what == "paper" and (link := _link(docstring, _OF_PAPERS)).url:
            return Described(link.text or _address(link.url), link.url)
    return Described()


def _link(text: str, wanted: re.Pattern[str] = re.compile("")) -> Described:
    """The first link of a text that is wanted, with its own words; empty if there is none."""
    links = (link for pattern in _LINKS for link in pattern.finditer(text) if wanted.match(link["url"]))
    first = min(links, key=lambda link: link.start(), default=None)
    return Described(" ".join(first["text"].split()), first["url"]) if first else Described()


def _address(url: str) -> str:
    return url.partition("://")[2]


def _docstrings(name: str, files: tuple[Path, ...]) -> Iterator[str]:
    for file in files:
        try:
            text = _top_level(file, file.stat().st_mtime_ns).get(name) if file.suffix == ".py" else None
        except OSError:
            continue
        if text is not None:
            yield text


@lru_cache(maxsize=512)
def _top_level(file: Path, _changed_ns: int) -> dict[str, str]:
    """The docstrings of the classes and functions of a file, by name; none if it cannot be read as Python."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, kinds)}
