"""What no check foresees, raised in each step between a Graph and a finished page: it costs its own diagram at most."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sphinx

from tests.sphinx_ext.project import Project
from tests.unforeseen import NO_DIAGRAM

PAGE = """
    Site
    ====

    .. torchrecorder:: nets.Net(width=4)
       :shape: 1,3

    .. torchrecorder:: nets.Net
       :shape: 1,3
    """
RAISES = f"""
    import sys
    sys.path.insert(0, {str(Path(__file__).parents[2])!r})
    from tests.unforeseen import raising
    """


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("unforeseen"))
    project.write("docs/index.rst", PAGE)
    project.build().ok()
    return project


def copy_of(made: Project, folder: Path) -> Project:
    shutil.copytree(made.root, folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "out" / "html")
    shutil.rmtree(folder / "out" / "doctrees" / "torchrecorder" / "ren")
    project = object.__new__(Project)
    project.root = folder
    return project


@pytest.mark.parametrize(
    ("step", "number", "boxes", "where"),
    [
        ("torchrecorder.drawing.model:Drawing.to_bytes", 0, 2, "index.rst:"),
        ("torchrecorder.pipeline:_Batch._load", 1, 1, "index.rst:5"),
        ("torchrecorder.page.figure:CopyNumbers.contents", 1, 1, "index.rst:5"),
        ("sphinx_torchrecorder.figure:inline", 2, 1, "index.rst:8"),
        ("torchrecorder.pipeline:_Batch.outcomes", 0, 2, "index.rst:"),
        ("torchrecorder.site:log_entries", 1, 2, ""),
        ("sphinx_torchrecorder.build:_changed_documents", 1, 2, ""),
        ("sphinx_torchrecorder.build:_keep_signatures", 1, 0, ""),
    ],
)
def test_a_step_that_raises_is_one_warning(
    made: Project, tmp_path: Path, step: str, number: int, boxes: int, where: str
) -> None:
    project = copy_of(made, tmp_path / "site")
    project.configure(f"{RAISES}\n    raising({step!r}, {number})")
    built = project.build("html", "-E")
    assert built.status == 0, built.warnings
    assert built.text("index.html").count(NO_DIAGRAM) == boxes
    warned = [line for line in built.warnings.splitlines() if "torchrecorder failed inside" in line]
    assert len(warned) == max(boxes if where == "index.rst:" else 1, 1), built.warnings
    assert all("unforeseen" in line and where in line for line in warned)
    assert "Traceback" not in built.warnings
    assert project.build("html", "-E", "-W", "--keep-going").status == 1


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
@pytest.mark.skipif(sphinx.version_info < (8,), reason="Sphinx 7 cannot compile a conf.py of such a folder")
def test_a_project_in_a_folder_whose_name_is_not_text(made: Project, tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/a\xff b")
    project = copy_of(made, Path(folder))
    built = project.build("html", "-E")
    assert built.status == 0, built.warnings
    assert built.warnings == ""
    assert built.text("index.html").count("<svg") >= 2
    assert project.build().status == 0
    subprocess.run(["rm", "-r", folder], check=True)  # what removes temporary folders may not know such names
