"""Builds by both tools in odd environments, and while their processes are killed: each ends well."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import soak_deaths
from tests.soak_deaths import DEATHS, Death
from tests.soak_hosts import COMMANDS, HOSTS, Host, build, write_project
from tests.soaked import Tally

pytestmark = [
    pytest.mark.soak,
    pytest.mark.usefixtures("real_processes"),
    pytest.mark.skipif(
        sys.platform != "linux" or os.getuid() != 0, reason="mounts a folder and builds as another user"
    ),
]


@pytest.mark.parametrize("tool", COMMANDS)
@pytest.mark.parametrize("name", HOSTS)
def test_a_build_on_such_a_host(tmp_path: Path, name: str, tool: str, tally: Tally) -> None:
    host = HOSTS[name]
    if host.only not in ("", tool):
        pytest.skip("the tool itself does not build there")
    write_project(root := tmp_path / "project", tool)
    built = build(root, tool, host)
    wrong = built.wrong(host)
    tally.add("builds in odd environments")
    tally.add("builds ended", built.status != 0)
    tally.add("uncaught exceptions", built.output.count("Traceback"))
    assert not wrong


@pytest.mark.parametrize("tool", COMMANDS)
@pytest.mark.parametrize("name", DEATHS)
def test_a_build_whose_processes_are_killed(tmp_path: Path, name: str, tool: str, tally: Tally) -> None:
    death = DEATHS[name]
    write_project(tmp_path, tool)
    with (tmp_path / "src" / "host_nets.py").open("a") as nets:
        nets.write(soak_deaths.SLOW)
    built, killed = soak_deaths.build(tmp_path, tool, death)
    wrong = built.wrong(Host(may_fail=death.costs_diagrams))
    again, _ = soak_deaths.build(tmp_path, tool, Death(b"no such process"))
    tally.add("deaths during a build", killed)
    tally.add("builds ended", (built.status != 0) + (again.status != 0))
    tally.add("uncaught exceptions", built.output.count("Traceback"))
    assert not wrong
    assert killed
    assert not again.wrong(Host()), "what was killed is not remembered as the model's failure"
