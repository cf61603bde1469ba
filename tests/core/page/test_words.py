"""The texts of pages, which translations know by what they are in English."""

from __future__ import annotations

import ast
from pathlib import Path

import torchrecorder
from torchrecorder.page import ASSETS, SCRIPT, words
from torchrecorder.recording.inputs import _NOT_COMPUTED


def test_a_note_keeps_its_facts() -> None:
    said = {"{}, from {}": "{}, aus {}", "{} each": "je {}"}

    def german(text: str) -> str:
        return said.get(text, text)

    assert words.translated("x [1,3], from enter", german) == "x [1,3], aus enter"
    assert words.translated("something else", german) == "something else"
    assert words.translated("the forward returned no tensor", german) == "the forward returned no tensor"
    assert words.translated("x, from enter", words.in_english) == "x, from enter"


def test_notes_are_said_so_somewhere() -> None:
    """Every piece between facts stands in the source, so a note that is worded anew is worded anew here."""
    package = Path(torchrecorder.__file__).parent
    said = [_NOT_COMPUTED]
    for file in package.rglob("*.py"):
        if file.name != "words.py":
            tree = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            said += [it.value for it in tree if isinstance(it, ast.Constant) and isinstance(it.value, str)]
    pieces = {
        piece.strip(", ")
        for note in words.NOTES
        for part in note.split("{}")
        for piece in part.split("; ")
        if len(piece) > 3
    }
    assert len(pieces) > 30
    assert [piece for piece in sorted(pieces) if not any(piece in text for text in said)] == []


def test_the_script_says_what_is_translated() -> None:
    script = (ASSETS / SCRIPT).read_text(encoding="utf-8")
    assert [text for text in words.SCRIPT_WORDS if text not in script] == []
