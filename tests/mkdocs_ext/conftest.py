from __future__ import annotations

from pathlib import Path

import pytest

from tests.mkdocs_ext.nets import write_nets
from tests.mkdocs_ext.site import Site


@pytest.fixture(scope="session", autouse=True)
def _no_advertisement() -> None:
    """Material prints some on import."""
    pytest.MonkeyPatch().setenv("NO_MKDOCS_2_WARNING", "1")


@pytest.fixture(scope="session")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `nets` is imported from."""
    return write_nets(tmp_path_factory.mktemp("mkdocs_nets"))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all sites: they draw the same nets, and a worker takes seconds to start."""
    return tmp_path_factory.mktemp("mkdocs_cache") / "cache"


@pytest.fixture
def site(tmp_path: Path, nets: Path, cache: Path) -> Site:
    return Site(tmp_path / "site", nets, cache)
