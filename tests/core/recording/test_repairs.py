"""Guesses that a forward refused: what is tried next, and what is said when nothing helps."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.core.recording.libraries.test_diffusers import FromDiffusers
from tests.core.recording.test_guesses import guess
from torchrecorder.errors import InputError


class Counts(nn.Module):
    """Counts its forwards, in a place that no recording puts back."""

    ran: list[Any]

    def __init__(self) -> None:
        super().__init__()
        type(self).ran = []


class Weighs(Counts):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 7))

    def forward(self, x: Tensor) -> Any:
        self.ran.append(x.shape)
        return functional.linear(x, self.weight)


class LooksUp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.ones(5, 3))

    def forward(self, entries: Tensor) -> Any:
        return functional.embedding(entries, self.table)


class Film(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 2, 3)

    def forward(self, film: Tensor) -> Any:
        batch, channels, frames, height, width = film.shape
        return self.conv(film.transpose(1, 2).reshape(batch * frames, channels, height, width))


class Attends(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv = nn.Linear(6, 4), nn.Linear(9, 4)

    def forward(self, x: Tensor, scale: float = 1.0, context: Tensor | None = None) -> Any:
        assert context is not None, "give a context"
        return self.q(x) @ self.kv(context).transpose(-1, -2) * scale


class Edges(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.edge_fc = nn.Linear(12, 3), nn.Linear(5, 3)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Any:
        pairs = torch.cat([x[edge_index[0]], x[edge_index[1]]], -1)
        return self.fc(pairs) + self.edge_fc(edge_attr)


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(1, 2, 3, padding=1)

    def forward(self, volume: Tensor) -> Any:
        y = self.conv(volume)
        if volume.shape[-1] % 96:
            raise ValueError("the sides must be divisible by 96")
        return y


class Kinds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.edge_types = [("user", "buys", "item"), ("item", "bought by", "user")]
        self.fc = nn.Linear(6, 2)

    def forward(self, x_dict: dict[str, Tensor], edge_index_dict: dict[Any, Tensor]) -> Any:
        return {
            target: self.fc(x_dict[source])[edge_index_dict[source, how, target][0]]
            for source, how, target in self.edge_types
        }


class Tiles(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, 8, 4, 4)

    def forward(self, hidden_states: Tensor, grid_thw: Tensor) -> Any:
        assert len(hidden_states) == int(grid_thw.prod())
        return self.proj(hidden_states.view(-1, 3, 4, 4)).flatten(1)


class Remembers(nn.Module):
    """Cannot run with what is switched on by default, as models of transformers whose layers need no cache."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x: Tensor, use_cache: bool | None = None, include_fit: bool = False) -> Any:
        if use_cache is None:
            raise AttributeError("the config has no attribute num_layers, which a cache of keys needs")
        if not include_fit:
            raise RuntimeError("call fit, or set include_fit to True")
        if len(x) < 2:
            raise ValueError("a covariance requires at least two samples")
        return self.fc(x)


class RemembersDeep(Remembers):
    """The error comes far from the line that makes the cache."""

    def forward(self, x: Tensor, use_cache: bool | None = None, is_loud: bool | None = None) -> Any:
        return self._reads_the_config(4) if use_cache is None else self.fc(x)

    def _reads_the_config(self, calls: int) -> Any:
        if calls:
            return self._reads_the_config(calls - 1)  # a few lines of a traceback, none of which says why
        raise AttributeError("the config has no attribute num_layers, and nothing more is said")


class Labels(nn.Module):
    """Wants a label for each frame, of which only the convolution knows how many they are."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 10, 5)

    def forward(self, waveforms: Tensor, labels: Tensor) -> Any:
        if waveforms.dim() != 2:
            raise ValueError(f"Expected the input Tensor to be 2D (batch, time). Found: {list(waveforms.shape)}")
        frames = self.conv(waveforms[:, None]).transpose(1, 2)
        if frames.shape[1] != labels.shape[1]:
            raise ValueError("The length of label must match that of the output")
        return frames + functional.one_hot(labels, 4)


class Joins(nn.Module):
    """What its layer takes is the input beside something else."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(12, 2)

    def forward(self, x: Tensor) -> Any:
        return self.fc(torch.cat([x, x.new_ones(len(x), 5)], -1))


class Flat(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 4)

    def forward(self, x: Tensor) -> Any:
        if x.dim() != 2:
            raise ValueError(f"a two-dimensional input is wanted (got '{x.dim()}')")
        return self.lstm(x)[0]


class Checks(nn.Module):
    """Says which axis is wrong before it computes anything, as the checks of kornia do."""

    def forward(self, image: Tensor, lafs: Tensor) -> Any:
        for tensor, sizes in ((image, {1: 1}), (lafs, {2: 2, 3: 3})):
            if tensor.dim() != 4:
                raise ValueError(f"Shape dimension mismatch: expected 4 dimensions, got {tensor.dim()}.")
            for axis, size in sizes.items():
                if tensor.shape[axis] != size:
                    raise ValueError(f"Shape mismatch at dimension {axis}: expected {size}, got {tensor.shape[axis]}.")
        return lafs.sum(-1), image.sum(-1)


