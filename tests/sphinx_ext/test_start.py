"""A build as users start it: `sphinx-build` and its worker are new Pythons; elsewhere they are forks of a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sphinx_ext.project import Project


@pytest.mark.usefixtures("real_processes")
def test_two_processes_are_started_and_one_has_torch(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("docs/index.rst", "Net\n===\n\n.. torchrecorder:: nets.Net\n   :shape: 4,3\n")
    built = project.build("html", "-W").ok()
    assert len(built.svgs("index.html")) == 1
    assert "torch" not in built.builder.modules
    (worker,) = built.workers
    assert "torch" in worker.modules
    assert project.build("html", "-W").ok().workers == []
