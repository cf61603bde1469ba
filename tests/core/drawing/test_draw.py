"""Drawing a batch: what the engine is asked for, and how often."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Never

import pytest
import torch
from torch import Tensor, nn

from tests.core.graph.building import Net, mlp, residual_block, transformer
from torchrecorder.drawing import draw as drawing
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import Engine, find_engine
from torchrecorder.errors import EngineError, FailedInside
from torchrecorder.graph import Graph
from torchrecorder.layout import edge_shapes
from torchrecorder.layout.layered import arranged
from torchrecorder.layout.model import Layout
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.proof import Claim
from torchrecorder.recording.run import capture
from torchrecorder.request import DrawingOptions
from torchrecorder.view import View, Views
from torchrecorder.view.templates.choice import Choice


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
    assert wide.layout.width < layered[0].layout.width  # what is only hard to read is drawn in the easier way
    assert layered[1].svg != usual.svg
    assert layered[1].dot == usual.dot


def mixer(n: int, *, n_read: int = 1) -> Graph:
    """A block of so many different branches, which is most of the model, between two layers."""
    net = Net("Mixed", params=150_000)
    read = [net.input(f"measured_{i}", 1, 8 + i) for i in range(n_read)]
    read = [net.op(f"change_{i}_of_what_is_measured", it) for i, it in enumerate(read)] if n_read > 1 else read
    x = net.layer("stem", "Linear", net.op("cat", *read), (1, 8), "in_features=8, out_features=8", 72)
    with net.call("mixer", "Mixer", params=90_000):
        classes = ["Linear", "Conv1d", "GRUCell", "RNNCell", "PReLU", "LayerNorm", "LSTMCell", "Bilinear"]
        classes += ["Conv2d", "Conv3d", "GRU", "RNN"]
        ways = [net.layer(f"mixer.way{i}", name, x, (1, i + 2), params=9000) for i, name in enumerate(classes[:n])]
        x = net.op("cat", *ways)
    return net.graph(net.layer("head", "Linear", x, (1, 2), params=100))


def test_what_was_opened_last_is_closed_where_that_makes_a_wide_picture_narrow(engine: Asked) -> None:
    narrow, readable, wide = drawn(engine, *map(mixer, (3, 6, 12)), options=DrawingOptions())
    assert "way0" in narrow.svg
    assert "way0" in readable.svg
    assert "way0" not in wide.svg
    assert [one.path for one in wide.nested] == ["mixer"]  # where a reader opens it
    (asked,) = drawn(engine, mixer(12), options=DrawingOptions(expand=("mixer",)))
    assert "way0" in asked.svg


def test_what_was_opened_last_is_closed_where_the_picture_stays_wide_but_less_so(engine: Asked) -> None:
    (wide,) = drawn(engine, mixer(12, n_read=8), options=DrawingOptions())
    assert wide.layout.width > 540  # points, of what reads the inputs
    assert "way0" not in wide.svg
    assert wide.nested[0].path == "mixer"


def test_what_is_opened_stays_where_lines_cross_a_few_times(engine: Asked) -> None:
    net = Net("Mixed", params=150_000)
    x = net.layer("stem", "Linear", net.input("x", 1, 8), params=72)
    with net.call("mixer", "Mixer", params=90_000):
        kinds = enumerate(("Linear", "GRU", "Conv1d"))
        ways = [net.layer(f"mixer.way{i}", kind, x, params=20_000) for i, kind in kinds]
        joined = [net.op(name, *ways, shape=(1, 24)) for name in ("cat", "stack", "hstack", "maximum", "vstack")]
        kinds = enumerate(("Conv2d", "PReLU", "Linear", "RNN", "GRUCell"))
        x = net.op("cat", *(net.layer(f"mixer.out{i}", kind, joined[i], params=100) for i, kind in kinds))
    (crossed,) = drawn(engine, net.graph(net.layer("head", "Linear", x, (1, 2), params=100)), options=DrawingOptions())
    assert "way0" in crossed.svg


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


def test_a_shape_that_is_not_so_is_left_out(engine: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = edge_shapes._shape

    def wrong(view: View, value: int, show: Collection[str]) -> str:
        return shape(view, value, show).replace("16", "4321")

    options = DrawingOptions(fold=False)
    (before,) = drawn(engine, residual_block(), options=options)
    monkeypatch.setattr(edge_shapes, "_shape", wrong)
    (picture,) = drawn(engine, residual_block(), options=options)
    assert all(re.fullmatch("left out, since it is not so: “.*4321.*” on the line .*", it) for it in picture.weakened)
    assert picture.weakened
    assert "4321" not in picture.svg
    assert [node.rect.width for node in picture.layout.nodes] == [node.rect.width for node in before.layout.nodes]
    (layered,) = drawn(engine, residual_block(), options=replace(options, layout="layered"))
    assert "4321" not in layered.svg


def test_a_formula_that_is_not_so_is_left_out(engine: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gate(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return (x - y).sigmoid() * (x + 1)

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.head = Gate(), nn.Linear(4, 4)

        def forward(self, x: Tensor, y: Tensor) -> Any:
            return self.head(self.gate(x, y))

    with torch.no_grad():
        graph = capture(Gated(), (torch.ones(2, 4), torch.ones(2, 4)))
    options = DrawingOptions(depth=1)
    (true,) = drawn(engine, graph, options=options)
    assert "sigmoid(x − y)" in true.svg
    monkeypatch.setattr("torchrecorder.labels.labels.in_short", lambda *_, **__: "sigmoid(x + y) × (x + 1)")
    (picture,) = drawn(engine, graph, options=options)
    (reason,) = picture.weakened
    assert reason.startswith("left out, since it is not so: “sigmoid(x + y) × (x + 1)” at ")
    assert "x + y" not in picture.svg
    assert "Gate" in picture.svg


def test_words_that_stay_wrong_cost_the_layout_once(engine: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "faults", lambda *_: (Claim("“x” at 0 is not what is computed there", "0"),))
    (picture,) = drawn(engine, mlp(), options=DrawingOptions())
    assert [it.partition(":")[0] for it in picture.weakened] == [
        "left out, since it is not so",
        "layered, since the layout of a paper has faults",
        "a layered layout with faults",
    ]


def test_a_layered_layout_with_faults_is_said(engine: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "arranged", lambda text: replace(arranged(text), boxes=[]))
    (picture,) = drawn(engine, mlp(), options=DrawingOptions(layout="layered"))
    assert picture.weakened == ("a layered layout with faults: box b0 is not drawn; please report it",)


def raising(*_: object, **__: object) -> Never:
    raise IndexError("list index out of range")


SAID = r"^cannot draw \w+: torchrecorder failed inside.*: IndexError: list index out of range"


@pytest.mark.parametrize("place", [(PaperLayout, "__init__"), (PaperLayout, "place")], ids=["rows", "places"])
def test_where_one_layout_raises_the_other_is_drawn(
    place: tuple[type, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    layered = drawn(find_engine(), transformer(), mlp(), options=DrawingOptions(layout="layered"))
    monkeypatch.setattr(*place, raising)
    assert drawn(find_engine(), transformer(), mlp(), options=DrawingOptions()) == layered
    assert [
        bool(re.search(f"{SAID}.*; it is drawn in a plainer way; please report it", s)) for s in caplog.messages
    ] == [
        True,
        True,
    ]


def test_where_the_choice_of_what_is_drawn_raises_everything_is_drawn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plain = drawn(find_engine(), transformer(), options=DrawingOptions(layout="layered", fold=False))
    monkeypatch.setattr(Choice, "view", raising)
    assert drawn(find_engine(), transformer(), options=DrawingOptions()) == plain
    assert len(caplog.messages) == 1


def test_where_all_else_raises_one_level_is_drawn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = Views.view

    def view(self: Views, *, beside: bool = True) -> View:
        return raising() if self.options.depth == "all" else made(self, beside=beside)

    one_level = drawn(find_engine(), transformer(), options=DrawingOptions(layout="layered", fold=False, depth=1))
    monkeypatch.setattr(Views, "view", view)
    options = DrawingOptions(depth="all", collapse=("blocks.*",))
    assert drawn(find_engine(), transformer(), options=options) == one_level
    assert len(caplog.messages) == 1


def test_a_layer_whose_inside_raises_stays_closed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    options = DrawingOptions(depth=1)
    (usual,) = drawn(find_engine(), transformer(), options=options)
    monkeypatch.setattr(Views, "inside", raising)
    (one,) = drawn(find_engine(), transformer(), options=options)
    assert one == replace(usual, nested=())
    assert usual.nested
    assert ["; it stays closed; please report it" in said for said in caplog.messages] == [True]


def test_what_cannot_be_drawn_in_any_way_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(drawing, "details", lambda view: raising() if view.graph.modules[""].cls == "pkg.MLP" else "")
    options = DrawingOptions()
    failed, made = draw([DrawJob(graph, "0" * 64, options) for graph in (mlp(), transformer())], find_engine())
    assert isinstance(failed, FailedInside)
    assert isinstance(made, Drawing)
    assert caplog.messages == []
