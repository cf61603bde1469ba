"""Models that break what everything here stands on: the error is about the model, and asks for no report."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Worker

pytestmark = [
    pytest.mark.usefixtures("real_processes"),
    pytest.mark.skipif(sys.platform != "linux", reason="its process would be ours"),
]

NETS = """
import os, sys, types
import torch
from torch import nn

class Net(nn.Linear):
    breaks = "pass"
    def __init__(self, breaks="", made=""):
        exec(made)
        super().__init__(3, 4)
        self.breaks = breaks
    def forward(self, x):
        exec(self.breaks)
        return super().forward(x)
"""
TORCH = "its code took torch out of sys.modules, or put another module there"
BREAKS = {
    "sys.modules.pop('torch')": TORCH,
    "sys.modules['torch'] = types.ModuleType('torch')": TORCH,
    "sys.meta_path.clear()": "its code took what finds modules out of sys.meta_path",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broken")
    (folder / "broken_nets.py").write_text(NETS)
    return folder


@pytest.fixture
def worker(folder: Path) -> Iterator[Worker]:
    with Worker([str(folder)], jobs=1) as worker:
        yield worker


def said(worker: Worker, target: str) -> str:
    """What is said of it; nothing if it was recorded."""
    answer = worker.record(RecordingRequest(f"broken_nets.{target}", "1,3", run="real"), timeout_s=60)
    assert (answer.error is None) == bool(answer.graph)
    return "" if answer.error is None else str(answer.error)


@pytest.mark.parametrize("code", BREAKS)
def test_what_the_forward_takes_away(worker: Worker, code: str) -> None:
    text = said(worker, f'Net("{code}")')
    assert BREAKS[code] in text
    assert "report" not in text
    assert said(worker, "Net()") == ""


def test_what_building_it_takes_away(worker: Worker) -> None:
    text = said(worker, "Net(made=\"sys.modules.pop('torch')\")")
    assert text.startswith("cannot build broken_nets.Net")
    assert "broken_nets.py:" in text
    assert "report" not in text


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root may")
def test_another_root_and_another_user(worker: Worker, tmp_path: Path) -> None:
    text = said(worker, f"Net(\"os.chroot('{tmp_path}')\")")
    assert "its code changed the root of the file system" in text
    assert "report" not in text
    assert said(worker, 'Net("os.setuid(65534)")') == "", "it computes well all the same"