class Several(nn.Module):
    def forward(self, xs: list[Tensor], kinds: list[int], factor: int) -> Any:
        if factor not in (2, 4):
            raise ValueError(f"no scale for factor {factor}; there are [2, 4]")
        return sum(x * kind for x, kind in zip(xs, kinds, strict=True)) * factor


class FlatPatches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3)
        self.weight = nn.Parameter(torch.ones(2, 700))

    def forward(self, pixel_values: Tensor) -> Any:
        tokens = functional.linear(pixel_values, self.weight)
        if tokens.dim() != 3:
            raise ValueError("there are places for tokens only")
        return tokens


class CountsMarks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 2)

    def forward(self, x: Tensor, marks_mask: Tensor) -> Any:
        return self.fc(x), torch.bincount(marks_mask.view(-1))


class Albums(nn.Module):
    """Takes several pictures for each example, and finds out late that there was one."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3)

    def forward(self, pictures: Tensor) -> Any:
        batch, count, *rest = pictures.shape
        _, channels, _, _ = pictures.reshape(batch * count, *rest).shape
        assert channels == 3
        return self.conv(pictures.flatten(0, 1))


class Halved(FromDiffusers):
    """Takes a film of 8 frames and a first one."""

    def forward(self, sample: Tensor) -> Any:  # type: ignore[override]
        if sample.dim() != 5 or sample.shape[1] != 4:
            raise ValueError("a film is wanted")
        return torch.unflatten(sample[:, :, 1:], 2, (-1, 8)).mean() + self.text.weight


Halved.__module__ = "diffusers.models.some"


class Compares(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3)

    def forward(self, pixel_values: Tensor) -> Any:
        if pixel_values.dim() != 5 or pixel_values.shape[1] != 2:
            raise ValueError("Input must be a 5D tensor of shape (batch_size, 2, channels, height, width)")
        return self.conv(pixel_values.flatten(0, 1))


class Looks(nn.Module):
    """Says by an annotation only that it wants numbers beside its words."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.fc = nn.Embedding(50, 4), nn.Linear(9, 4)

    def forward(self, input_ids: Tensor, visual_feats: torch.FloatTensor | None = None) -> Any:
        if visual_feats is None:
            raise ValueError("`visual_feats` cannot be `None`")
        return self.words(input_ids).sum(1) + self.fc(visual_feats).sum(1)


class Places(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 4)

    def forward(self, input_ids: Tensor, position_ids: Tensor) -> Any:
        if position_ids.shape[1:] != (3,):
            raise ValueError(f"`position_ids` must be a `(seq_len, 3)` tensor, got {list(position_ids.shape)}.")
        return self.words(input_ids), position_ids * 2


class Packets(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 3)

    def forward(self, input_values: Tensor) -> Any:
        if input_values.dim() != 2 or input_values.shape[1] % 1920 or input_values.shape[1] < 16000:
            raise ValueError(f"the length {input_values.shape[1]} is not a multiple of 1920")
        return self.conv(input_values[:, None])


class Squares(Tiles):
    def forward(self, hidden_states: Tensor, grid_thw: Tensor) -> Any:
        assert len(hidden_states) == int(grid_thw.prod())
        return self.proj(hidden_states).flatten(1)


class Splits(nn.Module):
    """Each half goes into its own layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Any:
        left, right = x.chunk(2, -1)
        return self.first(left) + self.second(right)


class Overlays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3)

    def forward(self, left: Tensor, right: Tensor) -> Any:
        if left.shape != right.shape:
            raise ValueError("both have the same sides")
        return self.conv(torch.cat([left, right], 1))


class Codebooks(nn.Module):
    """Each token is one code of each of seven books."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Embedding(50, 4)

    def forward(self, input_ids: Tensor) -> Any:
        return self.codes(input_ids * torch.ones(7, dtype=torch.long)).sum(2)


class SmallTable(nn.Module):
    """Has fewer rows than the model of its example.

    >>> model = SmallTable(40)
    >>> model(torch.tensor([[3, 31]]), torch.rand(1, 2, 4))
    """

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 4)

    def forward(self, tokens: Tensor, x: Tensor) -> Any:
        return self.words(tokens) + x


