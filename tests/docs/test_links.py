"""Every relative link of every page, on the site or beside it, leads to a file and to a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "changelog.d").glob("*.md"), *(ROOT / "docs").rglob("*.md")]
CODE = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<place>[^)\s#]*)(?:#(?P<heading>[^)\s]+))?\)|(?:src|srcset|href)=\"(?P<file>[^\"]+)\"")


def headings(page: Path) -> set[str]:
    """The anchors that both generators give the headings of a page."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


def broken(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in LINK.finditer(CODE.sub("", text)):
        place = link["place"] or link["file"] or ""
        if "://" in place or place.startswith("mailto:"):
            continue
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (link["heading"] and link["heading"] not in headings(target)):
            found.append(link[0])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_a_broken_link_is_found() -> None:
    text = (
        '[a](README.md) [b](nowhere.md) [c](README.md#use-it) [d](README.md#nowhere) `[e](code.md)` <img src="f.svg">'
    )
    assert broken(ROOT / "CONTRIBUTING.md", text) == ["](nowhere.md)", "](README.md#nowhere)", 'src="f.svg"']
