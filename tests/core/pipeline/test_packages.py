"""A committed cache where other versions of packages are installed, or some of them are not."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.entries import entries, facts_of
from tests.models.one_layer import net
from torchrecorder.page import Outcome
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import Settings, read_request
from torchrecorder.trace.freshness import Finding
from torchrecorder.worker.client import Worker

pytestmark = pytest.mark.usefixtures("real_processes")  # a process asks only once which packages there are
REQUEST = read_request("pkg.Net", {"shape": "1,3"})
LAYER = "from torch import nn\nimport deeplib\nclass Layer(nn.Linear):\n    pass\n"
PROXY = """
class Proxy:
    @property
    def __class__(self):
        raise RuntimeError("not loaded")
proxy = Proxy()
"""
FILES = {
    "layerlib.py": LAYER,
    "makerlib.py": "from layerlib import Layer\ndef make(a, b):\n    return Layer(a, b)\n",
    "deeplib.py": "",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages: the project uses one, that a second, whose layers need a third."""
    folder = tmp_path / "env" / "site-packages"
    for file, text in FILES.items():
        name = file.removesuffix(".py")
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "top_level.txt").write_text(name)
        (folder / file).write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    return folder


@pytest.fixture
def project(tmp_path: Path, site: Path) -> Path:
    (tmp_path / "src").mkdir()
    text = net(4, f"from makerlib import make\n{PROXY}").replace("nn.Linear(", "make(")
    (tmp_path / "src" / "pkg.py").write_text(text)
    return tmp_path


def draw(project: Path, *, writes: bool = False) -> Outcome:
    settings = Settings.for_project(project, path=["src"], cache="diagrams")
    pipeline = Pipeline(settings, Worker.of, writes_committed=writes)
    return pipeline.run([REQUEST])[REQUEST]


def look(project: Path) -> Finding:
    settings = replace(
        Settings.for_project(project, path=["src"], machine_cache="elsewhere"), committed=project / "diagrams"
    )
    return Pipeline(settings).recordings().look(REQUEST.recording)[1]


def upgrade(site: Path, name: str) -> None:
    info = (site / f"{name}-1.0.dist-info").rename(site / f"{name}-1.1.dist-info")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.1\n")


def test_what_the_model_is_made_of_decides_and_no_other(project: Path, site: Path) -> None:
    assert draw(project, writes=True).error is None
    (file,) = entries(project / "diagrams")
    assert [*facts_of(file)["distributions"]] == ["layerlib", "makerlib", "torch"]
    upgrade(site, "deeplib")
    assert look(project).verdict.value == "fresh"
    upgrade(site, "layerlib")
    assert str(look(project)) == "layerlib 1.0 became 1.1"
    (project / "src" / "pkg.py").write_text("raise ValueError('no')\n")
    failed = draw(project)
    assert failed.diagram is None  # nothing is missing
    assert "ValueError: no" in str(failed.error)


def test_an_old_picture_where_a_package_of_the_model_is_missing(project: Path, site: Path) -> None:
    drawn = draw(project, writes=True)
    shutil.rmtree(project / ".torchrecorder")
    shutil.rmtree(site / "makerlib-1.0.dist-info")
    (site / "makerlib.py").unlink()
    upgrade(site, "layerlib")
    for _ in ("tried", "remembered"):
        old = draw(project)
        assert old.diagram is not None
        assert drawn.diagram is not None
        assert old.diagram.svg == drawn.diagram.svg
        assert "the diagram of pkg.Net is out of date: layerlib 1.0 became 1.1" in str(old.error)
        assert "the model's packages: torchrecorder update" in str(old.error)
