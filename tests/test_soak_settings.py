"""Settings with values that YAML and Python can write and nobody means: a warning and the default, in both tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mkdocs_ext.site import Site
from tests.soak_caches import NOWHERE
from tests.soaked import Tally
from tests.sphinx_ext.project import Project
from torchrecorder.request import SETTINGS as DECLARED

pytestmark = pytest.mark.soak

VALUES: tuple[object, ...] = (
    *(None, 3, -1, True, 1.5, [], {}, [3], [[]], {"a": None}, {3: 4}),
    *("\ud800", "x" * 10_000, "a\0b", "../../..", "no such", "\x1b[2J", "€", "{", "%s"),
)
"""Of every setting; each is a value that YAML or Python can write."""
SETTINGS = tuple(setting.name for setting in DECLARED)


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_settings_that_are_wrong_in_mkdocs(tmp_path: Path, value: object, tally: Tally) -> None:
    for number, name in enumerate(SETTINGS):
        folder = tmp_path / str(number)
        site = Site(folder, folder / "src", tmp_path / "cache")
        site.settings |= {"python": NOWHERE, name: value}
        site.write("index.md", "# Site\n\n```torchrecorder soak_nets.Net\n:shape: 1,3\n```\n")
        built = site.build()
        tally.add("wrong settings")
        tally.add("builds ended", bool(built.aborted))
        assert not built.aborted, name
        assert "No diagram of " in built.page(), name
        assert not [text for text in built.warnings if "report it" in text], name
        assert built.warnings, name


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_settings_that_are_wrong_in_sphinx(tmp_path: Path, value: object, tally: Tally) -> None:
    for name in SETTINGS[:-2]:
        project = Project(tmp_path / name)
        project.configure(f"torchrecorder_python = {NOWHERE!r}\ntorchrecorder_{name} = {value!r}")
        project.write("docs/index.rst", "Site\n====\n\n.. torchrecorder:: soak_nets.Net\n   :shape: 1,3\n")
        built = project.build()
        tally.add("wrong settings")
        tally.add("builds ended", built.status != 0)
        assert built.status == 0, f"{name}: {built.warnings}"
        assert "No diagram of " in built.text("index.html"), name
        assert "report it" not in built.warnings, name
