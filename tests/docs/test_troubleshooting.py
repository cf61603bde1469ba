"""The messages on the page on troubleshooting are those of the code, word for word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.docs.blocks import ROOT
from tests.words import PRODUCT, files

PAGE = (ROOT / "docs" / "howto" / "troubleshooting.md").read_text(encoding="utf-8")
OURS, OTHERS = PAGE.split("\n## Messages of others\n")
QUOTED = re.findall(r"^\*\*`([^`]+)`\*\*", OURS, re.MULTILINE)


def texts(source: str) -> Iterator[str]:
    """The texts of a source, with `…` for what is put in, and without the brackets of what may be left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(it.value) if isinstance(it, ast.Constant) else "…" for it in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"\{\w+(:\w+)?\}", "…", re.sub(r"\[ ([^][]*)\]", r" \1", node.value))


SAID = [text for file in files(*PRODUCT) if file.suffix == ".py" for text in texts(file.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("quoted", QUOTED)
def test_the_message_is_one_of_ours(quoted: str) -> None:
    assert [text for text in SAID if quoted.strip("…") in text]


def test_every_message_of_ours_is_looked_at() -> None:
    assert len(QUOTED) == len(set(QUOTED)) == OURS.count("\n**")
    assert len(QUOTED) > 20
    assert OTHERS
