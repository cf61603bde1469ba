from __future__ import annotations

from pathlib import Path

import pytest

from tests.sphinx_ext.project import Project


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all projects: they draw the same nets, and a worker takes seconds to start."""
    return tmp_path_factory.mktemp("sphinx_cache")


@pytest.fixture
def project(tmp_path: Path, cache: Path) -> Project:
    return Project(tmp_path, cache)
