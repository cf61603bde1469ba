"""What holds for a whole build."""

from __future__ import annotations

import os
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from torchrecorder.request import SETTINGS, Rules, Settings, read_settings
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
    settings = Settings.for_project(tmp_path, path=["../src"], python=".venv/bin/python", cache="docs/diagrams")
    assert settings.path[0] == str(tmp_path.parent / "src")
    assert settings.python == str(tmp_path / ".venv" / "bin" / "python")
    assert settings.committed == tmp_path / "docs" / "diagrams"
    assert Settings.for_project(tmp_path, python="python3.12").python == "python3.12"
    assert settings.root == tmp_path


def test_a_word_that_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="none of warn, error, placeholder"):
        Settings.for_project(tmp_path, on_stale="ignore")


def test_the_project_is_where_the_cache_lies() -> None:
    assert Settings(Path("some/.torchrecorder")).root == Path(os.path.abspath("some"))


DEFAULTS = {setting.name: setting.default for setting in SETTINGS}


def test_the_defaults_of_a_site_are_those_of_settings(tmp_path: Path) -> None:
    assert read_settings(tmp_path, DEFAULTS) == (Settings.for_project(tmp_path), {})
    assert read_settings(tmp_path, dict.fromkeys(DEFAULTS)) == (Settings.for_project(tmp_path), {})
    assert Settings.for_project(tmp_path) == replace(Settings(), cache=tmp_path / ".torchrecorder", project=tmp_path)


def test_what_a_site_says(tmp_path: Path) -> None:
    written = {
        "machine_cache": "local",
        "path": "src",
        "cache": "diagrams",
        "on_stale": "error",
        "python": "python3.12",
        "memory": 0,
        "remote": "team",
        "allow": ["legacy.zoo"],
        "engine": "pure",
        "options": {"depth": 2},
        "code": "https://forge.example/{path}#L{line}",
        "autodoc": {"pkg.*": {"shape": "1,3"}},
        "autodoc_place": "end",
        "autodoc_summary": "yes",
        "on_error": "raise",
    }
    assert set(written) == set(DEFAULTS)
    settings, wrong = read_settings(tmp_path, written)
    assert wrong == {}
    assert settings == Settings(
        cache=tmp_path / "local",
        path=tuple(dict.fromkeys([str(tmp_path / "src"), *map(os.path.abspath, sys.path)])),
        committed=tmp_path / "diagrams",
        on_stale="error",
        python="python3.12",
        memory_bytes=None,
        remote=str(tmp_path / "team"),
        allow=("legacy.zoo",),
        engine="pure",
        options={"depth": "2"},
        code="https://forge.example/{path}#L{line}",
        rules=Rules.read({"pkg.*": {"shape": "1,3"}})[0],
        place="end",
        summary=True,
        on_error="raise",
        project=tmp_path,
    )


def test_all_that_is_wrong_with_a_site_is_left_out_by_itself(tmp_path: Path) -> None:
    written = {
        **DEFAULTS,
        "on_stale": "ignore",
        "memory": "much",
        "options": {"dept": 1, "fold": False},
        "path": None,
        "allow": 3,
        "autodoc": {"pkg.*": {"shape": "1,3"}, "a b": True},
        "engine": "a\0b",
        "on_eror": "raise",
    }
    settings, wrong = read_settings(tmp_path, written)
    good = {"options": {"fold": "false"}, "autodoc": {"pkg.*": {"shape": "1,3"}}}
    assert settings == Settings.for_project(tmp_path, **good)
    assert wrong == {
        "on_stale": ("'ignore' is none of warn, error, placeholder",),
        "memory": ("'much' is not a valid amount of memory: write 16G, 800M, or 0 for no limit",),
        "options": ("unknown option 'dept', did you mean depth?",),
        "allow": ("3 is not a list of texts",),
        "autodoc": ("'a b' is not a valid pattern: write a dotted name, in which * stands for any text",),
        "engine": ("'a\\x00b' has characters that no file and no address has",),
        "on_eror": ("there is no such setting; did you mean the setting `on_error`?",),
    }
    assert read_settings(tmp_path, {**DEFAULTS, "memory": "much", "engine": "pure"})[0].engine == "pure"
    assert read_settings(tmp_path, {"options": 3})[1] == {
        "options": ("3 is not a mapping: write each option as `name: value`",)
    }


def test_every_setting_is_a_field_and_is_explained() -> None:
    declared = [field for field in fields(Settings) if "setting" in field.metadata]
    assert len(declared) == len(SETTINGS) == len(DEFAULTS)
    assert all(setting.help.endswith(".") for setting in SETTINGS)
