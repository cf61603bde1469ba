"""Drawing a batch: what the engine is asked for, and how often."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.core.graph.building import Net, mlp, residual_block
from torchrecorder.drawing import draw as draw_module
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.drawing.paper import PaperLayout
from torchrecorder.drawing.svg.arrange import arranged
from torchrecorder.drawing.svg.layout import Layout
from torchrecorder.engine import Engine, find_engine
from torchrecorder.errors import EngineError
from torchrecorder.graph import Graph
from torchrecorder.request import DrawingOptions


class Asked(Engine):
    """The engine of the tests, which keeps what it is asked in each run."""

    runs: list[list[str]] = []  # noqa: RUF012

    def layout(self, sources: Sequence[str], timeout_s: float = 10) -> list[str | EngineError]:
        if sources:
            self.runs.append([*sources])
        return super().layout(sources, timeout_s)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Asked:
    monkeypatch.setattr(Asked, "runs", [])
    found = find_engine()
    return Asked(found.path, found.identity)


def fork(n: int) -> Graph:
    """So many branches that no paper layout has room for them."""
    net = Net("Fork")
    x = net.input("x", 1, 8)
    return net.graph(net.op("cat", *[net.layer(f"branch{i}", "Linear", x, (1, i + 1)) for i in range(n)]))


def drawn(engine: Engine, *graphs: Graph, options: DrawingOptions) -> list[Drawing]:
    found = draw([DrawJob(graph, f"{i}" * 64, options) for i, graph in enumerate(graphs)], engine)
    assert all(isinstance(one, Drawing) for one in found)
    return [one for one in found if isinstance(one, Drawing)]


def test_no_layered_layout_where_the_paper_layout_does(engine: Asked) -> None:
    pictures = drawn(engine, mlp(), residual_block(), options=DrawingOptions())
    asked = {dot for run in engine.runs for dot in run}
    assert len(engine.runs) <= 1
    assert all(one.dot.startswith("digraph") and one.dot not in asked for one in pictures)


def test_one_more_run_for_all_that_fall_back(engine: Asked) -> None:
    options = DrawingOptions(depth=9, fold=False)
    wide, usual, other = drawn(engine, fork(40), residual_block(), fork(41), options=options)
    assert len(engine.runs) == 2
    assert engine.runs[1] == [wide.dot, other.dot]
    layered = drawn(engine, fork(40), residual_block(), options=replace(options, layout="layered"))
    assert layered[0].svg == wide.svg
    assert layered[1].svg != usual.svg
    assert layered[1].dot == usual.dot


def test_layered_pictures_need_one_run(engine: Asked) -> None:
    pictures = drawn(engine, mlp(), fork(3), options=DrawingOptions(layout="layered"))
    assert engine.runs == [[one.dot for one in pictures]]


def test_a_layout_with_faults_gives_way_to_the_layered_one(engine: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    place = PaperLayout.place

    def without_a_line(self: PaperLayout, answers: Sequence[str | EngineError]) -> Layout | None:
        layout = place(self, answers)
        return layout and replace(layout, lines=layout.lines[1:])

    monkeypatch.setattr(PaperLayout, "place", without_a_line)
    (picture,) = drawn(engine, mlp(), options=DrawingOptions())
    (reason,) = picture.weakened
    assert re.match("layered, since the layout of a paper has faults: the edge from . to . is not drawn", reason)
    monkeypatch.undo()
    (layered,) = drawn(engine, mlp(), options=DrawingOptions(layout="layered"))
    assert layered.svg == picture.svg
    assert not layered.weakened


def test_a_layered_layout_with_faults_is_said(engine: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw_module, "arranged", lambda text: replace(arranged(text), boxes=[]))
    (picture,) = drawn(engine, mlp(), options=DrawingOptions(layout="layered"))
    assert picture.weakened == ("a layered layout with faults: box b0 is not drawn; please report it",)
