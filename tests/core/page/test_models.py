"""The line below a table of models, which says of which numbers no author gave the inputs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import torchrecorder
from torchrecorder.page.models import ModelRow, line_of_inputs, models_html
from torchrecorder.page.outcome import Outcome
from torchrecorder.page.words import translation
from torchrecorder.request import Body, DiagramRequest, RecordingRequest
from torchrecorder.request.models import USUAL_COLUMNS, ListedModel, ModelList


class Declared(nn.Linear):
    example_input_array = torch.zeros(1, 3)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)


def row(name: str, model: nn.Module, shape: tuple[int, ...] | None = None) -> ModelRow:
    diagram = torchrecorder.draw(model) if shape is None else torchrecorder.draw(model, shape)
    request = DiagramRequest(RecordingRequest(f"pkg.{name}"))
    return ModelRow(ListedModel(Body(request.recording.target), name), Outcome(request, diagram))


def found(name: str) -> ModelRow:
    return row(name, nn.Sequential(nn.Linear(3, 2), nn.ReLU()))


GIVEN = ("Given", nn.Linear(3, 2), (1, 3))


def test_all_of_some_of_or_none_of_the_models() -> None:
    assert line_of_inputs([row(*GIVEN)], USUAL_COLUMNS) == ""
    assert line_of_inputs([found("A"), found("B")], USUAL_COLUMNS) == "FLOPs, Input, Output: for an example input."
    some = line_of_inputs([found("A"), row(*GIVEN), found("B")], USUAL_COLUMNS)
    assert some == "FLOPs, Input, Output of A, B: for an example input."


def test_of_many_their_number_is_said() -> None:
    rows = [row(*GIVEN), *(found(f"Net{i}") for i in range(6))]
    assert line_of_inputs(rows, ("name", "memory")) == "Activations of 6/7: for an example input."


def test_what_the_model_declares_and_columns_that_need_no_input_say_nothing() -> None:
    assert line_of_inputs([row("Declared", Declared(3, 2))], USUAL_COLUMNS) == ""
    assert line_of_inputs([found("A")], ("name", "parameters", "depth")) == ""


@pytest.mark.parametrize("language", ["de", "ja"])
def test_in_other_languages(language: str) -> None:
    translate = translation(language)
    said = line_of_inputs([found("A")], USUAL_COLUMNS, translate)
    assert said.startswith(f"FLOPs, {translate('Input')}, {translate('Output')}")
    assert "example" not in said


@pytest.mark.parametrize("is_grid", [False, True])
def test_it_stands_below_the_table_of_a_page(is_grid: bool) -> None:
    shown = ModelList((found("A").listed,), ("name", "flops"), is_grid)
    page = models_html(shown, [found("A")], "")
    assert page.endswith('<p class="torchrecorder-remark">FLOPs: for an example input.</p>')


class Caching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return (self.head(x), *(x + i for i in range(4)))


def test_a_cell_shows_the_first_of_many_outputs() -> None:
    assert row("A", Caching(), (1, 3)).cell("output") == "N×2, N×3, N×3 … +2"
    assert row(*GIVEN).cell("output") == "N×2"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("hf:owner/net-1.4b@v1", "owner/net-1.4b@v1"),
        ("hf:./checkpoints/net", "checkpoints/net"),
        ("timm:resnet50.a1_in1k(num_classes=3)", "resnet50.a1_in1k"),
        ("torchvision:resnet50", "resnet50"),
        ("pkg.models:net(3)", "net"),
    ],
)
def test_a_model_of_the_hub_has_its_name_there(target: str, name: str) -> None:
    outcome = row(*GIVEN).outcome
    request = DiagramRequest(RecordingRequest(target))
    assert ModelRow(ListedModel(Body(target)), Outcome(request, outcome.diagram)).name == name
