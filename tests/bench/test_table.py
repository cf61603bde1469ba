"""The page of benchmarks, from the figures that they hand over."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bench import table
from bench.figures import HANDED_OVER, Figure, show


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(table, "FOLDER", tmp_path / "page")
    return tmp_path / "page"


@pytest.fixture
def handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HANDED_OVER, str(tmp_path / "figures.jsonl"))
    monkeypatch.setattr(sys, "argv", ["bench/record.py"])
    return tmp_path / "figures.jsonl"


def test_figures_are_printed_beside_their_goals(handed_over: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show([Figure("slow", 2.345, "ms", 2), "    a remark", Figure("many", 12345.6)])
    slow, remark, many = capsys.readouterr().out.splitlines()
    assert slow.split() == ["slow", "2.35", "ms", "(goal", "2,", "missed)"]
    assert (remark, many.split()) == ("    a remark", ["many", "12,346"])
    assert len(handed_over.read_text().splitlines()) == 2


def test_new_figures_take_the_place_of_those_of_their_benchmark_only(folder: Path, handed_over: Path) -> None:
    show([Figure("old", 1), Figure("older", 3, goal=2)])
    sys.argv[0] = "bench/house.py"
    show([Figure("files | lines", 7)])
    table.main(handed_over)
    handed_over.write_text("")
    sys.argv[0] = "bench/record.py"
    show([Figure("new", 3, "ms", 2)])
    table.main(handed_over)
    page = (folder / "index.md").read_text()
    assert "older" not in page
    assert "| new | **3 ms** | 2 |" in page
    assert r"| files \| lines | 7 |  |" in page
    assert page.index("## Recording") < page.index("## How simple the source is")
    kept = json.loads((folder / "figures.json").read_text())["benchmarks"]
    assert [row["what"] for row in kept["record"]["figures"]] == ["new"]
    assert kept["record"]["measured"]["versions"]["torch"]


def test_a_benchmark_that_failed_costs_nothing(folder: Path, handed_over: Path) -> None:
    show([Figure("old", 1)])
    table.main(handed_over)
    before = (folder / "index.md").read_text()
    table.main(handed_over.with_name("none.jsonl"))
    assert (folder / "index.md").read_text() == before


def test_a_curve_is_drawn_with_all_its_points_and_its_goal(folder: Path, handed_over: Path) -> None:
    show([Figure(f"{at} ops", at**0.5, "ms", 40, "Time by <ops>", at) for at in (10, 100, 1000)])
    table.main(handed_over)
    assert "![Time by <ops>](growth-1.svg)" in (folder / "index.md").read_text()
    svg = ET.parse(folder / "growth-1.svg").getroot()
    names = {"s": "http://www.w3.org/2000/svg"}
    heights = [float(dot.attrib["cy"]) for dot in svg.findall("s:circle", names)]
    assert heights == sorted(heights, reverse=True)
    assert len(heights) == 3
    words = [text.text for text in svg.findall("s:text", names)]
    assert {"10", "100", "1,000", "goal 40", "0 ms", "Time by <ops>"} <= {*words}
