"""A picture of a class that is built as in a test follows that test, and a failure the texts that may show more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.pipeline.sites import Counted, Site, ask
from torchrecorder.page import Outcome

NETS = """from torch import nn

class Needs(nn.Module):
    def __init__(self, pieces):
        super().__init__()
        self.fc = nn.Linear(pieces, 2)

    def forward(self, x):
        return self.fc(x)

class Usual(nn.Module):
    def __init__(self, in_features):
        super().__init__()
        self.fc = nn.Linear(in_features, 2)

    def forward(self, x):
        return self.fc(x)
"""


@pytest.fixture(scope="module", autouse=True)
def _one_process() -> Iterator[None]:
    yield
    Counted.end()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.write("nets.py", NETS)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "tests").mkdir()
    write(site, "test_other.py", "import torch\n")
    return site


def write(site: Site, name: str, text: str) -> None:
    (site.root / "tests" / name).write_text(text)


def built(site: Site, name: str, pattern: str = "") -> tuple[Outcome, int]:
    """What became of a class, and how many recordings were made for it; with a pattern, it is only tried."""
    request = replace(ask(f"pip_nets.nets.{name}", shape=""), pattern=pattern, is_tried=bool(pattern))
    (outcome,) = site.build(request)
    return outcome, Counted.jobs


def notes(outcome: Outcome) -> str:
    assert outcome.error is None, outcome.error
    return " ".join(outcome.about())


def test_a_test_that_changes_the_example(site: Site) -> None:
    write(site, "test_needs.py", "from pip_nets.nets import Needs\nNeeds(3)\n")
    assert "built as in tests/test_needs.py:2: Needs(3)" in notes(built(site, "Needs")[0])
    write(site, "test_other.py", "import torch\nfrom pip_nets.nets import Needs, Usual\nNeeds(9)\n")
    outcome, jobs = built(site, "Needs")
    assert ("Needs(3)" in notes(outcome), jobs) == (True, 0)
    write(site, "test_needs.py", "from pip_nets.nets import Needs\n\nNeeds(5)\n")
    outcome, jobs = built(site, "Needs")
    assert ("built as in tests/test_needs.py:3: Needs(5)" in notes(outcome), jobs) == (True, 1)


def test_a_failure_until_something_shows_how(site: Site) -> None:
    for jobs in (1, 0):
        outcome, counted = built(site, "Needs")
        assert ("missing 1 required" in str(outcome.error), counted) == (True, jobs)
    write(site, "test_other.py", "import torch\n# nothing of it\n")
    assert built(site, "Needs")[1] == 0
    write(site, "test_other.py", "import torch\nfrom pip_nets.nets import Needs\nNeeds(7)\n")
    outcome, jobs = built(site, "Needs")
    assert ("Needs(7)" in notes(outcome), jobs) == (True, 1)


def test_a_failure_until_an_example_is_put_right(site: Site) -> None:
    write(site, "test_needs.py", "from pip_nets.nets import Needs\nNeeds(-1)\n")
    assert [built(site, "Needs")[1] for _ in range(2)] == [1, 0]
    write(site, "test_needs.py", "from pip_nets.nets import Needs\nNeeds(1)\n")
    assert "Needs(1)" in notes(built(site, "Needs")[0])


def test_what_only_names_suggest_until_something_shows_more(site: Site) -> None:
    assert "missing 1 required" in str(built(site, "Usual")[0].error)
    (site.root / "src/pip_nets/nets.py").write_text(NETS + "\n")
    assert "Usual(in_features=64)" in notes(built(site, "Usual", "*")[0])
    assert built(site, "Usual", "*")[1] == 0
    write(site, "test_new.py", "from pip_nets.nets import Usual\nUsual(6)\n")
    assert "built as in tests/test_new.py:2: Usual(6)" in notes(built(site, "Usual", "*")[0])
