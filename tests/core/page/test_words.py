"""The texts of pages, which translations know by what they are in English."""

from __future__ import annotations

import ast
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po

import torchrecorder
from torchrecorder.labels.sheet import LABELS
from torchrecorder.page import words
from torchrecorder.page.words import ASSETS, CATALOG, LOCALE, SCRIPT
from torchrecorder.recording.guess.search import _SLOW
from torchrecorder.request.models import COLUMNS

LANGUAGES = ("de", "fr", "ja", "zh_CN")
ABOUT = {words.SIZES, words.EXAMPLE, *words.SIGNS.values(), *(sign for sign in words.SIGNS if sign.startswith("a "))}
TEXTS = {
    *COLUMNS.values(),
    *words.FIGURE,
    *words.BOX,
    *words.IN_TABLE,
    *words.SCRIPT_WORDS,
    *words.NOTES,
    *words.GRADES.values(),
    *ABOUT,
    *LABELS.values(),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated_with_its_facts(language: str) -> None:
    with (LOCALE / language / "LC_MESSAGES" / f"{CATALOG}.po").open("rb") as file:
        catalog = read_po(file)
    said = {str(message.id): str(message.string) for message in catalog if message.id}
    assert set(said) == TEXTS
    assert not [text for text, other in said.items() if not other or other.count("{}") != text.count("{}")]
    compiled = BytesIO()
    write_mo(compiled, catalog)
    kept = (LOCALE / language / "LC_MESSAGES" / f"{CATALOG}.mo").read_bytes()
    assert {m.id: m.string for m in read_mo(BytesIO(kept)) if m.id} == {
        m.id: m.string for m in read_mo(BytesIO(compiled.getvalue())) if m.id
    }


def test_no_language_is_without_test() -> None:
    assert {folder.name for folder in LOCALE.iterdir()} == set(LANGUAGES)


@pytest.mark.parametrize(
    ("language", "depth"),
    [("de", "Tiefe"), ("de_AT", "Tiefe"), ("fr-CA", "Profondeur"), ("zh", "深度"), ("zh-Hans", "深度")],
)
def test_tools_name_languages_in_several_ways(language: str, depth: str) -> None:
    assert words.translation(language)("Depth") == depth


@pytest.mark.parametrize("language", ["", "en", "en_GB", "zh-TW", "pt-BR", "../de"])
def test_other_languages_are_english(language: str) -> None:
    assert words.translation(language) is words.in_english


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
    said = [f"the forward ran on fake tensors: {_SLOW} 1 s on real ones"]
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
