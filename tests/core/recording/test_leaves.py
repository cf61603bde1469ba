"""Guesses that hold several tensors, or something else than tensors, and what of them is repaired."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.test_guesses import guess
from tests.core.recording.test_repairs import Counts


class Pictures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(7, 2)
        self.weight = nn.Parameter(torch.ones(2, 5, 3, 3))

    def forward(self, x: Tensor, images: list[Tensor]) -> Any:
        if isinstance(images, Tensor):
            raise TypeError("several images are taken")
        return self.fc(x).mean() + sum(nn.functional.conv2d(image, self.weight).mean() for image in images)


class Scales(nn.Module):
    """Takes pictures of several scales, each with channels of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(7, 2)
        self.ends = nn.ModuleList([nn.Conv2d(width, 2, 3) for width in (3, 5)])

    def forward(self, x: Tensor, images: list[Tensor]) -> Any:
        if isinstance(images, Tensor):
            raise TypeError("several images are taken")
        return self.fc(x).mean() + sum(end(image).mean() for end, image in zip(self.ends, images, strict=True))


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 2)

    def forward(self, layers: list) -> Any:  # type: ignore[type-arg]
        return self.fc(layers[2])


class Conditions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 2)
        self.weight = nn.Parameter(torch.ones(2, 7))

    def forward(self, x: Tensor, extra: dict[str, Tensor] | None = None) -> Any:
        found = extra or {}
        return self.fc(x) * (found["gate"] @ self.weight.t()) + found["shift"]


class States(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.weight = nn.Linear(6, 2), nn.Parameter(torch.ones(2, 9))

    def forward(self, state: Any) -> Any:
        h, c = state
        return self.fc(h) + c @ self.weight.t()


class Levels(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 8, 3)

    def forward(self, hs: Any) -> Any:
        if hs[1].dim() < 3:
            raise IndexError("index 1 is out of bounds for dimension 0 with size 1")
        return self.first(hs[0]).mean() + hs[1].mean()


class Shapes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 2)

    def forward(self, x: Tensor, shape_list: list[list[tuple[int, int, int]]]) -> Any:
        frames, height, width = shape_list[0][0]
        return self.fc(x.view(frames, height, width, 6))


