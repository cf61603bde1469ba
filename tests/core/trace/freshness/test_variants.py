"""A branch that comes back finds the recordings it made."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.core.trace.freshness.conftest import Project
from tests.entries import entries
from tests.models.one_layer import net
from torchrecorder.cache.store import VARIANTS, sweep


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    return make_project({})


def switch(project: Project, width: int) -> int:
    """Check out the branch of a width; gives how many recordings a build of it takes."""
    project.write({"src/pkg/__init__.py": net(str(width))})
    diagram, jobs = project.draw()
    assert f"3→{width}" in diagram.text.replace(" ", ""), diagram.text
    return jobs


def test_a_branch_switch_and_back_records_nothing(project: Project) -> None:
    assert [switch(project, width) for width in (4, 5, 4, 5, 4)] == [1, 1, 0, 0, 0]


def test_as_many_branches_as_are_kept(project: Project) -> None:
    widths = range(4, 4 + VARIANTS)
    assert [switch(project, width) for width in widths] == [1] * VARIANTS
    assert [switch(project, width) for width in widths] == [0] * VARIANTS
    assert switch(project, 20) == 1
    assert [switch(project, width) for width in (20, *widths[1:], widths[0])] == [0] * VARIANTS + [1]
    assert len(entries(project.root / ".torchrecorder")) == VARIANTS


def test_a_damaged_one_is_a_miss_and_the_others_serve(project: Project) -> None:
    for width in (4, 5, 6):
        switch(project, width)
    entries(project.root / ".torchrecorder")[0].write_bytes(b"{")
    assert (switch(project, 4), switch(project, 5)) == (0, 0)
    assert switch(project, 6) == 1
    entries(project.root / ".torchrecorder")[-1].unlink()
    assert switch(project, 5) == 0


def test_tidying_keeps_what_they_lead_to(project: Project) -> None:
    for width in (4, 5):
        switch(project, width)
    swept = sweep(project.root / ".torchrecorder", now=4e9)
    assert (swept.files, swept.young) == (0, 0)
    assert switch(project, 4) == 0
