"""What is drawn once for several is named by what holds them, and differences are said as a reader would say them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from tests.core.labels.test_one_layer import said
from tests.core.recording.nets import record
from torchrecorder.graph import Graph, Module
from torchrecorder.labels.labels import Labels
from torchrecorder.labels.names import run_name, times
from torchrecorder.proof import ProvedViews
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Views, make_view
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.templates.kinds import Kinds

IMAGE = torch.zeros(1, 8, 16, 16)


def conv() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())


class Staged(nn.Module):
    """A container that the code calls, with a pool in it or behind it."""

    def __init__(self, *, within: bool) -> None:
        super().__init__()
        pool = nn.MaxPool2d(2)
        self.stage = nn.Sequential(conv(), conv(), nn.Dropout(), *([pool] if within else []))
        self.behind = nn.Identity() if within else pool

    def forward(self, x: torch.Tensor) -> Any:
        return self.behind(self.stage(x)).cumsum(-1)


def names(graph: Graph) -> list[str]:
    return [words.partition(" | ")[0] for words, _ in said(graph)]


def test_layers_that_are_all_of_a_container_have_its_name() -> None:
    assert names(record(Staged(within=False).eval(), IMAGE)) == ["stage", "behind"]


def test_some_layers_of_a_container_have_their_numbers() -> None:
    assert names(record(Staged(within=True).eval(), IMAGE)) == ["stage.0–1.0", "stage.3"]


@pytest.mark.parametrize(
    ("first", "last", "name"),
    [
        ("mid.block_1", "mid.block_2", "mid.block_1–2"),
        ("unit9", "unit11", "unit9–11"),
        ("conv1.conv", "conv2.conv", "conv1–2.conv"),
        ("inception4a", "inception4e", "inception4a–e"),
        ("blocks.1", "blocks.12", "blocks.1–12"),
        ("blocks.10", "blocks.14", "blocks.10–14"),
        ("a", "b", "a–b"),
        ("query", "key", "query–key"),
        ("up.0.conv", "up.1", "up.0.conv–up.1"),
        ("mid.block_2", "mid.block_2", "mid.block_2"),
    ],
)
def test_what_changes_in_a_name_is_written_once(first: str, last: str, name: str) -> None:
    paths = (first, last, "mid.other", "blocks.0", "up.2")
    modules = {path: Module(path, "torch.nn.modules.conv.Conv2d", native=True) for path in paths}
    graph = replace(record(nn.ReLU(), IMAGE), modules=modules)
    assert run_name(graph, [first, last], "") == name


class Shrinking(nn.Module):
    def __init__(self, *, shrinks: bool) -> None:
        super().__init__()
        self.shrinks, self.conv = shrinks, nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.tanh(self.conv(x)) + (shortcut(x) if self.shrinks else x)


def shortcut(x: torch.Tensor) -> torch.Tensor:
    return nn.functional.avg_pool2d(torch.cat((x, torch.zeros_like(x)), 1), 3, 1, 1)[:, :8].cumsum(1)


class Unit(nn.Linear):
    def forward(self, x: torch.Tensor) -> Any:
        return x + torch.tanh(super().forward(x))


class Many(nn.Module):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.units = nn.Sequential(*(Unit(16, 16) for _ in range(number)))

    def forward(self, x: torch.Tensor) -> Any:
        return x + torch.relu(self.units(x))


class Stages(nn.Module):
    def __init__(self, *stages: Sequence[nn.Module]) -> None:
        super().__init__()
        for i, blocks in enumerate(stages):
            self.add_module(f"stage{i}", nn.Sequential(*blocks))
        self.n = len(stages)

    def forward(self, x: torch.Tensor) -> Any:
        for i in range(self.n):
            x = self.get_submodule(f"stage{i}")(x).cumsum(-1)
        return x


def test_a_function_that_does_not_run_has_its_name() -> None:
    stages = [[Shrinking(shrinks=i == 0 and stage > 0) for i in range(3)] for stage in range(3)]
    words = [words for words, _ in said(record(Stages(*stages), IMAGE))]
    assert words == [
        "stage0 | A without shortcut() ×3 · 584 params each",
        *[f"stage{i} | A ×3 · first with shortcut() · 584 params each" for i in (1, 2)],
    ]


@pytest.mark.parametrize(("number", "words"), [(1, "with 1 unit"), (5, "with 5 units")])
def test_how_many_of_the_layers_it_has_is_said(number: int, words: str) -> None:
    graph = record(Stages([Many(number)], [Many(3)]), torch.zeros(1, 8, 16))
    first, second = (row.id for row in graph.calls if row.module in ("stage0.0", "stage1.0"))
    assert Kinds(Visibility(graph, DrawingOptions())).in_words([first], second) == [words]


def test_there_are_two_signs_for_several_times() -> None:
    assert times(3, "series") == "×3"
    assert times(3, "shared") == "called 3 times · shared"
    assert times(3, "loop") == "called 3 times · shared · loop"
    assert times(3, "parallel") == "3 in parallel"
    assert times(1, "loop") == ""


class Lists(nn.Module):
    """Entries of lists of lists, and outputs in a tuple of tuples."""

    def __init__(self) -> None:
        super().__init__()
        pairs = (nn.ModuleList((nn.Linear(16, 16), nn.Linear(16, 16))) for _ in range(2))
        self.downs: Any = nn.ModuleList(pairs)

    def forward(self, x: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
        kept = []
        for first, second in self.downs:
            x = torch.tanh(first(x)) + torch.relu(second(x)).cumsum(-1)
            kept.append(x)
        return tuple(kept), x.cumsum(0)


def test_an_entry_has_the_name_of_its_list_once_and_a_number_is_no_name_of_an_output() -> None:
    view = make_view(record(Lists(), torch.zeros(1, 8, 16)), DrawingOptions(fold=False))
    labels = Labels(view)
    assert [labels.box(box) for box in view.boxes][1:] == ["downs.0 · 544 params", "downs.1 · 544 params"]
    outputs = {labels.node(node).name for node in view.nodes if node.kind == "output"}
    assert outputs == {"output 0.0", "output 0.1", "output 1"}


class Sides(nn.Module):
    """Equal heads on maps of several sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.sides, self.pool = nn.ModuleList(nn.Conv2d(8, 1, 3, padding=1) for _ in range(3)), nn.MaxPool2d(2)

    def forward(self, x: torch.Tensor) -> Any:
        maps = [x, self.pool(x), self.pool(self.pool(x))]
        return [side(one) for side, one in zip(self.sides, maps, strict=True)]


