"""Drawings that another process makes while models are recorded: the same ones, whatever becomes of the process."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.core.pipeline.sites import Counted, Site, ask
from torchrecorder import pipeline
from torchrecorder.drawing.apart import Apart
from torchrecorder.engine import Engine
from torchrecorder.errors import OptionError, TorchRecorderError
from torchrecorder.page import Outcome
from torchrecorder.pipeline import Pipeline
from torchrecorder.pipeline.drawings import Drawings
from torchrecorder.processes import children
from torchrecorder.request import DiagramRequest, Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the worker forks on Linux only")

NET = """from torch import nn

class Net(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 2))
"""
WIDTHS = range(4, 12)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    found = Site(tmp_path)
    found.write("wide.py", NET)
    return found


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Digests of the drawings that this process makes."""
    made: list[str] = []
    make = Drawings._made

    def noted(self: Drawings, missing: dict, olds: dict, engine: Engine) -> object:  # type: ignore[type-arg]
        made.extend(key.digest() for key in missing)
        return make(self, missing, olds, engine)

    monkeypatch.setattr(Drawings, "_made", noted)
    return made


def run(site: Site, cache: str, **options: str) -> dict[str, Outcome]:
    requests = [ask(f"pip_nets.wide.Net({width})", "2,3", **options) for width in WIDTHS]
    settings = Settings.for_project(site.root, path=["src"], machine_cache=cache)
    outcomes = Pipeline(settings, Counted).run(requests)
    return {request.recording.target: outcome for request, outcome in outcomes.items()}


def drawn(outcomes: dict[str, Outcome]) -> dict[str, bytes]:
    loaded = {target: outcome.loaded().diagram for target, outcome in outcomes.items()}
    assert None not in loaded.values()
    return {target: diagram.drawings[0].to_bytes() for target, diagram in loaded.items() if diagram is not None}


def test_they_are_the_same(site: Site, here: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    apart = drawn(run(site, "first"))
    assert len(here) < len(WIDTHS)
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children(os.getpid())]
    assert not any(b"drawing.apart" in command and b"host.py" not in command for command in commands)
    here.clear()
    monkeypatch.setattr(pipeline, "_MANY", 1_000)
    assert drawn(run(site, "second")) == apart
    assert len(here) == len(WIDTHS)


def test_what_cannot_be_drawn_is_said_as_ever(site: Site, here: list[str]) -> None:
    errors = {str(outcome.error) for outcome in run(site, "first", focus="nothing").values()}
    assert len(here) < len(WIDTHS)
    (error,) = errors
    assert "nothing" in error
    outcomes = run(site, "first", focus="nothing")
    assert all(isinstance(outcome.error, OptionError) for outcome in outcomes.values())


@pytest.mark.parametrize("when", ["at once", "later"])
def test_where_it_dies_the_build_draws(site: Site, here: list[str], monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    order = Apart.order
    count = 0

    def killed(self: Apart, *arguments: object) -> None:
        nonlocal count
        count += 1
        order(self, *arguments)  # type: ignore[arg-type]
        if count == {"at once": 1, "later": 5}[when] and self._process is not None:
            os.kill(self._process._process.pid, signal.SIGKILL)

    monkeypatch.setattr(Apart, "order", killed)
    assert len(drawn(run(site, "first"))) == len(WIDTHS)
    assert count >= 5
    assert here


def test_a_few_are_drawn_by_the_build(site: Site, here: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("another process is not worth its start")

    monkeypatch.setattr(Apart, "__init__", refuse)
    requests: list[DiagramRequest] = [ask(f"pip_nets.wide.Net({width})", "2,3") for width in (4, 5)]
    outcomes = Pipeline(Settings.for_project(site.root, path=["src"]), Counted).run(requests)
    assert [outcome.error for outcome in outcomes.values()] == [None, None]
    assert len(here) == 2


def test_an_engine_that_is_not_there_ends_the_process_and_no_more(tmp_path: Path) -> None:
    apart = Apart(str(tmp_path / "no-engine"))
    apart.order("0" * 64, b"{}", "0" * 64, ask("pip_nets.net.Net").drawing)
    assert list(apart.made()) == []
    apart.close()


def test_what_is_no_graph_is_an_error_of_that_drawing() -> None:
    apart = Apart("auto")
    apart.order("0" * 64, b"{}", "0" * 64, ask("pip_nets.net.Net").drawing)
    ((digest, made),) = apart.made()
    assert digest == "0" * 64
    assert isinstance(made, TorchRecorderError)
    apart.close()
