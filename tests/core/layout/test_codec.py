"""Layouts as JSON: nothing is lost, and whatever a cache holds, what is written of it is safe."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.core.graph.building import mlp, residual_block, transformer
from tests.core.write.safe import is_safe
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.graph import Graph
from torchrecorder.layout.codec import from_data, to_data
from torchrecorder.layout.model import MARKS, Layout
from torchrecorder.request import DrawingOptions
from torchrecorder.view.model import Mark
from torchrecorder.write.svg import inline, neutral

REFUSED = (ValueError, TypeError)


def laid_out(graph: Graph, **options: Any) -> Layout:
    (drawing,) = draw([DrawJob(graph, "0123456789ab", DrawingOptions(**options))], find_engine())
    assert isinstance(drawing, Drawing)
    return drawing.layout


LAYOUT = laid_out(transformer(2), depth=2)
TEXT = json.dumps(to_data(LAYOUT))


@pytest.mark.parametrize("graph", [mlp(), residual_block(), transformer(3)])
@pytest.mark.parametrize("options", [{}, {"layout": "layered"}, {"theme": "classic"}, {"grey": True}])
def test_nothing_is_lost(graph: Graph, options: dict[str, Any]) -> None:
    layout = laid_out(graph, **options)
    again = from_data(json.loads(json.dumps(to_data(layout))))
    assert again == layout
    assert neutral(again) == neutral(layout)


def test_marks_are_those_of_views() -> None:
    assert get_args(Mark) == MARKS


def places(data: Any, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Where something stands, at every level."""
    deeper = [place for i, part in enumerate(data) for place in places(part, (*path, i))] if type(data) is list else []
    return [path, *deeper]


PLACES = places(json.loads(TEXT))[1:]
ODD: st.SearchStrategy[object] = st.sampled_from(
    [
        *(None, True, -1, 1e9, float("nan"), "", "x", "#12345", "#123456;x", "url(x)", "javascript:x", [], {}, [[]]),
        *('"><script>alert(1)</script>', "</title><script>", "conv", "\ud800", "tr-0123456789ab-i1", 2**70),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(PLACES), ODD)
@example((0,), -1)  # a width
def test_what_is_changed_is_refused_or_safe(place: tuple[int, ...], odd: object) -> None:
    data = json.loads(TEXT)
    around = data
    for i in place[:-1]:
        around = around[i]
    around[place[-1]] = odd
    try:
        layout = from_data(data)
    except REFUSED:
        return
    assert is_safe(neutral(layout))
    assert "<script" not in inline(layout)


CHANGES: dict[str, Callable[[list[Any]], object]] = {
    "no room": lambda data: data.__setitem__(0, float("inf")),
    "a colour that is none": lambda data: data[3][0][5].__setitem__(1, "red"),
    "an unknown kind": lambda data: data[3][0][0].append("md-overlay"),
    "a key with a quote": lambda data: data[3][0].__setitem__(7, '1" onload="x'),
    "a curve of three points": lambda data: data[4][0].__setitem__(1, [[0, 0], [1, 1], [2, 2]]),
    "an id of the page": lambda data: data.__setitem__(7, "search"),
    "a theme": lambda data: data.__setitem__(10, "dark"),
    "a field too many": lambda data: data.append(0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_none(change: str) -> None:
    data = json.loads(TEXT)
    CHANGES[change](data)
    with pytest.raises(REFUSED):
        from_data(data)
