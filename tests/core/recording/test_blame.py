"""Which inputs an exception is about, and the guesses that are made from that."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.core.recording.test_guesses import guess
from torchrecorder import capture
from torchrecorder.errors import ForwardError
from torchrecorder.recording.blame import Blame


class Layered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.fc = nn.Embedding(50, 6), nn.Linear(6, 4)


class Adds(Layered):
    def forward(self, x: Tensor, y: Tensor, unused: Tensor, scale: Tensor | None = None) -> Any:
        wide = self.fc(x) + unused.sum()
        return (
            self._added(
                self.fc(y),
                scale,
            )
            + wide
        )

    def _added(self, y: Tensor, scale: Tensor | None) -> Tensor:
        return y.relu() + torch.ones(7)


class Picks(Layered):
    def forward(self, xs: list[Tensor]) -> Any:
        first = self.fc(xs[0])
        second = self.fc(xs[1])
        return second.view(-1, 3) + first


def test_the_inputs_are_named_that_the_failing_line_computes_with() -> None:
    with pytest.raises(ForwardError) as caught:
        capture(Adds(), (torch.ones(1, 6), torch.ones(2, 6), torch.ones(1)))
    assert caught.value.blame == Blame(("y",), ("scale",))


def test_the_nearest_inputs_come_first_and_items_of_lists_are_told_apart() -> None:
    with pytest.raises(ForwardError) as caught:
        capture(Picks(), ([torch.ones(1, 6), torch.ones(1, 6)],))
    assert caught.value.blame == Blame(("xs.1",))


class Raises(Layered):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        if y.shape[1] != 7:
            raise ValueError("nothing is said")
        return self.fc(x)


class Unpacks(Layered):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        _batch, _frames, _channels = y.shape
        return self.fc(x)


@pytest.mark.parametrize("model", [Raises(), Unpacks()], ids=lambda model: type(model).__name__)
def test_the_statement_and_the_condition_above_are_asked_if_the_expression_says_nothing(model: nn.Module) -> None:
    with pytest.raises(ForwardError) as caught:
        capture(model, (torch.ones(1, 6), torch.ones(1, 6)))
    assert caught.value.blame == Blame(("y",))


class Modulates(Layered):
    given: list[tuple[bool, bool]]

    def forward(
        self,
        x: Tensor,
        before: Tensor | None = None,
        gate: Tensor | None = None,
        after: Tensor | None = None,
        scale: Tensor | None = None,
        shift: Tensor | None = None,
    ) -> Any:
        self.given.append((scale is not None, shift is not None))
        return self._modulated(self.fc(x), scale, shift)

    def _modulated(self, x: Tensor, factor: Any, summand: Any) -> Any:
        return x.mean() * factor.mean() + summand.mean()


def test_what_is_absent_in_the_failing_line_is_given_at_once() -> None:
    Modulates.given = []
    assert guess(Modulates()).guessed.startswith("x=1,6; scale=1,6; shift=1,6, from fc")
    assert {*Modulates.given} == {(False, False), (True, True)}


class Clocks(nn.Module):
    """Wants a time for each frame."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 1)

    def forward(self, film: Tensor, timestep: Tensor) -> Any:
        batch, frames = timestep.shape
        assert film.shape[:-1] == (batch, frames)
        return self.fc(film).squeeze(-1) * timestep


class Sizes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(5, 4)

    def forward(self, x: Tensor, image_meta_size: Tensor) -> Any:
        places = image_meta_size[..., None].expand(-1, -1, 4).reshape(-1)
        return self.fc(x).mean() + places.view(-1, 24)


