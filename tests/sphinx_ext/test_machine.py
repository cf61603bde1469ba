"""What a whole machine lacks is said once, however many diagrams it costs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.sphinx_ext.project import Project


@pytest.fixture
def pages(tmp_path: Path) -> Project:
    """A project whose cache is at its usual place, and knows nothing yet."""
    project = Project(tmp_path)
    page = "Net\n===\n\n.. torchrecorder:: nets.Net\n   :shape: 4,3\n\n.. torchrecorder:: nets.Net\n   :shape: 2,3\n"
    project.write("docs/index.rst", page)
    return project


def test_no_engine(pages: Project) -> None:
    pages.configure('torchrecorder_engine = "/nowhere/dot"')
    for _ in range(2):
        built = pages.build("html", "-W", "--keep-going")
        assert built.status == 1
        assert built.warnings.count("WARNING") == 1
        assert "WARNING: 2 diagrams are missing: no layout engine: " in built.warnings
        assert built.warnings.rstrip().endswith("[torchrecorder.engine]")
        assert built.text("index.html").count("torchrecorder-error") == 2

    pages.configure('torchrecorder_engine = "auto"')
    mended = pages.build("html", "-W").ok()
    assert len(mended.svgs("index.html")) == 2
    assert mended.workers == []
    assert Path(pages.root, "out/doctrees/torchrecorder/CACHEDIR.TAG").exists()
    assert not list(Path(pages.root, "docs").glob(".*"))


def test_no_torch(pages: Project) -> None:
    pages.write("no_torch/torch.py", 'raise ModuleNotFoundError("No module named \'torch\'", name="torch")\n')
    built = pages.build("html", "-W", "--keep-going", path="no_torch")
    assert built.status == 1
    assert built.warnings.count("WARNING") == 1
    assert "WARNING: 2 diagrams are missing: " in built.warnings
    assert "install torch there" in built.warnings
    assert built.text("index.html").count("torchrecorder-error") == 2


def test_a_cache_that_cannot_be_written(pages: Project) -> None:
    pages.write("out/doctrees/torchrecorder", "a file where a folder should be")
    built = pages.build("html")
    assert built.warnings.count("WARNING") == 1
    assert "cannot write to the cache" in built.warnings
    assert built.warnings.rstrip().endswith("[torchrecorder.cache]")
    assert len(built.svgs("index.html")) == 2


def test_the_old_distribution_is_reported_where_something_is_made(pages: Project) -> None:
    facts = "Metadata-Version: 2.1\nName: torchrecorder\nVersion: 1.0.3\n"
    pages.write("old/torchrecorder-1.0.3.dist-info/METADATA", facts)
    built = pages.build("html", path="old")
    assert built.warnings.count("WARNING") == 1
    assert "the old distribution torchrecorder 1.0.3 is installed too" in built.warnings
    assert "pip uninstall -y torchrecorder" in built.warnings
    assert built.warnings.rstrip().endswith("[torchrecorder.install]")
    assert pages.build("html", path="old").warnings == "", "and once is enough"


def test_wrong_site_options_are_left_out(pages: Project) -> None:
    pages.configure('torchrecorder_options = {"depth": "deep", "dierction": "LR", "caption": "x", "fold": False}')
    built = pages.build("dummy")
    assert built.warnings.count("WARNING: torchrecorder_options: ") == built.warnings.count("WARNING") == 3
    assert "depth: 'deep' is not a valid depth" in built.warnings
    assert "unknown option 'dierction', did you mean direction?" in built.warnings
    assert "caption: cannot be set for a whole site" in built.warnings


def test_a_remote_cache(pages: Project) -> None:
    """It is shared by folder here; one that does not answer is a line in the log, one that cannot be is a warning."""
    pages.configure('torchrecorder_cache = "../one"\ntorchrecorder_remote = "../team"')
    pages.build("html", "-W").ok()
    assert list(Path(pages.root, "team/rec").glob("*/*"))

    pages.configure('torchrecorder_cache = "../two"\ntorchrecorder_remote = "http://127.0.0.1:9/team"')
    shutil.rmtree(pages.root / "out")
    silent = pages.build("html", "-W").ok()
    assert "the remote cache http://127.0.0.1:9/team is not used" in silent.output
    assert len(silent.svgs("index.html")) == 2

    pages.configure('torchrecorder_cache = "../three"\ntorchrecorder_remote = "nosuch://team"')
    shutil.rmtree(pages.root / "out")
    wrong = pages.build("html")
    assert wrong.warnings.count("WARNING") == 1
    assert "cannot use the remote cache nosuch://team" in wrong.warnings
    assert len(wrong.svgs("index.html")) == 2
