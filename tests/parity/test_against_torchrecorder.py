"""Ours against torchrecorder 1.0.3 itself, node by node: `nox -s tests -- -m parity`.

It has our name, so it runs in a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.parity.classic_nets import NETS
from tests.parity.originals import folder_of
from tests.parity.report import report

pytestmark = pytest.mark.parity

HERE = Path(__file__).parent
ORIGINAL = folder_of("torchrecorder")


@pytest.fixture(scope="module")
def theirs() -> Any:
    done = subprocess.run(
        [sys.executable, str(HERE / "report.py"), str(HERE / "classic_nets.py")],
        env={**os.environ, "PYTHONPATH": ORIGINAL},
        capture_output=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ours() -> Any:
    return json.loads(json.dumps(report(NETS)))


@pytest.mark.parametrize("name", NETS)
def test_records_the_same(name: str, ours: Any, theirs: Any) -> None:
    for fact in ("nodes", "edges", "types"):
        assert ours[name][fact] == theirs[name][fact]


@pytest.mark.parametrize("name", NETS)
def test_draws_the_same_where_the_original_draws(name: str, ours: Any, theirs: Any) -> None:
    for depth, picture in theirs[name]["pictures"].items():
        assert picture is None or ours[name]["pictures"][depth] == picture
