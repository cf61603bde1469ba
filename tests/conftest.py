from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.forking.client import VARIABLE, Hosts, divert

hypothesis.settings.register_profile("tests", deadline=None)  # how long an example takes says how busy a machine is
hypothesis.settings.load_profile("tests")


@pytest.fixture(scope="session", autouse=True)
def _forked_processes() -> Iterator[None]:
    """Processes of our modules start in milliseconds; see `tests/forking`."""
    with tempfile.TemporaryDirectory(prefix="hosts-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, folder)
        hosts = Hosts(Path(folder))
        divert(hosts)
        yield
        hosts.end()


@pytest.fixture(scope="module")
def real_processes() -> Iterator[None]:
    """Every process is started for real: for tests of starting, killing and limits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE)
        yield
