"""Side by side with scio itself, where it is installed (Python 3.12 or newer): `nox -t scio`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.parity import originals
from torchrecorder.scio import recorder
from torchrecorder.scio.recorder import Recorder

pytestmark = pytest.mark.parity

original = originals.original("scio", "scio.recorder")


class Net(nn.Module):
    """Containers that are not called, a layer that is called twice, one that is never called."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU())
        self.blocks = nn.ModuleList([nn.Conv2d(2, 2, 1), nn.Sequential(nn.Conv2d(2, 2, 1), nn.ReLU())])
        self.act = nn.ReLU()
        self.unused = nn.Linear(1, 1)
        self.head = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = self.act(block(x))
        out: Tensor = self.head(x.mean((2, 3)))
        return out


def both() -> tuple[Recorder, Any]:
    net = Net().eval()
    return Recorder(net, input_size=(2, 1, 4, 4)), original.Recorder(net, input_size=(2, 1, 4, 4))


def test_table_and_labels() -> None:
    mine, theirs = both()
    assert repr(mine) == repr(theirs)
    assert mine.record_seqs == theirs.record_seqs
    assert list(mine.state_dict()) == list(theirs.state_dict())


@pytest.mark.parametrize("labels", [[], [(0, 1)], [(1, 2), (2, 1), (1, 2)], [(1, 3), (1, 5), (1, 6), (3, 1)]])
def test_activations(labels: list[tuple[int, int]]) -> None:
    x = torch.randn(2, 1, 4, 4)
    found: list[Any] = []
    for rnet in both():
        try:
            rnet.record(*labels)
            rnet(x, activation_postproc=lambda tensor: tensor * 2)
        except (RuntimeError, ValueError) as error:
            found.append((type(error), str(error)))
        else:
            values = {label: value.sum().item() for label, value in rnet.activations.items()}
            found.append((rnet.recording, list(values.items()), list(rnet.recorded_params), repr(rnet)))
    assert found[0] == found[1]


@pytest.mark.parametrize("labels", [[(9, 9)], [1, 2], [1, 2, 3]])
def test_labels_that_are_not_there(labels: list[Any]) -> None:
    texts = []
    for rnet in both():
        with pytest.raises(ValueError, match="Following layers not found") as caught:
            rnet.record(*labels)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("options", [{}, {"input_size": (2, 1, 4, 4), "depth": 1}])
def test_options_and_errors(options: dict[str, Any]) -> None:
    found = []
    for cls in (Recorder, original.Recorder):
        try:
            found.append(repr(cls(Net(), **options)))
        except ValueError as error:
            found.append(str(error))
    assert found[0] == found[1]


def test_too_few_postprocessors() -> None:
    texts = []
    for rnet in both():
        rnet.record((0, 1), (1, 1))
        with pytest.raises(ValueError, match="not enough") as caught:
            rnet(torch.randn(2, 1, 4, 4), activation_postproc=[])
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_public_names() -> None:
    names = {name for name in vars(original.Recorder) if not name.startswith("_")}
    assert names <= set(dir(Recorder))
    assert [name for name in original.__all__ if not hasattr(recorder, name)] == []