class Styles(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.style_embedder = nn.Linear(6, 4), nn.Embedding(3, 4)

    def forward(self, x: Tensor, style: Tensor | None = None) -> Any:
        return self.fc(x) + self.style_embedder(style)


class Masks(Layered):
    def forward(self, ids: Tensor, states: Tensor, kept_mask: Tensor) -> Any:
        """Masks the states.

        Args:
            states: a tensor of shape `(batch, 9, 6)`
            kept_mask: which to keep
        """
        if kept_mask.shape != states.shape[:2]:
            raise ValueError("never said")
        return self.words(ids), self.fc(states) * kept_mask[..., None]


class Longer(nn.Module):
    """Wants 16 tokens beside others, so that there are 20."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.padding = nn.Linear(6, 4), nn.Parameter(torch.ones(20, 4))

    def forward(self, states: Tensor, kept_mask: Tensor) -> Any:
        """Pads.

        Args:
            states: a tensor of shape `(batch, 9, 6)`
            kept_mask: which to keep
        """
        rows = torch.cat([self.fc(states), states.new_ones(len(states), 8, 4)], 1) + self.padding
        return rows[:, : kept_mask.shape[1]] * kept_mask[..., None] * torch.ones(12)[: states.shape[1], None]


class Turns(Layered):
    def forward(self, words: Tensor, fc_rows: Tensor) -> Any:
        return self.words(words), self.fc(fc_rows)[None].permute(1, 2, 3, 0)


class Pools(Layered):
    def forward(self, ids: Tensor, image_embeddings: Tensor | None = None) -> Any:
        return torch.cat([self.words(ids).mean(1), self.fc(image_embeddings)], 1)


class Patches(nn.Module):
    """Takes a picture beside something else, in patches of two by two."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(20, 3)

    def forward(self, image: Tensor) -> Any:
        beside = torch.cat([image, image.new_ones(len(image), 1, *image.shape[2:])], 1)
        return self.fc(functional.pixel_unshuffle(beside, 2).flatten(2).transpose(1, 2))


class Cuts(nn.Module):
    """The first two numbers of a row are places."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 16))

    def forward(self, rows: Tensor, others: Tensor | None = None) -> Any:
        kept = rows[..., 2:]
        if kept.shape[-1] != 16:  # as kernels of fake tensors say it
            raise RuntimeError(f"a and b must have same reduction dim, but got [1, {kept.shape[-1]}] X [16, 3].")
        return functional.linear(kept, self.weight) + (0 if others is None else 1)


class Grids(Layered):
    def forward(self, x: Tensor, spatial_shapes: torch.LongTensor | None = None) -> Any:
        height, width = spatial_shapes[0].tolist()  # type: ignore[index]  # it fails on purpose
        return self.fc(x).view(1, height * width, 4)


class Spreads(Layered):
    def forward(self, x: Tensor, seen_mask: Tensor | None = None) -> Any:
        return self.fc(x), seen_mask.expand(-1, -1, -1)  # type: ignore[union-attr]  # so does this


class Indexes(nn.Module):
    """Takes feature maps of several sizes, by index."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.ConvTranspose2d(6, 4, 1), nn.ConvTranspose2d(5, 4, 1)

    def forward(self, hs: Any) -> Any:
        first = self.first(hs[0])
        return first.mean() + self.second(hs[1])


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x: Tensor, marks_mask: Tensor) -> Any:
        return self.fc(x), torch.bincount(marks_mask)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Clocks(), r"film=1,16,6; timestep=int64\[1,16\], from"),
        (Sizes(), r"x=1,5; image_meta_size=1,6, from"),
        (Styles(), r"x=1,6; style=int64\[1\]<3, from"),
        (Masks(), r"ids=int64\[1,16\]<50; states=1,9,6; kept_mask=bool\[1,9\], from"),
        (Longer(), r"states=1,12,6; kept_mask=bool\[1,12\], from"),
        (Turns(), r"words=int64\[1,16\]<50; fc_rows=1,16,6, from"),
        (Pools(), r"ids=int64\[1,16\]<50; image_embeddings=1,6, from"),
        (Patches(), r"image=1,4,64,64, from"),
        (Cuts(), r"rows=1,(\d+,)*18, from"),
        (Grids(), r"x=1,16,6; spatial_shapes=\[1, 2\], from"),
        (Spreads(), r"x=1,16,6; seen_mask=bool\[1,16,16\], from"),
        (Indexes(), r"hs=\[\[1, 6, \d+, \d+\], \[1, 5, \d+, \d+\]"),
        (Counts(), r"x=1,(16,)?6; marks_mask=int64\[\d+\]<\d+, from"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_what_is_blamed_is_repaired(model: nn.Module, said: str) -> None:
    assert re.match(said, guess(model).guessed)


class Container(nn.Sequential):
    """Says in its own exception where it was raised, in front of what it repeats."""

    def forward(self, x: Tensor) -> Tensor:
        for name, layer in self.named_children():
            try:
                x = layer(x)
            except Exception as error:
                raise LookupError(f"File one, line two\n\n{error}\n---\n>>> {name}") from None
        return x


def test_what_a_container_repeats_is_the_cause() -> None:
    with pytest.raises(ForwardError) as raised:
        capture(Container(Container(nn.Linear(3, 2)), nn.ReLU()), torch.ones(1, 5))
    assert raised.value.cause == "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x5 and 3x2)"
    assert "LookupError" in raised.value.traceback


def test_what_was_handled_before_is_not_the_cause() -> None:
    class Handles(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            try:
                raise KeyError("nothing is kept of this")
            except KeyError:
                raise ValueError("x has to have three channels") from None

    with pytest.raises(ForwardError, match="ValueError: x has to have three channels"):
        capture(Handles(), torch.ones(1, 5))