def test_sizes_side_by_side_are_of_what_each_gives() -> None:
    view = make_view(record(Sides(), IMAGE), DrawingOptions())
    lines = [Labels(view).node(node).line for node in view.nodes]
    assert any(line.endswith("3 in parallel · 16×16 … 4×4") for line in lines), lines


def test_a_kernel_of_one_place_has_no_dilation() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Conv2d(8, 8, 1, dilation=rate) for rate in (2, 4))

        def forward(self, x: torch.Tensor) -> Any:
            for layer in self.layers:
                x = layer(x).cumsum(-1)
            return x

    view = ProvedViews(Views(record(Two(), IMAGE), DrawingOptions())).view()
    assert not view.weakened
    assert not [words for node in view.nodes for words in Labels(view).node(node)[:2] if "dilation" in words]


@pytest.mark.parametrize(("extra", "name"), [((), "stem"), ((nn.Identity(),), "stem")])
def test_a_layer_with_all_that_is_beside_it_has_the_name_of_their_home(extra: tuple[nn.Module, ...], name: str) -> None:
    class Stemmed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), *extra)
            self.last = nn.Conv2d(8, 4, 1)

        def forward(self, x: torch.Tensor) -> Any:
            return self.last(self.stem(x).cumsum(-1))

    words = [words for words, _ in said(record(Stemmed().eval(), IMAGE))]
    assert words[0].partition(" | ")[0] == name
