"""What cannot be traced is declared, or at least told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.entries import entries, facts_of

NET = """import os, subprocess, sys
from torch import nn

def width():
    return int(subprocess.run(["cat", "width.txt"], capture_output=True, cwd=HERE).stdout or 4)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, width())

    def forward(self, x):
        return self.fc(x)
"""


def manifest(project: Any) -> dict[str, Any]:
    (file,) = entries(project.root / ".torchrecorder")
    return facts_of(file)


def test_a_file_that_another_program_reads(make_project: Callable[..., Any]) -> None:
    project = make_project(
        {
            "src/pkg.py": f"HERE = __file__ + '/../../data'\n{NET}".replace("cwd=HERE", "cwd=os.path.abspath(HERE)"),
            "data/width.txt": "4",
        }
    )
    project.draw(depends="data/width.txt $UNSEEN")
    assert manifest(project)["untracked"] == ["starts cat"]
    assert project.draw(depends="data/width.txt $UNSEEN")[1] == 0
    project.write({"data/width.txt": "5"})
    assert str(project.finding(depends="data/width.txt $UNSEEN")) == "data/width.txt changed"


def test_a_folder_and_a_variable(make_project: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project({"src/pkg.py": f"HERE = '.'\n{NET}", "data/a/width.txt": "4"})
    options = {"depends": "data, $UNSEEN"}
    project.draw(**options)
    assert project.draw(**options)[1] == 0
    project.write({"data/a/more.txt": "5"})
    assert "the list of files in data/a/ changed" in str(project.finding(**options))
    project.draw(**options)
    monkeypatch.setenv("UNSEEN", "secret-value")
    assert str(project.finding(**options)) == "$UNSEEN appeared"
    project.draw(**options)
    assert "secret-value" not in entries(project.root / ".torchrecorder")[0].read_text()


def test_no_path_of_this_machine_is_kept(make_project: Callable[..., Any], tmp_path: Path) -> None:
    project = make_project({"src/pkg.py": f"HERE = '.'\n{NET}"})
    project.draw()
    for file in entries(project.root / ".torchrecorder"):
        assert str(tmp_path) not in file.read_text()
        assert str(Path.home()) + "/" not in file.read_text()


def test_a_file_edited_while_it_was_recorded_is_not_kept(make_project: Callable[..., Any]) -> None:
    project = make_project(
        {"src/pkg.py": NET.replace("return self.fc(x)", "open(__file__, 'a').write('# \\n'); return self.fc(x)")}
    )
    project.edit("src/pkg.py", "cwd=HERE", "cwd='.'")
    assert project.draw()[1] == 1
    assert project.draw()[1] == 1


def test_code_that_only_ran_at_import_is_told_apart(make_project: Callable[..., Any]) -> None:
    project = make_project(
        {
            "src/pkg/__init__.py": f"import pkg.spare\nHERE = '.'\n{NET}",
            "src/pkg/spare.py": "X = 1\n",
        }
    )
    project.draw()
    project.edit("src/pkg/spare.py", "1", "2")
    assert project.finding().verdict.value == "import-only"
    project.edit("src/pkg/__init__.py", "or 4", "or 5")
    assert project.finding().verdict.value == "stale"
