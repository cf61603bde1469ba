from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.forking.client import VARIABLE, Hosts, divert
from tests.soaked import GOALS, Tally, keep, summed

hypothesis.settings.register_profile("tests", deadline=None)  # how long an example takes says how busy a machine is
hypothesis.settings.load_profile("tests")


@pytest.fixture(scope="session", autouse=True)
def _forked_processes() -> Iterator[None]:
    """Processes of our modules start in milliseconds; see `tests/forking`."""
    with (
        tempfile.TemporaryDirectory(prefix="hosts-") as folder,
        tempfile.TemporaryDirectory(prefix="tests-") as temporary,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv(VARIABLE, folder)
        # Some models remove all of our folders that they find there: those of other runs are not theirs.
        patch.setenv("TMPDIR", temporary)
        patch.setattr(tempfile, "tempdir", temporary)
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


@pytest.fixture(autouse=True)
def _weights() -> None:
    """Parameters of models are the same whichever tests ran before: a forward may branch on what it computes."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    return Tally(request.node.user_properties)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of a soak: what was tried, and how it went beside the goals."""
    stats = [report for found in terminalreporter.stats.values() for report in found]
    reports = [report for report in stats if isinstance(report, pytest.TestReport) and report.when == "call"]
    rows = summed(pair for report in reports for pair in report.user_properties)
    if rows:
        keep(rows)
        terminalreporter.section("soak")
        for row, count in rows.items():
            terminalreporter.write_line(f"{row:<40}{count:>8}   {GOALS[row]}")