class Pools(nn.Module):
    """Takes rows that are as long as the side of a picture of eight patches."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(64, 4)

    def forward(self, x: Tensor) -> Any:
        batch, groups, frames, _ = x.shape
        return self.fc(x).reshape(batch * groups, frames, 4).sum(1)


class Transposes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Any:
        return self.norm(x.transpose(1, 2))


class Asks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x, scale=None):  # type: ignore[no-untyped-def]
        return self.fc(x) * scale.shape[0]


class Plays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.see, self.act, self.when = nn.Linear(6, 4), nn.Linear(3, 4), nn.Embedding(50, 4)

    def forward(self, states: Tensor, actions: Tensor | None = None, timesteps: Tensor | None = None) -> Any:
        """
        Args:
            states: What is seen.
            actions (`torch.Tensor` of shape `(batch_size, num_moves, 3)`): What is done.
            timesteps (`torch.LongTensor` of shape `(batch_size, num_moves)`): When.
        """
        seen = self.see(states)
        return seen + self.act(actions) + self.when(timesteps)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Plays(), r"states=1,(16,)?6; actions=1,16,3; timesteps=int64\[1,16\], from"),
        (Splits(), r"x=1,12, from first"),
        (Transposes(), r"x=1,4,16, from norm"),
        (Overlays(), r"left=1,1,\d+,\d+; right=1,1,\d+,\d+, from conv"),
        (SmallTable(), r"x=1,2,4; tokens=\[1, 2\], from an example in the docstring of SmallTable, and from what"),
        (Pools(), r"x=1,\d+,\d+,64, from fc \(Linear\), and from what"),
        (Codebooks(), r"input_ids=int64\[1,16,7\]<50, from codes"),
        (Asks(), r"x=1,6; scale=1,6, from fc"),
        (Places(), r"input_ids=int64\[1,16\]<50; position_ids=int64\[\d+,3\]<\d+, from"),
        (Packets(), r"input_values=1,17280, from conv"),
        (Looks(), r"input_ids=int64\[1,16\]<50; visual_feats=1,\d+,9, from"),
        (Compares(), r"pixel_values=1,2,3,\d+,\d+, from conv"),
        (Squares(), r"hidden_states=16,3,4,4; grid_thw=\[1, 3\], from"),
        (Albums(), r"pictures=1,5,3,\d+,\d+, from conv"),
        (Halved(in_channels=4, sample_size=8), r"sample=1,4,9,\d+,\d+, from"),
        (FlatPatches(), r"pixel_values=1,16,700, from"),
        (CountsMarks(), r"x=1,(16,)?6; marks_mask=int64\[1,16\]<2, from"),
        (Checks(), r"image=1,1,\d+,\d+; lafs=1,\d+,2,3, from nothing but"),
        (Several(), r"xs=\[\[1, 3, 64, 64\], \[1, 3, 64, 64\]\]; kinds=\[0, 1\]; factor=2, from"),
        (
            Remembers(),
            r"x=2,6; use_cache=False; include_fit=True, from fc \(Linear\), and from what its forward raised$",
        ),
        (RemembersDeep(), r"x=1,6; use_cache=False, from fc \(Linear\), and from what its forward raised$"),
        (Labels(), r"waveforms=1,16000; labels=int64\[1,3199\]<1, from"),
        (Joins(), r"x=1,7, from"),
        (Flat(), r"x=16,6, from"),
        (Weighs(), r"x=1,(\d+,)*7, from"),
        (LooksUp(), r"entries=int64\[1,[\d,]+\]<2, from"),
        (Film(), r"film=1,4,\d+,\d+,\d+, from"),
        (Attends(), r"x=1,(16,)?6; context=1,16,9, from"),
        (Edges(), r"x=4,6; edge_index=int64\[2,8\]<4; edge_attr=8,5, a small graph"),
        (Halves(), r"1,1,96,96,96, from conv \(Conv3d\)$"),
        (Kinds(), r"x_dict={user: \[4, 6\], item: \[4, 6\]}; edge_index_dict={\('user', 'buys', 'item'\): \[2, 8\]"),
        (Tiles(), r"hidden_states=16,48; grid_thw=\[1, 3\], from"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_what_a_forward_says_repairs_a_guess(model: nn.Module, said: str) -> None:
    assert re.match(said, guess(model).guessed)


class Fails(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.fc = nn.Embedding(50, 4), nn.Linear(4, 2)


class FailsOnWords(Fails):
    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        raise ValueError("never")


class FailsOnGraphs(Fails):
    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        raise ValueError("never")


class FailsOnKinds(Kinds):
    def forward(self, x_dict: Any, edge_index_dict: Any) -> Any:
        raise ValueError("never")


class FailsOnBoth(Fails):
    def forward(self, x: Tensor, edge_index_dict: Any) -> Any:
        raise ValueError("never")


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (
            FailsOnWords(),
            "say it, with your own sizes: `shape: input_ids=int64[1,16]<50; attention_mask=bool[1,16]`,"
            " or name a function that makes them with `inputs`",
        ),
        (
            FailsOnGraphs(),
            "say it, with your own sizes: `shape: x=4,4; edge_index=int64[2,8]<4`,"
            " or name a function that makes them with `inputs`",
        ),
        (
            FailsOnKinds(),
            "name a function that makes them with `inputs`: it gives {'x_dict': …, 'edge_index_dict': …}",
        ),
        (
            FailsOnBoth(),
            "say it, with your own sizes: `shape: x=4,4`,"
            " or name a function that makes them with `inputs`, which gives edge_index_dict too",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_the_advice_speaks_of_what_the_forward_takes(model: nn.Module, advice: str) -> None:
    with pytest.raises(InputError) as caught:
        guess(model)
    assert caught.value.advice == advice
    assert caught.value.tried
