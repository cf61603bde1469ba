from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.project import Project


@pytest.fixture(scope="session", autouse=True)
def _running_hosts() -> None:
    """Commands of projects are forked from processes that have imported the tools; see `tests/forking`."""
    for tool in ("sphinx", "mkdocs"):
        subprocess.run([sys.executable, "-m", tool, "--version"], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with committed recordings, on a branch that makes the net wider and has recorded that."""
    project = Project(tmp_path_factory.mktemp("recorded"))
    project.configure("docs/conf.py", 'torchrecorder_cache = "../diagrams"\n')
    machine = project.machine("torchrecorder-docs[sphinx]", "furo", "torch")
    project.git("init", "add .", "commit -m one")
    assert (done := machine.run("torchrecorder update docs")).returncode == 0, done.stdout
    project.git("add .", "commit -m two", "update-ref refs/remotes/origin/main HEAD", "checkout -b wider")
    project.edit(16)
    assert (done := machine.run("torchrecorder update docs")).returncode == 0, done.stdout
    project.git("add .", "commit -m wider")
    return project.folder


@pytest.fixture
def committed(recorded: Path, project: Project) -> Project:
    """A clone of it."""
    shutil.rmtree(project.folder)
    shutil.copytree(recorded, project.folder)
    return project
