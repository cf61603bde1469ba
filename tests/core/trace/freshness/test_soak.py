"""Edits as real projects see them: is each shown, told, or harmless? Its truth is a new recording."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.core.trace.freshness.cases import Case, Files
from tests.core.trace.freshness.conftest import Project
from tests.core.trace.freshness.edits_of_code import CODE
from tests.core.trace.freshness.edits_of_data import DATA
from tests.core.trace.freshness.edits_of_machine import MACHINE
from tests.core.trace.freshness.edits_of_projects import PROJECTS
from tests.core.trace.freshness.edits_without_effect import WITHOUT_EFFECT
from tests.core.trace.freshness.test_needless import INIT, PARTS, SEEN, edit
from tests.core.trace.freshness.test_tricky_cases import CASES
from tests.core.trace.freshness.tools import Site, Tool, said
from tests.entries import entries, facts_of
from tests.soaked import Tally

LOOKED_FOR = {
    f"{name}, looked for": Case(
        {"src/pkg/__init__.py": INIT, "src/pkg/parts.py": PARTS, "src/pkg/conf/a.yaml": "a: 1\n"},
        lambda project, second=second: edit(project, second),  # type: ignore[misc]
        prepare=lambda project, first=first: edit(project, first),  # type: ignore[misc]
    )
    for name, (first, second) in SEEN.items()
    if name != "getattr"  # after which no model is built
}
TRICKY = {f"{name} (tricky)": case for name, case in CASES.items()}
EDITS = {**CODE, **DATA, **MACHINE, **LOOKED_FOR, **TRICKY, **PROJECTS}
FOUND = ("package without __init__ that gets one", "module of Python's own name", "raw tensor", "link becomes a file")
"""Those that a soak once found stale; they are tried in every run."""
GUIDE = (Path(__file__).parents[4] / "docs" / "guide" / "freshness.md").read_text(encoding="utf-8")


@pytest.fixture
def make(
    make_project: Callable[[Files], Project], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Case], Project]]:
    """Projects with a folder of installed packages of their own."""

    def make(case: Case) -> Project:
        project = make_project(case.files)
        site = project.root.parent / "env" / "site-packages"
        site.mkdir(parents=True, exist_ok=True)
        monkeypatch.syspath_prepend(str(site))
        project.path = ["src", str(site)]
        case.prepare(project)
        return project

    with patch.dict(os.environ):
        os.environ.pop("PKG_WIDTH", None)
        yield make


def judge(
    case: Case, cache: Path, before: object, shown: tuple[object, bool | int], truth: object, tally: Tally
) -> None:
    """Count what an edit led to; `cache` has what is told of what cannot be followed."""
    (after, recorded), told = shown, case.guide or facts_of(entries(cache)[0]).get("untracked")
    tally.add("edits that change something")
    if recorded or after == truth:
        tally.add("needless of these", bool(recorded and before == after))
        return
    tally.add("stale and told", bool(told))
    tally.add("stale and untold", not told)
    assert told, "stale, and nothing tells it"
    assert not case.guide or case.guide in GUIDE


@pytest.mark.soak
@pytest.mark.parametrize("name", EDITS)
def test_what_an_edit_changes_is_shown_or_told(name: str, make: Callable[[Case], Project], tally: Tally) -> None:
    case = EDITS[name]
    project = make(case)
    before = project.draw()[0]
    case.edit(project)
    after, recorded = project.draw()
    truth = project.truth().svg
    assert name not in PROJECTS or truth != before.svg, "it changes no picture, so it shows nothing"
    judge(case, project.root / ".torchrecorder", before.svg, (after.svg, recorded), truth, tally)


@pytest.mark.soak
@pytest.mark.parametrize("tool", ["sphinx", "mkdocs"])
@pytest.mark.parametrize("name", EDITS)
def test_what_an_edit_changes_is_shown_or_told_in_a_page(
    name: str, tool: Tool, make: Callable[[Case], Project], tally: Tally
) -> None:
    case = EDITS[name]
    project = make(case)
    site = Site(project, tool)
    before = site.draw()[0]
    case.edit(project)
    shown = site.draw()
    tally.add("of these, built by Sphinx or MkDocs")
    judge(case, project.root / site.cache, before, shown, said(project.truth().svg), tally)


@pytest.mark.soak
@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_what_changes_nothing_is_seldom_recorded_again(
    name: str, make: Callable[[Case], Project], tally: Tally
) -> None:
    case = WITHOUT_EFFECT[name]
    project = make(case)
    before = project.draw()[0]
    case.edit(project)
    after, recorded = project.draw()
    assert after.svg == before.svg
    tally.add("harmless edits")
    tally.add("recorded again for nothing", bool(recorded))


@pytest.mark.parametrize("name", FOUND)
def test_what_was_stale_once(name: str, make: Callable[[Case], Project]) -> None:
    test_what_an_edit_changes_is_shown_or_told(name, make, Tally([]))
