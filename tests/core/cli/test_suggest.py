"""`torchrecorder suggest docs`: settings that can be pasted, and what they are made of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from torchrecorder.cache import index
from torchrecorder.cli import main
from torchrecorder.cli.suggest import ClassWants, suggestions
from torchrecorder.pipeline import Pipeline
from torchrecorder.recording.matching import wants
from torchrecorder.request import Rules, Settings
from torchrecorder.trace import mentions
from torchrecorder.trace.allowed import EVERYTHING

MODELS = '''"""Models."""
from torch import nn

class Wide(nn.Module):
    """Wants leads and classes."""
    def __init__(self, n_leads, classes, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(n_leads, width, 3), nn.Conv1d(width, len(classes), 3))

    def forward(self, x):
        return self.body(x)

class Deep(Wide):
    """Wants the same."""

class Late(Wide):
    """Wants the same; no test shows how it is built."""

class Free(nn.Module):
    """Wants nothing."""
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 3))

    def forward(self, x):
        return self.body(x)
'''
LOSSES = '''"""Losses."""
from torch import nn

class Focal(nn.Module):
    """A loss."""
    def forward(self, x, y):
        return (x - y).pow(2).mean()

class Dice(Focal):
    """A loss."""
'''
TESTS = """import torch
from suggested.models import Deep, Wide

def test_wide():
    net = Wide(n_leads=12, classes=["N", "A"])
    assert net(torch.rand(2, 12, 100)).shape[1] == 2

def test_deep():
    assert Deep(n_leads=12, classes=["N", "A"])(torch.rand(2, 12, 100)) is not None
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {"__init__.py": "", "models.py": MODELS, "losses.py": LOSSES}
    for name, text in {
        **{f"src/suggested/{name}": text for name, text in files.items()},
        "tests/test_it.py": TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'suggested'\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pasted(text: str) -> dict[str, Any]:
    """The setting that a configuration has when the text is pasted into it."""
    values: dict[str, Any] = {}
    exec(text, values)
    setting: dict[str, Any] = values["torchrecorder_autodoc"]
    return setting


def test_its_output_is_a_setting_with_which_more_is_drawn(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", "docs"]) == 0
    text = capsys.readouterr().out
    setting = pasted(text)
    assert setting == {
        "*": True,
        "suggested.models.*": {"arguments": "n_leads=12, classes=['N', 'A']", "shape": "2,12,100", "quiet": True},
        "suggested.losses.*": False,
    }
    assert "# 3 classes: suggested.models.Deep, suggested.models.Late, suggested.models.Wide" in text
    rules, problems = Rules.read(setting)
    assert problems == ()
    settings = Settings.for_project(project, path=["src"], machine_cache="cache")
    bodies = [rules.body((f"suggested.models.{name}",), None) for name in ("Wide", "Deep", "Late", "Free")]
    outcomes = Pipeline(settings).run([body.request() for body in bodies if body is not None])
    assert [outcome.diagram is not None for outcome in outcomes.values()] == [True] * 4
    assert rules.body(("suggested.losses.Dice",), None) is None


@pytest.mark.parametrize("given", [["--format", "mkdocs"], []])
def test_for_mkdocs_it_is_yaml(project: Path, capsys: pytest.CaptureFixture[str], given: list[str]) -> None:
    if not given:
        (project / "mkdocs.yml").write_text("site_name: A site\n")
    (project / "src/no-package").mkdir()  # which no import statement can name
    (project / "src/no-package/__init__.py").touch()
    assert main(["suggest", "docs", *given]) == 0
    (plugin,) = yaml.safe_load(capsys.readouterr().out)["plugins"]
    setting = plugin["torchrecorder"]["autodoc"]
    assert setting["*"] is True
    assert setting["suggested.models.*"]["shape"] == "2,12,100"
    assert Rules.read(setting)[1] == ()


def test_what_cannot_be_searched_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["suggest", "docs"]) == 2
    assert "there is no package in this folder or in src" in capsys.readouterr().err
    assert main(["suggest", "docs", "not_there_at_all"]) == 1
    assert "no module 'not_there_at_all'" in capsys.readouterr().err


def test_a_project_is_read_once_for_all_its_classes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (project / "tests" / f"test_more_{number}.py").write_text("import torch\n")
    walked: list[str] = []
    read: list[str] = []
    walk, stat = os.walk, index.real_stat

    def walked_once(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
        walked.append(str(top))
        return walk(top)

    def read_once(path: str) -> os.stat_result:
        read.append(str(path))
        return stat(path)

    monkeypatch.syspath_prepend(project / "src")
    monkeypatch.setattr(os, "walk", walked_once)
    monkeypatch.setattr(mentions, "real_stat", read_once)
    assert len(wants("suggested.*", [EVERYTHING])) == 6
    assert len(walked) == len(set(walked))
    assert len([path for path in read if "test_more" in path]) == 20


def facts(needs: str = "", kind: str = "", shape: str = "", **arguments: str) -> ClassWants:
    return ClassWants(kind, needs.split(), arguments, shape)


def test_six_patterns_are_the_most_and_those_for_most_classes_come_first() -> None:
    classes = {f"pkg.p{i}.C{j}": facts("width", width="8") for i in range(9) for j in range(i)}
    found = suggestions(classes)
    assert [*found] == ["*", *(f"pkg.p{i}.*" for i in (8, 7, 6, 5, 4, 3))]


def test_the_usual_value_is_taken_and_a_shape_only_if_all_agree() -> None:
    shown = {
        "pkg.nets.A": facts("width", shape="1,3", width="8"),
        "pkg.nets.B": facts("width", shape="1,3", width="8"),
        "pkg.nets.C": facts("width", shape="1,3", width="9"),
    }
    assert suggestions(shown)["pkg.nets.*"].says == {"arguments": "width=8", "shape": "1,3", "quiet": True}
    differs = {**shown, "pkg.nets.D": facts("width", shape="1,5", width="8")}
    assert suggestions(differs)["pkg.nets.*"].says == {"arguments": "width=8", "quiet": True}


def test_only_what_holds_no_model_is_left_out() -> None:
    classes = {
        "pkg.losses.a.A": facts(kind="it is a loss"),
        "pkg.losses.b.B": facts(kind="it is a loss"),
        "pkg.nets.DLoss": facts(kind="it is a loss"),
        "pkg.nets.Net": facts(),
    }
    assert [pattern for pattern, it in suggestions(classes).items() if it.says is False] == ["pkg.losses.*"]
