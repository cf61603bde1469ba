"""The README: its picture is of the demo as it is, and it names what can be written."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

import torchrecorder
from torchrecorder.cli import main
from torchrecorder.page.files import FILE_TYPES

ROOT = Path(__file__).parent.parent
TEXTS = re.compile(r"<text[^>]*>(.*?)</text>")


def test_the_picture_is_fresh(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """If it is not: torchrecorder update."""
    monkeypatch.chdir(ROOT)
    assert main(["check"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", ["encoder.svg", "encoder-dark.svg"])
def test_the_picture_says_what_the_model_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs" / "demo"), *sys.path])
    encoder = importlib.import_module("demo_nets.encoder")
    diagram = torchrecorder.draw(encoder.TransformerEncoder())
    shown = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
    assert sorted(TEXTS.findall(shown)) == sorted(TEXTS.findall(diagram.svg))


@pytest.mark.parametrize("page", ["README.md", "docs/guide/python.md"])
def test_every_type_of_file_is_named(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [it.name for it in FILE_TYPES if f".{it.name}" not in text] == []
