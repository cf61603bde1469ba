"""The words for parts of tensors in the finished picture: each has a place, near the end of its line."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest

from tests.core.drawing.engines import laid_out
from tests.core.drawing.looking import seen, words_on_edges
from tests.core.view.test_pieces import SAID, recorded
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.layout.finish import finished
from torchrecorder.layout.model import Layout
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.proof.layout import faults
from torchrecorder.request import read_drawing
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, Views
from torchrecorder.write.mermaid import to_mermaid

WAYS: dict[str, dict[str, object]] = {
    "page": {},
    "phone": {"width": "345px"},
    "to the right": {"direction": "LR"},
    "layered": {"layout": "layered"},
}
NETS = [net for net in SAID if SAID[net]]
"""Those of which an edge says something."""
NEAR = 60.0
"""Points from the end of a line to the middle of its word, which may be some 40 wide."""


def view_of(net: str, *, beside: bool = True) -> View:
    return Views(recorded(net), DrawingOptions()).view(beside=beside)


def parts(view: View) -> Counter[str]:
    views = (view, *(inset.view for inset in view.insets))
    return Counter(edge.part for one in views for edge in one.edges if edge.part)


def named(view: View) -> Counter[str]:
    """Likewise, but for parts that leave an inset by one of several lines, of which each has the name there."""
    leaving = [
        edge.part
        for inset in view.insets
        for edge in inset.view.edges
        if edge.part and inset.view.nodes[edge.head].kind == "output"
    ]
    return parts(view) - Counter(leaving)


def written(drawing: Drawing) -> Counter[str]:
    """The words beside lines, and what stands behind the names of nodes at their readers."""
    tags = (word.text.rpartition(" · ")[2] for node in drawing.layout.nodes if not node.key for word in node.words)
    return Counter([*(word.text.removesuffix(" · 2nd operand") for word in drawing.layout.words), *tags])


def paper(view: View) -> Layout:
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    return placed


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("net", NETS)
def test_each_part_is_written(net: str, way: str) -> None:
    (drawing,) = draw([DrawJob(recorded(net), "0" * 12, read_drawing(WAYS[way]))], find_engine())
    assert isinstance(drawing, Drawing), drawing
    unsaid = [text for text in drawing.weakened if "has no room for" in text]
    assert len(unsaid) == len(drawing.weakened) == ((net, way) == ("stacked", "layered"))  # it lies on another line
    view = view_of(net, beside=way != "layered")
    asked = parts(view) if way == "layered" else named(view)
    assert asked - written(drawing) == Counter()
    assert way == "layered" or words_on_edges(seen(drawing.svg)) == []


@pytest.mark.parametrize("net", NETS)
def test_the_word_is_near_the_end_of_its_line(net: str) -> None:
    layout = finished(paper(view_of(net)), uid="p1", title="", desc="")
    ends = [line.tip or line.curve[-1] for line in layout.lines]
    for word in layout.words:
        if word.text in parts(view_of(net)):
            assert min(math.dist((word.x, word.y), end) for end in ends) < NEAR


@pytest.mark.parametrize("net", NETS)
def test_a_layout_without_the_word_is_not_proved(net: str) -> None:
    view = view_of(net)
    layout = paper(view)
    assert faults(view, layout) == ()
    for i, line in enumerate(layout.lines):
        if line.part:
            for part in ("", "7 of 8"):
                lines = [*layout.lines[:i], line._replace(part=part), *layout.lines[i + 1 :]]
                assert faults(view, replace(layout, lines=lines)) != ()


def test_mermaid_has_the_part_behind_the_shape() -> None:
    options = DrawingOptions()
    text = to_mermaid(lambda given: Views(recorded("gated"), given).view(beside=False), options)
    said = {line.partition("|")[2].rpartition("|")[0] for line in text.splitlines() if "half" in line}
    assert said == {'"N×3×8 · 2nd half"', '"1st half"'}
