"""Models that are hostile or absurd: a picture or an error with a message, never a hang, never a broken file."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.drawing.engines import NASTY, finish, link, parsed
from tests.core.graph.building import Net, chain
from tests.core.write.test_svg import check
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.errors import EngineError, OptionError, TorchRecorderError
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import to_dot
from torchrecorder.request import DrawingOptions
from torchrecorder.request.options import Depth
from torchrecorder.view import make_view

TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from([text[:300] for text in NASTY]),
    st.text(alphabet="<>&\"\\'/=;:{}[]|%#\n\r\t\x00\x1b", max_size=20),
    st.text(alphabet="אבג漢字한글ｱ🙂\u202e\u200f\u0301", max_size=12),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=6, max_size=6), st.sampled_from(["modern", "classic"]))
def test_no_text_gets_out_of_its_place(texts: list[str], theme: str) -> None:
    name, cls, said, path, op, error = texts
    net = Net(cls or "Net")
    x = net.input(name or "x", 1, 4)
    with net.call(path or "a", cls or "B", said, params=3):
        x = net.op(op or "sin", net.layer(f"{path}.b", cls or "B", x, said=said), attrs={"1": said})
        x = net.op("add", x, net.weight(name or "w", 4))
    with net.call("last", op or "C"):
        net.op("cos", x)
        net.fail(error)
    graph = net.graph()
    view = make_view(graph, DrawingOptions(depth="all", show=("weights",)))
    (layout,) = find_engine().layout([to_dot(view, name=name, show=("shapes", "dtypes", "memory", "flops")).source])
    assert isinstance(layout, str), layout
    made = finish(layout, uid="p1", title=name, desc=error, theme=theme)  # type: ignore[arg-type]
    check(made.svg)
    assert "<script" not in link(made, {cls: "javascript:x"}).lower()


def complete(n: int) -> Graph:
    """n ops, each of which reads all before it."""
    net = Net("Complete")
    found = [net.input("x", 1, 4)]
    for _ in range(n):
        found.append(net.op("cat", *found, shape=(1, 4)))
    return net.graph(found[-1])


def inputs(n: int) -> Graph:
    net = Net("Wide")
    return net.graph(net.op("cat", *(net.input(f"x{i}", 1) for i in range(n))))


ABSURD: dict[str, Callable[[], Graph]] = {
    "no op": lambda: Net().graph(),
    "each with each": lambda: complete(60),
    "20,000 ops": functools.cache(lambda: chain(20_000)),
    "400 inputs": lambda: inputs(400),
}


@pytest.mark.parametrize("name", ABSURD)
@pytest.mark.parametrize("depth", ["auto", 1])
def test_absurd_models_are_drawn_or_refused(name: str, depth: Depth) -> None:
    graph = ABSURD[name]()
    begun = time.process_time()
    (drawing,) = draw([DrawJob(graph, "a" * 64, DrawingOptions(depth=depth))], find_engine())
    if isinstance(drawing, Drawing):
        parsed(drawing.svg)
    else:
        assert isinstance(drawing, EngineError)
        assert str(drawing)
    assert time.process_time() - begun < 60  # a hang, not a reading: it takes 13 s here, and more on slower machines


def test_what_is_too_much_says_what_helps() -> None:
    order = DrawJob(ABSURD["20,000 ops"](), "a" * 64, DrawingOptions(depth="all", expand=("**",)))
    (refused,) = draw([order], find_engine())
    assert isinstance(refused, OptionError)
    assert "20000 nodes, and at most 5000 are drawn: give a smaller depth, or focus" in str(refused)


def test_more_inputs_than_can_be_drawn_are_refused() -> None:
    (refused,) = draw([DrawJob(inputs(6000), "a" * 64, DrawingOptions())], find_engine())
    assert isinstance(refused, TorchRecorderError)
    assert "at most 5000" in str(refused)
