"""One word for one thing, and plain English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.words import ODD_WORDS, PORTS, PRODUCT, PROMISED, ROOMS, ROOT, classes, files


@pytest.mark.parametrize("room", ROOMS)
def test_sentences_are_plain_english(room: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files(room)
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if ODD_WORDS.search(line)
    ]
    assert found == []


def test_every_room_is_there() -> None:
    assert all(list(files(room)) for room in (*ROOMS, *PORTS))


@pytest.mark.parametrize(
    ("text", "is_odd"),
    [
        ("'x' is no width", True),
        ("these are no shapes", True),
        ("It was told to nobody", True),
        ("the inputs cannot be had", True),
        ("mended", True),
        ("there is no such module", False),
        ("it is no longer there", False),
        ("there are no diagrams", False),
        ("recommended amendments", False),
        ("'x' is not a valid width", False),
    ],
)
def test_odd_words_are_found(text: str, is_odd: bool) -> None:
    assert bool(ODD_WORDS.search(text)) is is_odd


def test_a_class_name_stands_for_one_thing() -> None:
    everywhere, here = classes(*PRODUCT), classes(*ROOMS)
    several = {name for name, defined in everywhere.items() if len(defined) > 1}
    assert several & set(here) - PROMISED == set()


def test_promised_names_are_those_of_ports_and_needed() -> None:
    everywhere = classes(*PRODUCT)
    assert set(classes(*PORTS)) >= PROMISED
    assert [name for name in PROMISED if len(everywhere[name]) == 1] == []


def test_the_glossary_has_one_meaning_for_each_of_at_most_forty_words() -> None:
    text = Path(ROOT, "docs/design/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)[1:]
    words = [word for word, _ in rows]
    assert len(set(words)) == len(words) <= 40
    assert len({meaning for _, meaning in rows}) == len(rows)
    named = {name for _, meaning in rows for name in re.findall(r"`([A-Z]\w+)`", meaning)}
    assert named - set(classes(*PRODUCT)) == set()
