"""The words of a picture that opens each kind of layer once, and what can be opened in its page."""

from __future__ import annotations

import re

from tests.core.drawing.engines import finish, laid_out
from tests.core.drawing.looking import faults, seen
from tests.core.view.templates.test_choice import stages
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.labels.labels import Labels
from torchrecorder.request import DrawingOptions
from torchrecorder.view import make_view


def drawn() -> Drawing:
    (drawing,) = draw([DrawJob(stages(), "a" * 64, DrawingOptions())], find_engine())
    assert isinstance(drawing, Drawing)
    return drawing


def test_a_node_with_a_letter_says_how_often_and_what_differs() -> None:
    view = make_view(stages())
    labels = [Labels(view).node(node) for node in view.nodes if node.inset]
    assert labels[0].name == "layer1"
    assert labels[0].line == "A ×3 · 2 without downsample · 1 k params each"


def test_the_text_has_the_letters_and_opens_what_the_picture_opens() -> None:
    lines = [line.split("  ") for line in drawn().text.splitlines()]
    words = [" ".join(filter(None, line)) for line in lines]
    assert sum("A, Bottleneck" in line for line in words) == 2
    assert sum("downsample" in line for line in words) == 1
    assert sum("conv1" in line for line in words) == 2


def test_the_alternative_text_says_what_is_beside() -> None:
    assert drawn().alt.endswith("Beside it is A, Bottleneck")


def test_a_node_with_a_letter_opens_its_own_inside() -> None:
    drawing = drawn()
    referred = {int(number) for number in re.findall(r"torchrecorder:[\w.]*#(\d+)", drawing.svg)}
    assert {nested.path for nested in drawing.nested} >= {"layer1.0", "layer2.0", "layer3.0"}
    assert {nested.call for nested in drawing.nested} <= referred


def test_what_the_engine_would_get_has_the_insets_and_can_be_laid_out() -> None:
    dot = drawn().dot
    assert "subgraph cluster_A0" in dot
    assert 'label="A\N{EN SPACE}Bottleneck' in dot
    svg = finish(laid_out(dot), uid="p1", title="t", desc="d").svg
    assert faults(seen(svg)) == []
    keys = set(re.findall(r'data-n="(\w+)"', svg))
    assert {"Ab0", "b0"} <= keys
    assert keys == set(re.findall(r'data-n="(\w+)"', drawn().svg)) | {key for key in keys if key[1:].isdigit()}
