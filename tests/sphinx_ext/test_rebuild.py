"""Which pages a later build writes again: those whose diagrams changed, and no other."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tests.sphinx_ext.project import Built, Project

OTHER = """
from torch import nn


class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 5)

    def forward(self, x):
        return self.first(x)
"""


def write_pages(project: Project, count: int = 2) -> None:
    project.write("docs/index.rst", "Index\n=====\n\n.. toctree::\n   :glob:\n\n   *\n")
    for name in (f"net{i}" for i in range(count)):
        project.write(f"docs/{name}.rst", f"{name}\n======\n\n.. torchrecorder:: nets.Net\n   :shape: 4,3\n")


def pages(built: Built) -> dict[str, int]:
    """The time each page was written."""
    return {str(file.relative_to(built.folder)): file.stat().st_mtime_ns for file in built.folder.rglob("*.html")}


def written(before: Mapping[str, int], built: Built) -> set[str]:
    """The pages that were written again, but for those Sphinx always writes and the table of contents above them."""
    changed = {name for name, time in pages(built).items() if before.get(name) != time}
    return changed - {"genindex.html", "search.html", "index.html"}


def drew(built: Built) -> bool:
    return "recording" in built.output or "drawing" in built.output


def test_pages_follow_their_models_in_every_output_folder(project: Project) -> None:
    write_pages(project, count=1)
    project.write("docs/other.rst", "Other\n=====\n\n.. torchrecorder:: other.Other\n   :shape: 1,3\n")
    source = project.write("src/other.py", OTHER)
    before = pages(project.build("html").ok())
    project.build("dirhtml").ok()

    os.utime(source)
    nothing = project.build("html").ok()
    assert (written(before, nothing), nothing.workers, drew(nothing)) == (set(), [], False)
    assert {"torch", "graphviz"}.isdisjoint(nothing.builder.modules)

    project.write("src/other.py", OTHER.replace("nn.Linear(3, 5)", "nn.Linear(3, 5)  # wide enough"))
    assert written(before, project.build("html").ok()) == set()

    project.write("src/other.py", OTHER.replace("nn.Linear(3, 5)", "nn.Linear(3, 7)"))
    assert "N×7" in project.build("dirhtml").ok().svgs("other/index.html")[0]

    # The cache knows the change already, drawn for the other folder; the pages of this one do not.
    changed = project.build("html").ok()
    assert not drew(changed)
    assert "0 added, 0 changed, 0 removed" in changed.output
    assert written(before, changed) == {"other.html"}
    assert "N×7" in changed.svgs("other.html")[0]


def test_a_failure_is_told_again_at_no_cost_and_tried_again_with_a_fresh_environment(project: Project) -> None:
    write_pages(project)
    project.write("docs/bad.rst", "Bad\n===\n\n.. torchrecorder:: other.Other\n   :shape: 1,3\n")
    project.write("src/other.py", OTHER.replace("super()", "raise ValueError(__import__('os').getpid()); super()"))
    first = project.build("html", "-W", "--keep-going")
    assert "docs/bad.rst:4: WARNING: cannot build other.Other: ValueError: " in first.warnings
    before = pages(first)

    again = project.build("html", "-W", "--keep-going")

    assert (again.status, again.warnings) == (1, first.warnings)
    assert (again.workers, drew(again), written(before, again)) == ([], False, set())
    assert {"torch", "graphviz"}.isdisjoint(again.builder.modules)
    fresh = project.build("html", "-E")
    assert drew(fresh)
    assert fresh.warnings != first.warnings, "it ran in another process"
    project.write("src/other.py", OTHER)
    assert len(project.build().ok().svgs("bad.html")) == 1


def test_site_options_change_pages_without_reading_them(project: Project) -> None:
    write_pages(project)
    project.write("docs/net1.rst", "net1\n====\n\n.. torchrecorder:: nets.Net\n   :shape: 4,3\n   :depth: 0\n")
    before = pages(project.build().ok())
    project.configure('torchrecorder_options = {"depth": 0}')

    built = project.build().ok()

    assert "0 added, 0 changed, 0 removed" in built.output
    assert written(before, built) == {"net0.html"}
    assert "enter" not in built.svgs("net0.html")[0]


def test_pages_read_and_written_by_several_processes(project: Project) -> None:
    write_pages(project, count=6)
    first = project.build("html", "-W", "--keep-going", "-j2").ok()
    before = pages(first)
    assert all(len(first.svgs(f"net{i}.html")) == 1 for i in range(6))

    assert written(before, project.build("html", "-j2").ok()) == set()
    project.configure('torchrecorder_options = {"align": "left"}')
    assert len(written(before, project.build("html", "-j2").ok())) == 6


def test_a_diagram_that_is_gone_is_forgotten(project: Project) -> None:
    write_pages(project)
    project.write("docs/other.rst", "Other\n=====\n\n.. torchrecorder:: nets.Net\n   :depth: deep\n")
    assert "other.rst:4" in project.build().warnings
    project.write("docs/other.rst", "Other\n=====\n\nNo diagram here.\n")

    assert project.build("html", "-W").ok().svgs("other.html") == []


def test_pages_left_out_of_a_build_are_written_by_the_next(project: Project) -> None:
    write_pages(project)
    before = pages(project.build().ok())
    project.configure('torchrecorder_options = {"align": "left"}')
    assert written(before, project.build("html", only="docs/net0.rst").ok()) == {"net0.html"}

    assert written(before, project.build().ok()) == {"net0.html", "net1.html"}
