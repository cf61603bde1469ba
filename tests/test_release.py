"""What a release says of itself, in the files that the index and others read."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from tests.wheel.contents import RELATIVE

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The hook of the build, with a stand-in for hatchling, which only a build installs."""
    hatchling = ModuleType("hatchling.metadata.plugin.interface")
    vars(hatchling)["MetadataHookInterface"] = object
    monkeypatch.setitem(sys.modules, hatchling.__name__, hatchling)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("repository", ["", "https://example.org/us/project"])
def test_the_index_gets_a_readme_without_relative_links(hook: ModuleType, repository: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = hook.absolute(text, repository)
    assert RELATIVE.findall(text)
    assert not RELATIVE.findall(shown)
    places = re.findall(rf"{re.escape(repository)}/(?:blob|raw)/HEAD/([^)\"]+)", shown) if repository else []
    assert [place for place in places if not (ROOT / place).exists()] == []
    assert len(places) == len(RELATIVE.findall(text)) * bool(repository)


def test_the_files_of_a_release_name_its_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(PROJECT['version'])}$", citation, re.MULTILINE)
    number = PROJECT["version"].partition(".dev")[0]
    assert re.search(rf"^## {re.escape(number)}\b", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
