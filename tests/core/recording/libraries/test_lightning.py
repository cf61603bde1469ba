"""The example that a LightningModule keeps, `self.example_input_array = torch.ones(5, 3)`."""

from __future__ import annotations

import torch
from torch import nn

from tests.core.recording.test_guesses import guess


def test_a_lightning_module_keeps_an_example() -> None:
    model = nn.Sequential(nn.Linear(3, 3))
    model.example_input_array = torch.ones(5, 3)
    found = guess(model)
    assert found.args[0].shape == (5, 3)
    assert found.guessed == "the example_input_array of Sequential"


def test_a_wrong_example_is_not_believed() -> None:
    model = nn.Sequential(nn.Linear(3, 3))
    model.example_input_array = torch.ones(5, 4)
    assert guess(model).guessed == "1,3, from 0 (Linear)"