class Options(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 2)

    def forward(self, x: Tensor, mode: str | None = None, scale_kwargs: dict[str, Any] | None = None) -> Any:
        if mode not in ("keep", "drop"):
            raise ValueError(f"`mode` must be either 'keep' or 'drop', got {mode}")
        return torch.mul(self.fc(x), 2, **scale_kwargs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Pictures(), "x=1,7; images=[[1, 5, 64, 64], [1, 5, 64, 64]], from"),
        (Scales(), "x=1,7; images=[[1, 3, 64, 64], [1, 5, 64, 64]], from"),
        (Layers(), "layers=[[1, 6], [1, 6], [1, 6], [1, 6]], from"),
        (Conditions(), "x=1,6; extra={gate: [1, 7], shift: [1, 2]}, from"),
        (States(), "state=[[1, 6], [1, 9]], from"),
        (Levels(), "hs=[[1, 4, 224, 224], [1, 4, 224, 224], [1, 4, 224, 224], [1, 4, 224, 224]], from"),
        (Shapes(), "x=1,16,6; shape_list=[[(1, 4, 4)]], from"),
        (Options(), "x=1,6; mode=keep; scale_kwargs={}, from"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_tensors_inside_of_arguments(model: nn.Module, said: str) -> None:
    assert guess(model).guessed.startswith(said)


class Orders(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 2)

    def forward(self, text_embeds: Tensor, text_mask: Tensor, order_mask: torch.LongTensor) -> Any:
        assert text_mask.shape == text_embeds.shape[:2]
        return self.fc(text_embeds) * text_mask[..., None], torch.bincount(order_mask)


class Places(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: Tensor, spots: Tensor) -> Any:
        return self.conv(x).mean() + torch.meshgrid(spots, spots, indexing="ij")[0]


class Hides(nn.Module):
    """Puts a mask beside a film, as models that fill in parts of one."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(4, 4, 3, padding=1)
        self.weight = nn.Parameter(torch.ones(2, 5, 3, 3, 3))

    def forward(self, film: Tensor, hidden_mask: Tensor) -> Any:
        return nn.functional.conv3d(torch.cat([self.conv(film), hidden_mask], 1), self.weight)


class Table(nn.Module):
    """Puts a token before the others, and adds as many positions as it was made for."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 4)
        self.positions = nn.Parameter(torch.ones(38, 4))

    def forward(self, x: Tensor) -> Any:
        if x.dim() != 3:
            raise ValueError("x must be a 3-D tensor")
        return torch.cat([self.fc(x[:, :1]), self.fc(x)], 1) + self.positions


class ChannelsLast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(5, 2, 3)

    def forward(self, x: Tensor) -> Any:
        return self.conv(x.transpose(1, 2))


class Thirds(nn.Module):
    def forward(self, qkv: Tensor) -> Any:
        _batch, width, _length = qkv.shape
        assert width % (3 * 4) == 0
        return sum(qkv.chunk(3, 1))


class Turns(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.angles = nn.Linear(6, 4), nn.Linear(3, 4)

    def forward(self, x: Tensor, context: Tensor, angle_ids: Tensor) -> Any:
        tokens = torch.cat([self.q(x), self.q(context)], 1)
        return torch.cat([tokens, self.angles(angle_ids.float())], 2)


class MayHaveEdges(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.in_channels = 5
        self.weight = nn.Parameter(torch.ones(2, 5))

    def forward(self, x: Tensor, edge_index: Tensor | None = None) -> Any:
        if edge_index is None:
            raise ValueError("'edge_index' needs to be present during inference in 'MayHaveEdges'")
        return nn.functional.linear(x[edge_index[0]], self.weight)


class Short(Counts):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(12, 2)

    def forward(self, wav: Tensor, wav_lens: Tensor | None = None) -> Any:
        self.ran.append(wav.shape)
        if wav_lens is not None:
            mask = wav_lens > 0
        return nn.functional.conv1d(wav[:, None], torch.ones(1, 1, 40)) * mask * self.fc.bias.sum()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Orders(), "text_embeds=1,16,6; order_mask=int64[1]<2; text_mask=[1, 16], from"),
        (Places(), "x=1,3,224,224; spots=1, from"),
        (Hides(), "film=1,4,32,32,32; hidden_mask=1,1,32,32,32, from"),
        (Table(), "x=1,37,6, from"),
        (ChannelsLast(), "x=1,128,5, from"),
        (Thirds(), "qkv=1,48,16, from"),
        (Turns(), "x=1,16,6; context=1,16,6; angle_ids=1,32,3, from"),
        (MayHaveEdges(), "x=4,5; edge_index=int64[2,8]<4, from"),
        (Short(), "wav=1,16000; wav_lens=[16000], from"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_what_the_error_and_the_names_say(model: nn.Module, said: str) -> None:
    assert guess(model).guessed.startswith(said)


def test_sizes_that_shapes_alone_show_to_be_unequal() -> None:
    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(6, 4, device="meta")

        def forward(self, x: Tensor) -> Any:
            _batch, _length, _features = x.shape
            return self.fc(x)[None] + torch.ones(1, 1, 9, 4)

    assert guess(Adds()).guessed.startswith("x=1,9,6, from")


def test_dimensions_without_names_are_not_taken_for_choices() -> None:
    class Refuses(nn.Module):
        def forward(self, x: Tensor, edges: Tensor | None = None) -> Any:
            raise ValueError(f"'edges' is missing in 'Refuses': {type(edges).__name__} in 'Refuses'")

    with pytest.raises(Exception, match="unknown shape") as caught:
        guess(Refuses())
    assert "edges=Refuses" not in str(caught.value)
