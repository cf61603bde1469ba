"""What holds for a whole build."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchrecorder.request import Settings
from torchrecorder.request.settings import read_memory


@pytest.mark.parametrize(
    ("text", "amount"), [("16G", 16 << 30), ("800 MB", 800 << 20), ("1.5GiB", 3 << 29), ("1000", 1000), ("0", None)]
)
def test_memory(text: str, amount: int | None) -> None:
    assert read_memory(text) == amount


@pytest.mark.parametrize("text", ["much", "-1G", "1P", ""])
def test_no_memory(text: str) -> None:
    with pytest.raises(ValueError, match="write 16G"):
        read_memory(text)


def test_paths_are_of_the_project(tmp_path: Path) -> None:
    settings = Settings.for_project(tmp_path, path=["../src"], python=".venv/bin/python", committed="docs/diagrams")
    assert settings.path[0] == str(tmp_path.parent / "src")
    assert settings.python == str(tmp_path / ".venv" / "bin" / "python")
    assert settings.committed == tmp_path / "docs" / "diagrams"
    assert Settings.for_project(tmp_path, python="python3.12").python == "python3.12"
    assert settings.root == tmp_path


def test_a_word_that_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="none of warn, error, placeholder"):
        Settings.for_project(tmp_path, on_stale="ignore")  # type: ignore[arg-type]


def test_the_project_is_where_the_cache_lies() -> None:
    assert Settings(Path("some/.torchrecorder")).root == Path(os.path.abspath("some"))
