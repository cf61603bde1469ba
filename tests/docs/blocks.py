"""The code blocks of a page, and the file that each is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^(?P<fence>`{3,})(?P<language>[\w-]+)\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"(?:#|%|\.\.|<!--|\{?/\*) (?P<name>[\w./-]*\.\w+)(?P<remark>, [^>\n]*)?(?: -->| \*/\}?)?\n")


@dataclass(frozen=True)
class Block:
    """One block: its language, its text, and the file that a comment in its first line names, if one does."""

    page: str
    line: int
    language: str
    text: str
    file: str
    remark: str
    """What the comment says behind the name of the file."""


def blocks(page: str) -> list[Block]:
    """All blocks of a page in `docs`, in order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        name = _NAME.match(match["text"])
        file, remark = (name["name"], (name["remark"] or "").removeprefix(", ")) if name else ("", "")
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match["language"], match["text"], file, remark))
    assert not re.search(r"^`{3,}\w", _BLOCK.sub("", text), re.MULTILINE), f"{page} has a block that is not read"
    return found
