"""A diagram that marks what differs from another model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.pipeline.sites import NET, Counted, Site, ask
from torchrecorder.errors import CannotCompare, TargetError
from torchrecorder.page import Outcome

BEFORE = NET.replace("WIDTH)", "WIDTH, bias=False)")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.write("before.py", BEFORE)
    site.write("stranger.py", NET.replace("nn.Linear(3, WIDTH)", "nn.LayerNorm(3)"))
    return site


def drawn(site: Site, diff: str = "pip_nets.before.Net") -> Outcome:
    (outcome,) = site.build(ask(shape="2,3", diff=diff))
    return outcome


def test_both_models_are_recorded_compared_and_kept(site: Site) -> None:
    outcome = drawn(site)
    assert outcome.error is None
    assert outcome.diagram is not None
    assert "~ fc: bias False → True  +4 params" in outcome.diagram.text
    assert "<title>changed</title>" in outcome.diagram.svg
    assert {"net.py", "before.py"} <= {file.name for file in outcome.sources}
    assert Counted.jobs == 2
    again = drawn(site)
    assert again.diagram is not None
    assert (again.diagram.svg, Counted.jobs) == (outcome.diagram.svg, 0)


def test_a_change_of_the_other_model_is_seen(site: Site) -> None:
    drawn(site)
    site.write("before.py", NET)
    same = drawn(site)
    assert same.diagram is not None
    assert "nothing that the model computes has changed" in same.diagram.text


@pytest.mark.parametrize(
    ("diff", "error"), [("pip_nets.gone.Net", TargetError), ("pip_nets.stranger.Net", CannotCompare)]
)
def test_what_cannot_be_compared_is_the_error(site: Site, diff: str, error: type[Exception]) -> None:
    outcome = drawn(site, diff)
    assert outcome.diagram is None
    assert isinstance(outcome.error, error)
