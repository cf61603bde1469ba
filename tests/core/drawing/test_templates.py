"""The words of a picture that opens each kind of layer once, and what can be opened in its page."""

from __future__ import annotations

import re

import pytest
import torch
from torch import Tensor, nn

from tests.core.drawing.engines import finish, laid_out
from tests.core.drawing.looking import faults, seen
from tests.core.view.templates.test_choice import stages
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.labels.labels import Labels
from torchrecorder.recording.run import capture
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
    assert labels[0].line == "A ×3 · first with downsample · 1 k params each"


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


class Unit(nn.Module):
    def __init__(self, n: int, size: int) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(n, n, size, padding=size // 2), nn.BatchNorm2d(n)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.norm(self.conv(x)).relu()
        return found


class Inception(nn.Module):
    """Four branches and the input side by side, which are wider than a column."""

    def __init__(self, n: int) -> None:
        super().__init__()
        for size in (3, 5, 7, 9):
            self.add_module(f"kernel_{size}_reduced", Unit(n, 1))
            self.add_module(f"kernel_{size}_by_{size}", Unit(n, size))
        self.pool = nn.MaxPool2d(3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        units = [*self.children()]
        return torch.cat([units[i + 1](units[i](x)) for i in range(0, 8, 2)] + [self.pool(x)], 1)


class Inceptions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.first, self.pool = nn.Conv2d(3, 8, 3), Inception(8), nn.MaxPool2d(2)
        self.second, self.head = Inception(40), nn.Linear(200, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.second(self.pool(self.first(self.stem(x))))
        found: Tensor = self.head(x.mean((2, 3)))
        return found


@pytest.mark.parametrize("room", [620, 520, 440])
def test_what_can_still_be_read_in_its_column_is_not_closed(room: int) -> None:
    with torch.no_grad():
        graph = capture(Inceptions().eval(), (torch.zeros(2, 3, 32, 32),))
    (drawing,) = draw([DrawJob(graph, "a" * 64, DrawingOptions(room=room))], find_engine())
    assert isinstance(drawing, Drawing)
    assert drawing.alt.endswith("Beside it is A, Inception")
    assert drawing.width > room
