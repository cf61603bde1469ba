from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.isolation.fingerprint import Fingerprint
from tests.core.recording.test_guesses import guess
from torchrecorder.errors import InputError
from torchrecorder.graph import Graph
from torchrecorder.recording.guess.search import record_guessed
from torchrecorder.recording.inputs import Inputs, make_inputs
from torchrecorder.recording.run import Run, capture
from torchrecorder.request import InputSpec


def test_named_inputs_are_keyword_arguments() -> None:
    specs = (InputSpec((1, 3)), InputSpec((2, 4), "int64", "ids", high=7), InputSpec((), "bool", "flag"))
    inputs = make_inputs(specs, seed=0)
    (x,) = inputs.args
    assert x.shape == (1, 3)
    assert x.dtype is torch.float32
    assert list(inputs.kwargs) == ["ids", "flag"]
    assert inputs.kwargs["ids"].dtype is torch.int64
    assert inputs.kwargs["ids"].max() < 7
    assert inputs.kwargs["flag"].dtype is torch.bool
    assert inputs.guessed == ""


def test_integers_without_a_bound_are_ones() -> None:
    (x,) = make_inputs((InputSpec((2, 2), "int32"),), seed=0).args
    assert x.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "complex64", "uint8", "int8", "bool"])
def test_every_dtype_can_be_made(dtype: str) -> None:
    high = 5 if "int" in dtype else None
    (x,) = make_inputs((InputSpec((2, 2), dtype, high=high),), seed=0).args
    assert str(x.dtype) == f"torch.{dtype}"


def test_the_seed_decides_and_the_global_numbers_stay() -> None:
    before = torch.get_rng_state()
    first, again, other = (make_inputs((InputSpec((4,)),), seed=s).args[0].tolist() for s in (0, 0, 1))
    assert first == again != other
    assert torch.equal(torch.get_rng_state(), before)


def test_an_input_too_large_is_an_input_error() -> None:
    with pytest.raises(InputError, match="the input 9999999999,9999999999 cannot be made"):
        make_inputs((InputSpec((9999999999, 9999999999)),), seed=0)


class Counting(nn.Module):
    """Needs numbers, and has statistics that its forward updates."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.fc.weight.mul_(2)
        y: Tensor = self.norm(self.fc(x))
        return y if y.sum() > 0 else -y


def test_guesses_that_are_recorded_leave_the_model_as_it_was() -> None:
    model = Counting()
    before = Fingerprint(model)

    def record(chosen: Inputs, run: Run) -> Graph:
        return capture(model, chosen.args, chosen.kwargs, mode="train", run=run, guessed=chosen.guessed)

    assert record_guessed(model, record, run="auto", seed=0, mode="train").info.guessed
    assert before.changes(model) == []


class Places(nn.Module):
    """Has a place for each patch of each frame."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(3, 2, (2, 32, 32), (2, 32, 32))
        self.places = nn.Parameter(torch.ones(8 * 7 * 7))

    def forward(self, x: Tensor) -> Any:
        return self.conv(x).flatten(2) + self.places


def test_a_film_has_16_frames_of_224_by_224() -> None:
    assert guess(Places()).guessed == "1,3,16,224,224, from conv (Conv3d)"
