"""A cache that is committed with the project, on a builder that has nothing else."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.entries import behind, entries, facts_of, rewrite
from tests.folders import contents
from tests.sphinx_ext.project import ROOT, Built, Project

PAGE = """
Net
===

.. torchrecorder:: nets.Net
   :shape: 4,3

.. torchrecorder:: nets.Net(5)
   :shape: 4,3
   :depth: 1
"""
BARE = "import sys\nsys.modules.update(dict.fromkeys(['torch', 'graphviz', 'graphviz_pure', 'numpy', 'nets']))\n"
"""Python code after which none of these can be imported, in any process."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project after `torchrecorder update`."""
    project = Project(tmp_path_factory.mktemp("committed") / "project")
    project.configure('torchrecorder_cache = "../diagrams"')
    project.write("docs/index.rst", PAGE)
    project.write("src/spare.py", "X = 1\n")
    nets = project.root / "src" / "nets.py"
    nets.write_text("import spare\n" + nets.read_text())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "core", ROOT)))}
    command = [sys.executable, "-m", "torchrecorder", "update", "docs"]
    done = subprocess.run(command, cwd=project.root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return project.root


@pytest.fixture
def bare(recorded: Path, tmp_path: Path) -> Project:
    """A checkout on a builder that can import neither torch nor Graphviz nor the model."""
    shutil.copytree(recorded, tmp_path / "checkout")
    project = Project.__new__(Project)
    project.root = tmp_path / "checkout"
    with (project.root / "watch" / "sitecustomize.py").open("a") as customize:
        customize.write(BARE)
    project.configure('torchrecorder_engine = "/nowhere/dot"')
    return project


def test_it_is_enough(bare: Project) -> None:
    before = contents(bare.root / "diagrams")
    built = bare.build("html", "-W").ok()
    assert [svg.count("Linear") > 1 for svg in built.svgs("index.html")] == [True, True]
    assert built.workers == []
    assert contents(bare.root / "diagrams") == before
    assert "%] index" not in bare.build("html", "-W").ok().output


def stale(project: Project, on_stale: str) -> Built:
    nets = project.root / "src" / "nets.py"
    nets.write_text(nets.read_text().replace(".relu()", ".tanh()"))
    project.configure(f"torchrecorder_on_stale = {on_stale!r}")
    return project.build("html")


def test_out_of_date_is_shown_with_a_warning(bare: Project) -> None:
    built = stale(bare, "warn")
    assert built.warnings.count("WARNING: the diagram of nets.Net") == 2
    assert "nets.py: Net.forward changed" in built.warnings
    assert "[torchrecorder.stale]" in built.warnings
    assert len(built.svgs("index.html")) == 2
    assert "This diagram is out of date: nets.py: Net.forward changed" in built.text("index.html")
    assert len(built.workers) == 1, "one Python says that there is no torch"


def test_out_of_date_is_a_box(bare: Project) -> None:
    built = stale(bare, "placeholder")
    assert built.status == 0
    assert built.svgs("index.html") == []
    assert built.text("index.html").count("torchrecorder-error") == 2


def test_out_of_date_ends_the_build(bare: Project) -> None:
    built = stale(bare, "error")
    assert built.status == 2
    assert "Extension error" in built.warnings
    assert "nets.py: Net.forward changed" in built.warnings
    assert "Traceback (most recent call last)" not in built.warnings


def test_what_ran_at_import_alone_is_a_line_in_the_log(bare: Project) -> None:
    (bare.root / "src" / "spare.py").write_text("X = 2\n")
    built = bare.build("html", "-W").ok()
    assert "torchrecorder: nets.Net: spare.py changed outside its functions" in built.output
    assert len(built.svgs("index.html")) == 2


def test_a_picture_of_somebody_else_is_not_shown(bare: Project) -> None:
    for entry in entries(bare.root / "diagrams", "ren"):
        data = behind(entry).replace(b'"tr-', b"\"<script>alert('torch')</script>tr-")
        assert data != behind(entry)
        rewrite(entry, {**facts_of(entry), "drawing": hashlib.sha256(data).hexdigest()}, data)
    built = bare.build("html")
    assert "alert('torch')" not in built.text("index.html")
    assert "no layout engine" in built.warnings


@pytest.mark.parametrize("name", ["html_extra_path", "html_static_path"])
def test_a_cache_that_would_be_published(bare: Project, name: str) -> None:
    bare.configure(f'{name} = ["../diagrams"]')
    built = bare.build("dummy")
    assert f"torchrecorder_cache: ../diagrams lies in a folder of {name}" in built.warnings
    assert "[torchrecorder.cache]" in built.warnings


def test_wrong_settings_are_told_together(bare: Project) -> None:
    bare.configure('torchrecorder_on_stale = "ignore"\ntorchrecorder_memory = "much"')
    built = bare.build("html")
    assert "WARNING: torchrecorder_on_stale: 'ignore' is none of warn, error, placeholder" in built.warnings
    assert "WARNING: torchrecorder_memory: 'much' is not a valid amount of memory" in built.warnings
    assert len(built.svgs("index.html")) == 2


def test_a_setting_that_there_is_not_is_a_warning_with_what_may_be_meant(bare: Project) -> None:
    bare.configure('torchrecorder_pth = ["../src"]\ntorchrecorder_ = 1')
    built = bare.build()
    named = "WARNING: torchrecorder_pth: there is no such setting; did you mean `torchrecorder_path` in conf.py?"
    assert built.warnings.count(named) == 1
    assert built.warnings.count("WARNING: torchrecorder_: there is no such setting") == 1
    assert built.warnings.count("WARNING: ") == 2
