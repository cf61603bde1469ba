"""The switch between pictures, and the files that pages need besides pictures."""

from __future__ import annotations

import gzip
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import torchrecorder.diagram.switch as module
from torchrecorder.diagram.switch import switch

ASSETS = Path(module.__file__).parent / "assets"


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_each_picture_has_a_button() -> None:
    found = Tags(switch([("1", "<i></i>"), ("<2>", "<b></b>")], uid="tr-1", chosen=1)).found
    inputs = [attrs for tag, attrs in found if tag == "input"]
    assert [attrs["id"] for attrs in inputs] == ["tr-1-0", "tr-1-1"]
    assert ["checked" in attrs for attrs in inputs] == [False, True]
    assert {attrs["for"] for tag, attrs in found if tag == "label"} == {"tr-1-0", "tr-1-1"}
    assert [tag for tag, _ in found if tag in "ib"] == ["i", "b"]
    assert "<2>" not in switch([("1", ""), ("<2>", "")], uid="a")


def test_one_picture_needs_no_switch() -> None:
    assert switch([("1", "<i></i>")], uid="a") == "<i></i>"


def test_the_uid_is_an_identifier() -> None:
    with pytest.raises(ValueError, match="identifier"):
        switch([("1", ""), ("2", "")], uid="a{}")


def test_the_script_is_small_and_asks_nobody() -> None:
    script = (ASSETS / "zoom.js").read_bytes()
    assert len(gzip.compress(script)) <= 2048
    assert not re.search(rb"https?:|import|fetch|eval|innerHTML", script)


def test_the_sheet_loads_nothing() -> None:
    assert not re.search("url\\(|@import", (ASSETS / "torchrecorder.css").read_text(encoding="utf-8"))
