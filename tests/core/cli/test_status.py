"""The exit status of each command: 0 all is right, 1 something failed or is out of date, 2 the call was wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import torchrecorder
from torchrecorder.cli import main
from torchrecorder.graph import to_json

NETS = """from torch import nn

class Net(nn.Linear):
    def __init__(self, width=2):
        super().__init__(3, width)

class Wants(nn.Module):
    def forward(self, what):
        return what.of_its_own
"""
CONF = "extensions = ['sphinx_torchrecorder']\ntorchrecorder_path = ['..']\ntorchrecorder_cache = '../diagrams'\n"
DIRECTIVE = "Nets\n====\n\n.. torchrecorder:: status_nets.{}\n"
RIGHT = (
    "draw status_nets.Net --shape 1,3",
    "diff old.json old.json",
    "diff old.json new.json",
    "diff status_nets.Net status_nets.Net(5) --shape 1,3",
    "update docs",
    "check docs",
    "check docs --json",
    "gc .torchrecorder",
    "stamp",
    "doctor",
)
"""In their order. That something has changed is what `diff` is asked, and nothing that is wrong."""
FAILED = (
    "draw status_nets.Nett",
    "draw status_nets.Wants",
    "draw status_nets.Net --shape 1,5",
    "draw status_nets.Net(9) --shape 1,3 --engine none",
    "diff status_nets.Wants status_nets.Net",
    "diff status_nets.Net status_nets.Nett --shape 1,3",
    "diff old.json bad.json",
    "diff old.json gone.json",
    "diff old.json new.json --format svg --engine none",
    "diff --git main",
    "update failing",
    "update nowhere",
    "check failing",
    "check failing --json",
    "check nowhere",
    "doctor --python no-such-python",
    "doctor --python no-such-python --json",
    "doctor nowhere",
)
WRONG = (
    *(
        f"{command} --nonsense"
        for command in ("draw a.B", "diff a b", "update d", "check d", "gc d", "stamp", "doctor")
    ),
    "",
    "drow a.B",
    "draw",
    "draw Net",
    "draw status_nets.Net --depth x",
    "draw status_nets.Net --run reel",
    "draw status_nets.Net --mode evaluate",
    "draw status_nets.Net --recorder old",
    "draw status_nets.Net --seed a",
    "draw status_nets.Net --width 3.2.5in -o net.pdf",
    "draw status_nets.Net -o net.gif",
    "diff status_nets.Net",
    "diff a.B c.D --run reel",
    "diff a.B c.D --seed a",
    "diff a.B c.D --format gif",
    "diff --git a b c",
    "update docs --jobs 0",
    "update docs --jobs -3",
    "update docs --jobs many",
    "gc status_nets.py",
    "gc nowhere",
    "gc .torchrecorder --days many",
    "stamp nowhere/.torchrecorder",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("status")
    (root / "status_nets.py").write_text(NETS)
    for name, net in (("docs", "Net\n   :shape: 1,3"), ("failing", "Wants")):
        (root / name).mkdir()
        (root / name / "conf.py").write_text(CONF)
        (root / name / "index.rst").write_text(DIRECTIVE.format(net))
    for name, width in (("old", 4), ("new", 5)):
        graph = torchrecorder.capture(nn.Linear(3, width), torch.zeros(1, 3))
        (root / f"{name}.json").write_text(to_json(graph), encoding="utf-8")
    (root / "bad.json").write_text(json.dumps({"torchrecorder_graph": 99}))
    return root


@pytest.fixture
def status(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    monkeypatch.chdir(project)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))

    def call(line: str) -> int:
        try:
            return main(line.split())
        except SystemExit as exit_:  # of argparse
            return int(exit_.code or 0)

    return call


def test_right(status: Callable[[str], int]) -> None:
    assert {line: status(line) for line in RIGHT} == dict.fromkeys(RIGHT, 0)


@pytest.mark.parametrize("line", FAILED)
def test_failed_or_out_of_date(status: Callable[[str], int], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(line) == 1
    assert "Traceback" not in capsys.readouterr().err.partition("torchrecorder: error")[0]


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_call(status: Callable[[str], int], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(line) == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert "error: " in said.err
