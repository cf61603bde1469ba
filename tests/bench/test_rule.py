"""A rule is switched off by text that stands once in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.rule import replace_once


def test_text_that_stands_once_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = f(1)\ny = f(2)\n")
    replace_once(file, "f(1)", "0")
    assert file.read_text() == "x = 0\ny = f(2)\n"


@pytest.mark.parametrize(("old", "words"), [("f", "stands 2 times"), ("g", "stands 0 times")])
def test_other_text_is_an_error(tmp_path: Path, old: str, words: str) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = f(1)\ny = f(2)\n")
    with pytest.raises(SystemExit, match=words):
        replace_once(file, old, "")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no file b\.py"):
        replace_once(tmp_path / "b.py", "f", "")
