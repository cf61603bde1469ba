"""Drawings of the ports can be written with or without a system Graphviz, and by the same engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import nn

import torchrecorder
from torchrecorder.torchview import draw_graph


def pictures() -> list[bytes]:
    """One net, written by each port."""
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    drawn = torchrecorder.make_dot(torchrecorder.record(net, "net", (1, 3)))
    traced = draw_graph(net, input_size=(1, 3), device="cpu").visual_graph
    return [drawn.pipe(format="svg"), traced.pipe(format="svg")]


def test_without_a_system_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for picture in pictures():
        assert b"<svg" in picture


def test_both_ports_take_the_same_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    system = tmp_path / "dot"
    system.write_text('#!/bin/sh\necho "$*" >> "$0.log"\necho the system\n')
    system.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pictures() == [b"the system\n"] * 2
    net = nn.Linear(3, 4)
    draw_graph(net, input_size=(1, 3), device="cpu", save_graph=True, directory=str(tmp_path / "out"))
    calls = (tmp_path / "dot.log").read_text().splitlines()
    assert [call.split()[1] for call in calls] == ["-Tsvg", "-Tsvg", "-Tpng"]
