"""Inputs from the shapes that the docstring of a forward says."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.test_guesses import guess


class Prior(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding_dim = 6
        self.fc = nn.Linear(12, 4)

    def forward(self, hidden: Tensor, proj: Tensor, mask: torch.BoolTensor, kinds: torch.LongTensor) -> Any:
        """Project.

        Args:
            hidden (`torch.Tensor` of shape `(batch_size, sequence len, embedding_dim)`, *optional*):
                What is projected (or not, as here).
            proj (`torch.Tensor` of shape `(batch_size, sequence_length, embedding_dim)`): The other half.
            mask (`torch.BoolTensor` of shape `(batch_size, sequence_length)`): Of shape `(9, 9)` it is not.
            kinds (`torch.LongTensor` of shape `(batch_size, 2 * embedding_dim)`): Integers.
        """
        assert mask.dtype is torch.bool
        assert kinds.shape[1] == 12
        return self.fc(torch.cat([hidden, proj], -1)) * mask[..., None] + kinds.sum()


class Signal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.in_channels = 2
        self.conv = nn.Conv1d(2, 3, 3)

    def forward(self, sample: Tensor, level: Tensor) -> Any:
        r"""Convolve.

        Args:
            sample: with the following shape :math:`(B, num_channels, time`.
            level: the level with shape :math:`(B, 3, 1)`.
        """
        assert level.shape[1] == 3
        return self.conv(sample) * level


class Vague(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(7, 4)

    def forward(self, x: Tensor) -> Any:
        """Args:
        x (Tensor): of shape (whatever, it takes).
        """
        return self.fc(x)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            Prior(),
            "hidden=1,16,6; proj=1,16,6; mask=bool[1,16]; kinds=int64[1,12]<2, from the docstring of its forward",
        ),
        (Signal(), "sample=1,2,16; level=1,3,1, from the docstring of its forward"),
        (Vague(), "1,7, from fc (Linear)"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_a_docstring_says_shapes(model: nn.Module, said: str) -> None:
    assert guess(model).guessed == said
