"""What stands below a picture: a line, and what readers can open."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import torchrecorder
from tests.core.proof.part_nets import Gated
from torchrecorder.page import about, words
from torchrecorder.page.figure import CopyNumbers
from torchrecorder.request import FigureOptions

READING = Path(__file__).parents[3] / "docs" / "guide" / "reading.md"


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x).relu()  # type: ignore[no-any-return]


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(5):
            x = torch.tanh(self.layer(x))
        return self.head(x)  # type: ignore[no-any-return]


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            x = x * 2
        return x + self.fc2(self.fc1(x).relu())  # type: ignore[no-any-return]


def deep() -> nn.Module:
    return nn.Sequential(*(Residual() for _ in range(4)), nn.LayerNorm(8), nn.Linear(8, 3))


@pytest.mark.parametrize(
    ("make", "shape", "used", "unused"),
    [
        (Small, (1, 3, 8, 8), ["N", "3→8", "3×3 /2", "params"], ["×4", "loop", "+", "a line in colour", "2nd half"]),
        (Tied, (1, 8), ["N", "8→8", "loop", "a line back"], ["3×3 /2", "6 in parallel", "a diamond"]),
        (Residual, (1, 8), ["8→16", "+", "a line in colour", "a diamond"], ["×4", "A", "called 4 times · shared"]),
        (deep, (1, 8), ["×4", "a line in colour"], ["called 4 times · shared", "loop"]),
        (Gated, (2, 3, 4), ["2nd half", "params"], ["2 of 5 · shared"]),
    ],
)
def test_only_signs_that_the_picture_uses(
    make: Callable[[], nn.Module], shape: tuple[int, ...], used: list[str], unused: list[str]
) -> None:
    diagram = torchrecorder.draw(make(), shape)
    found = dict(about.signs(diagram.drawings))
    assert {*used} <= found.keys()
    assert not found.keys() & {*unused}
    assert {*found.values()} <= {*words.SIGNS.values()}
    assert "Zeichen" not in str(found)
    assert (
        "der Batch: so viele Beispiele laufen zugleich"
        in dict(about.signs(diagram.drawings, words.translation("de"))).values()
        or "N" not in found
    )


class Crossed(nn.Module):
    """Later layers that read earlier ones in the same order."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.ModuleList(nn.Linear(8 + i, 9 + i) for i in range(8))
        self.last = nn.ModuleList(nn.Linear(16 + 9 + i, 16) for i in range(8))

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for layer in self.first:
            x = layer(x)
            kept.append(x)
        for layer, other in zip(self.last, kept, strict=True):
            x = layer(torch.cat([x, other], -1))
        return x


def test_a_line_in_two_parts_is_explained_as_the_picture_has_it() -> None:
    drawings = torchrecorder.draw(Crossed(), (1, 8), fold=False).drawings
    tags = [node.words[0].text for node in drawings[0].layout.nodes if not node.key]
    found = dict(about.signs(drawings))
    assert {sign for sign, meaning in found.items() if meaning == words.SIGNS["from layer2"]} & {*tags}
    assert words.SIGNS["from layer2"] not in dict(about.signs(torchrecorder.draw(Tied(), (1, 8)).drawings)).values()


def test_the_guide_has_the_signs() -> None:
    """A page of a project shows what the guide on reading explains."""
    table = [row.split("|")[1] for row in READING.read_text(encoding="utf-8").splitlines() if row.startswith("| ")]
    signs = re.sub(r"\d+", "#", "\n".join(table))
    said = {"a line in colour": "an edge in the accent colour", "a line back": "a dashed line back"}
    said |= {"a small sign at a corner": "a small sign at a corner", "a dashed node": "", "a diamond": "", "params": ""}
    said |= {"FLOPs": "", "3×3 /2": "Conv2d 3×3"}
    for sign in words.SIGNS:
        assert re.sub(r"\d+", "#", said.get(sign, sign)) in signs, sign


def test_a_small_picture_has_no_bar() -> None:
    small, large = torchrecorder.draw(Small(), (1, 3, 8, 8)), torchrecorder.draw(deep(), (1, 8), fold=False)
    assert "torchrecorder-tools" not in CopyNumbers().contents(small, FigureOptions())
    assert len(large.drawing.layout.nodes) > 8
    assert "torchrecorder-tools" in CopyNumbers().contents(large, FigureOptions())
    closed = torchrecorder.draw(nn.Sequential(deep()), (1, 8), depth=1)
    assert len(closed.drawing.layout.nodes) < 8
    assert closed.drawing.nested
    assert "torchrecorder-tools" in CopyNumbers().contents(closed, FigureOptions())


def test_what_can_be_opened_is_closed_and_needs_no_script() -> None:
    diagram = torchrecorder.draw(Residual(), (1, 8))
    shown = CopyNumbers().contents(diagram, FigureOptions(), about=("one branch of `if x:` was taken, a <b>",))
    (details,) = re.findall(r"<details.*?</details>", shown)
    assert details.startswith(
        '<details class="torchrecorder-about"><summary>About this picture</summary><div role="list">'
    )
    assert ">one branch of <code>if x:</code> was taken, a &lt;b&gt;</div>" in details
    assert "<details" not in CopyNumbers().contents(diagram, FigureOptions(), about=("a",), can_hide=False)


def test_nothing_is_said_of_nothing() -> None:
    assert about.details([], ()) == ""


def test_a_file_has_line_and_details() -> None:
    page = torchrecorder.draw(Residual()).to_html()
    assert "Sizes for an example input: x N×8" in page
    assert "inputs guessed from its first layers: 1,8, from fc1 (Linear)</div>" in page
    assert "torchrecorder-about" in torchrecorder.draw(Residual(), (1, 8)).to_html()
