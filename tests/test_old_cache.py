"""A cache that was committed by an earlier version still serves, where there is neither torch nor a layout engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.folders import contents

ROOT = Path(__file__).parent.parent
ABSENT = re.compile(r"(torch|numpy|graphviz)([-_.].*)?")
"""Files and folders of packages that a small builder does not install."""
SWITCH = [*["Residual"] * 3, "blocks, Sequential", "blocks.0, Block"]
"""Three depths, and the layers that open in them."""


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment variables of a builder: this Python's packages, but for torch and what draws."""
    packages = tmp_path_factory.mktemp("packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not ABSENT.fullmatch(entry.name):
            (packages / entry.name).symlink_to(entry)
    path = os.pathsep.join(map(str, (ROOT / "core", ROOT, packages)))
    return {**os.environ, "PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return shutil.copytree(ROOT / "tests" / "data" / "small_nets", tmp_path / "small_nets")


def build(project: Path, environment: dict[str, str], *command: str) -> None:
    """Run a documentation tool without the packages of this Python's own folder."""
    before = contents(project / "diagrams")
    done = subprocess.run(
        [sys.executable, "-S", "-m", *command], cwd=project, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    assert contents(project / "diagrams") == before


def titles(page: Path) -> list[str]:
    """What each picture of a page is called; modules that readers can open bring a picture with their path."""
    return re.findall(r"<svg[^>]*>\s*<title[^>]*>(.*?)</title>", page.read_text(encoding="utf-8"), re.DOTALL)


def test_there_is_no_torch(builder: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-S", "-c", "import torch"], env=builder, capture_output=True, text=True)
    assert "No module named 'torch'" in done.stderr


def test_sphinx(project: Path, builder: dict[str, str]) -> None:
    nowhere = ["-D", "torchrecorder_python=/nowhere/python", "-D", "torchrecorder_engine=/nowhere/dot"]
    build(project, builder, "sphinx", "-W", "-q", *nowhere, "docs", "out")
    page = project / "out" / "index.html"
    assert titles(page) == [*SWITCH, "Tagger", "Encoder", "layers.0.feed, Sequential", "Encoder", "Block"]
    assert ">Conv2d</" in page.read_text(encoding="utf-8").partition("<table")[2], "the table below the first"


def test_mkdocs(project: Path, builder: dict[str, str]) -> None:
    with (project / "mkdocs.yml").open("a", encoding="utf-8") as config:
        config.write("      python: /nowhere/python\n      engine: /nowhere/dot\n")
    build(project, builder, "mkdocs", "build", "--strict", "-q")
    assert titles(project / "site" / "index.html") == [*SWITCH, "Tagger", "Encoder"]
