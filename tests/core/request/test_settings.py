"""What holds for a whole build."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

from torchrecorder.request import SITE_SETTINGS, Settings, site_settings
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


DEFAULTS = {setting.name: setting.default for setting in SITE_SETTINGS}


def test_the_defaults_of_a_site_are_those_of_settings(tmp_path: Path) -> None:
    assert site_settings(tmp_path, DEFAULTS) == (Settings.for_project(tmp_path), {})
    named = set(inspect.signature(Settings.for_project).parameters)
    assert named == {*DEFAULTS, "root", "committed"}


def test_what_a_site_says(tmp_path: Path) -> None:
    written = {
        "path": "src",
        "cache": "diagrams",
        "on_stale": "error",
        "python": "python3.12",
        "memory": 0,
        "remote": "team",
        "allow": ["legacy.zoo"],
        "engine": "pure",
        "options": {"depth": 2},
    }
    assert set(written) == set(DEFAULTS)
    found, wrong = site_settings(tmp_path, written, cache="local")
    assert wrong == {}
    assert found == Settings.for_project(
        tmp_path,
        cache="local",
        committed="diagrams",
        path=["src"],
        on_stale="error",
        python="python3.12",
        memory="0",
        remote="team",
        allow=["legacy.zoo"],
        engine="pure",
        options={"depth": "2"},
    )


def test_all_that_is_wrong_with_a_site_is_left_out_by_itself(tmp_path: Path) -> None:
    written = {**DEFAULTS, "on_stale": "ignore", "memory": "much", "options": {"dept": 1, "fold": False}, "path": None}
    found, wrong = site_settings(tmp_path, written)
    assert found == Settings.for_project(tmp_path, options={"fold": "false"})
    assert wrong == {
        "on_stale": ("'ignore' is none of warn, error, placeholder",),
        "memory": ("'much' is not a valid amount of memory: write 16G, 800M, or 0 for no limit",),
        "options": ("unknown option 'dept', did you mean depth?",),
    }
    assert site_settings(tmp_path, {**DEFAULTS, "memory": "much", "engine": "pure"})[0].engine == "pure"
