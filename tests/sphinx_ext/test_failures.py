"""Everything that can go wrong: one warning at its place, a box in the page, and a build that goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sphinx_ext.project import Built, Project

NETS = """
import os

import torch
from torch import nn


class ConvNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enter = nn.Linear(3, width)
        self.leave = nn.Linear(width + 1, 2)

    def forward(self, x):
        return self.leave(self.enter(x))


class Dies(ConvNet):
    def forward(self, x):
        print("last words", flush=True)
        os._exit(3)
"""

SOURCES = {
    "src/failing.py": NETS,
    "src/broken.py": 'raise RuntimeError("not today")\n',
    "src/documented.py": '''
        """A module without torch."""

        class Wrapper:
            """Wraps a net.

            .. torchrecorder:: failing.ConvNett
            """
        ''',
    "docs/index.rst": """
        Index
        =====

        .. toctree::
           :glob:

           *
        """,
    "docs/options.rst": """
        Options
        =======

        .. torchrecorder:: failing.ConvNet
           :dpeth: 2
           :shape: one,two
           :mode: evel
           :zzz: <1>
           :name: named
           :caption: With a *caption*

        See :ref:`named`.
        """,
    "docs/target.rst": """
        Target
        ======

        .. torchrecorder:: failing.ConvNte

        .. include:: part.inc
        """,
    "docs/part.inc": """
        A part.

        .. torchrecorder:: failing.ConvNte
        """,
    "docs/broken.rst": """
        Import
        ======

        .. torchrecorder:: broken.Net

        .. torchrecorder:: broken.Other
           :zoom: no
        """,
    "docs/forward.rst": """
        Forward
        =======

        .. torchrecorder:: failing.ConvNet
           :shape: 1,3
           :caption: Half a net
        """,
    "docs/dies.rst": """
        Dies
        ====

        .. torchrecorder:: failing.Dies
           :shape: 1,3
        """,
    "docs/fence.md": """
        # Fence

        ```torchrecorder
        failing.ConvNte
        ```

        ```{torchrecorder}
        :shape: 1,3
        ```

        ```torchrecorder
        failing.ConvNet
        what is this?
        ```
        """,
    "docs/api.rst": """
        Api
        ===

        .. autoclass:: documented.Wrapper
        """,
    "docs/fine.rst": """
        Fine
        ====

        .. torchrecorder:: nets.Net
           :shape: 4,3
        """,
}


def write(project: Project) -> Project:
    project.configure('extensions += ["myst_parser", "sphinx.ext.autodoc"]\nimport sys\nsys.path.insert(0, "src")')
    for name, text in SOURCES.items():
        project.write(name, text)
    return project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Project:
    return write(Project(tmp_path_factory.mktemp("failures"), cache))


@pytest.fixture(scope="module")
def built(project: Project) -> Built:
    return project.build("html", "-W", "--keep-going")


def warnings(built: Built) -> list[str]:
    """The warnings, each with its further lines."""
    return [
        text.strip()
        for text in re.split(r"^(?=\S+:\d+: |\S+: WARNING|WARNING)", built.warnings, flags=re.M)
        if text.strip()
    ]


def warning_at(built: Built, place: str) -> str:
    found = [text for text in warnings(built) if f"{place}: WARNING: " in text]
    assert len(found) == 1, built.warnings
    return found[0].partition("WARNING: ")[2]


def test_the_build_goes_on_and_fails_at_its_end(built: Built) -> None:
    assert built.status == 1
    assert len(built.svgs("fine.html")) == 1
    assert len(warnings(built)) == 10, built.warnings


def test_all_problems_of_one_directive_are_one_warning(built: Built) -> None:
    text = warning_at(built, "docs/options.rst:5")
    assert "unknown option 'dpeth', did you mean depth?" in text
    assert "shape: " in text
    assert "mode: 'evel' is none of eval, train; did you mean eval?" in text
    assert "unknown option 'zzz', known are " in text
    assert text.endswith("[torchrecorder.option]")


@pytest.mark.parametrize("place", ["docs/target.rst:5", "docs/part.inc:4", "docs/fence.md:4"])
def test_a_missing_class_is_reported_where_it_is_asked_for(built: Built, place: str) -> None:
    text = warning_at(built, place)
    assert text.startswith("cannot find failing.ConvNte: failing has no 'ConvNte'\ndid you mean failing.ConvNet?")
    assert text.endswith("[torchrecorder.target]")


def test_a_docstring_is_a_place(built: Built) -> None:
    assert "failing.ConvNett" in warning_at(built, "src/documented.py:docstring of documented.Wrapper:3")


def test_a_module_that_raises(built: Built) -> None:
    text = warning_at(built, "docs/broken.rst:5")
    assert text.startswith("cannot import broken: RuntimeError: not today (")
    assert "broken.py:1)" in text
    assert re.search(r"\nthe same at\n  \S+docs/broken.rst:7 \[torchrecorder.import\]$", text)
    assert "Traceback" not in built.warnings


def test_a_wrong_shape_names_the_layer_and_keeps_the_part_before_it(built: Built) -> None:
    text = warning_at(built, "docs/forward.rst:5")
    assert "in layer leave (Linear)" in text
    assert text.endswith("[torchrecorder.forward]")
    page = built.text("forward.html")
    assert len(built.svgs("forward.html")) == 1
    assert "This diagram is not complete: the forward of ConvNet failed in layer leave (Linear)" in page
    assert "Half a net" in page


def test_a_process_that_dies(built: Built) -> None:
    text = warning_at(built, "docs/dies.rst:5")
    assert "exit status 3" in text
    assert "last words" in text
    assert text.endswith("[torchrecorder.worker]")


def test_a_fence_without_a_model(built: Built) -> None:
    assert "no model is named" in warning_at(built, "docs/fence.md:8")
    assert "cannot read 'what is this?'" in warning_at(built, "docs/fence.md:12")


@pytest.mark.parametrize("page", ["options", "target", "broken", "dies", "fence", "api"])
def test_each_failure_leaves_a_box(built: Built, page: str) -> None:
    assert '<div class="torchrecorder-error error admonition">' in built.text(f"{page}.html")


def test_several_problems_are_a_list_in_the_box(built: Built) -> None:
    box = re.search(r'<div class="torchrecorder-error.*?</div>', built.text("options.html"), re.DOTALL)
    assert box is not None
    assert box[0].count("<li>") == 4
    assert "<li>" not in built.text("broken.html").partition("torchrecorder-error")[2].partition("</div>")[0]


def test_references_to_a_failed_figure_stay_good(built: Built) -> None:
    page = built.text("options.html")
    assert 'id="named"' in page
    assert 'href="#named"' in page
    assert "With a <em>caption</em>" in page


def test_the_second_build_fails_too_and_tells_more_if_asked(built: Built, project: Project) -> None:
    again = project.build("html", "-W", "--keep-going", "-v")
    assert again.status == 1
    assert sorted(warnings(again)) == sorted(warnings(built))
    assert "Traceback (most recent call last)" in again.output


def test_warnings_can_be_silenced_by_kind(built: Built, project: Project) -> None:
    kinds = ",".join(f"torchrecorder.{kind}" for kind in ("option", "target", "import", "worker"))
    some = project.build("text", "-D", f"suppress_warnings={kinds}")
    assert [text.split()[-1] for text in warnings(some)] == ["[torchrecorder.forward]"]
    assert "No diagram of broken.Net: cannot import broken: RuntimeError: not" in some.text("broken.txt")


def test_the_slowest_of_many_recordings_are_said_once(tmp_path: Path, cache: Path) -> None:
    many = Project(tmp_path, cache)
    parts = "".join(f".. torchrecorder:: nets.Net({width})\n   :shape: 1,3\n\n" for width in range(301, 312))
    many.write("docs/index.rst", f"Site\n====\n\n{parts}")
    pattern = r"^torchrecorder: the slowest of 11 recordings, .*\n((?: +[\d.]+ s  .*\n){5})"
    found = re.search(pattern, many.build().output, re.M)
    assert found is not None
    times = [float(line.split()[0]) for line in found[1].splitlines()]
    assert times == sorted(times, reverse=True)
    assert times[0] > 0
    assert "the slowest of" not in many.build().output


def test_pictures_that_go_while_pages_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `torchrecorder gc` may take them: they are drawn again; where that cannot be, a box says so."""
    project = Project(tmp_path)
    project.write("docs/index.rst", "Site\n====\n\n.. torchrecorder:: nets.Net\n   :shape: 1,3\n")
    first = project.build().ok()
    project.build("html", "-E").ok()  # examines the picture, so that the next one need not read it
    project.configure(
        """
        import os, shutil

        def lose(app, env):
            if "LOSES" in os.environ:
                for folder in ("rec", "ren"):
                    shutil.rmtree(os.path.join(app.doctreedir, "torchrecorder", folder))
            return []

        def setup(app):
            app.connect("env-updated", lose, priority=900)
        """
    )
    monkeypatch.setenv("LOSES", "1")
    assert project.build("html", "-E").ok().svgs("index.html") == first.svgs("index.html")
    monkeypatch.delenv("LOSES")
    project.build("html", "-E").ok()
    monkeypatch.setenv("LOSES", "1")
    lost = project.build("html", "-E", "-D", "torchrecorder_engine=/nowhere")
    assert lost.status == 0
    assert "index.rst:4: WARNING: " in lost.warnings
    assert "/nowhere is not a program" in lost.warnings
    assert "Traceback" not in lost.warnings + lost.output
    assert "No diagram of nets.Net" in lost.text("index.html")
