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


class Threshold(nn.Module):
    r"""Written as the layers of torch are.

    Shape:
        - Input: :math:`(C, H, W)` or :math:`(N, \text{num\_features}, H, W)`
        - Input2: (N, C_{in}, L_{in}, 2)
        - Output: :math:`(N, 9, 9, 9)`
    """

    def __init__(self) -> None:
        super().__init__()
        self.num_features = self.in_channels = 5
        self.tau = nn.Parameter(torch.zeros(1, 5, 1, 1))

    def forward(self, x: Tensor, w: Tensor) -> Any:
        return torch.maximum(x, self.tau), w + 1


class Typed(nn.Module):
    """The shape stands behind the type."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 9, 2)

    def forward(self, x: Tensor, w: Tensor, z: Tensor) -> Any:
        """Arguments
        ---------
        x : torch.Tensor (batch, 1, time)
            input waveform.
        w (Tensor): (batch, 3, length) of something
        z : torch.Tensor
            is (batch, 7) in another place
        """
        return self.conv(x), w + 1, z + 1


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            Prior(),
            "hidden=1,16,6; proj=1,16,6; mask=bool[1,16]; kinds=int64[1,12]<2, from the docstring of its forward",
        ),
        (Threshold(), "x=1,5,32,32; w=1,5,16,2, from the docstring of its forward"),
        (Typed(), "x=1,1,16000; w=1,3,16; z=1,1,16, from the docstring of its forward"),
        (Signal(), "sample=1,2,16; level=1,3,1, from the docstring of its forward"),
        (Vague(), "1,7, from fc (Linear)"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_a_docstring_says_shapes(model: nn.Module, said: str) -> None:
    assert guess(model).guessed == said


class Separates(nn.Module):
    """Takes rows of sound apart.

    >>> batch = 2
    >>> net = Separates(
    ...     width=5, parts=Parts("rows, or columns"),
    ... )
    >>> sound = torch.rand(batch, 100, 5)
    >>> states = (torch.randn(1, 2, 9), torch.zeros([1, 2, 9]))
    >>> kinds = torch.randint(0, 3, (batch, 100)).long()
    >>> sound.shape
    torch.Size([2, 100, 5])
    >>> out, _ = net(sound, states, kinds=kinds, gain=None)
    """

    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.fc, self.weight = nn.Linear(width, 4), nn.Parameter(torch.ones(4, 9))

    def forward(self, sound: Tensor, states: Any, gain: Any = 2, kinds: Tensor | None = None) -> Any:
        h, c = states
        assert gain is None
        assert kinds is not None
        assert sound.dim() == 3
        return self.fc(sound) * kinds[..., None] + ((h + c) @ self.weight.t()).mean()


class Shows(nn.Module):
    """Is called with what nothing can be known of.

    >>> net = Shows()
    >>> net(load("picture.png"))
    >>> net(torch.rand(sizes))
    >>> net(torch.rand(-1, 3))
    >>> net(*pair)
    >>> net(torch.rand(1, 3), 5, 6, 7)
    >>> net(
    """

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(7, 4)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


class Attends(nn.Module):
    """Its example makes a mask with a function, and more frames than a guess may have.

    >>> frames = 3
    >>> lengths = torch.tensor([5, 4])
    >>> attends = Attends()
    >>> attends(torch.rand(2, 2 * frames - 1, 4), mask_of(lengths), torch.ones(2), lengths)
    """

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor, mask: Tensor, share: Tensor, counts: Tensor) -> Any:
        assert share.tolist() == [1, 1]
        assert counts.tolist() == [5, 4]
        return self.fc(x) * mask[..., None]


class Large(Shows):
    """Its example has many examples.

    >>> net = Large()
    >>> net(torch.rand(10, 400, 300, 7), torch.randint(9, (10, 4)))
    >>> net(torch.rand(10000000, 7), torch.rand(1, 4))
    """

    def forward(self, x: Tensor, kinds: Tensor) -> Any:  # type: ignore[override]
        return self.fc(x) + kinds


class Wider(Separates):
    __doc__ = Separates.__doc__


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            Separates(),
            "sound=2,100,5; kinds=int64[2,100]<3; states=[[1, 2, 9], [1, 2, 9]]; gain=None, "
            "from an example in the docstring of Separates",
        ),
        (
            Wider(width=8),
            "sound=2,100,8; kinds=int64[2,100]<3; states=[[1, 2, 9], [1, 2, 9]]; gain=None, "
            "from an example in the docstring of Wider, and from what its forward raised",
        ),
        (Shows(), "1,7, from fc (Linear)"),
        (
            Attends(),
            "x=2,5,4; mask=bool[2,5]; share=[1.0, 1.0]; counts=[5, 4], from an example in the docstring of Attends",
        ),
        (Large(), "x=1,400,300,7; kinds=int64[1,4]<9, from an example in the docstring of Large"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_examples_in_a_docstring_are_read(model: nn.Module, said: str) -> None:
    assert guess(model).guessed == said
