"""What a guess was read from, and the rules that keep one from being accepted which is not sensible."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict  # noqa: UP035  # as torch_geometric writes it

import pytest
import torch
from torch import Tensor, nn

from torchrecorder.errors import InputError
from torchrecorder.graph import Graph
from torchrecorder.recording.guess.search import record_guessed
from torchrecorder.recording.run import capture


def recorded(model: nn.Module) -> Graph:
    return record_guessed(
        model,
        lambda inputs, run: capture(model, inputs.args, inputs.kwargs, run=run, guessed=inputs.guessed),
        run="auto",
        seed=0,
    )


class Declared(nn.Module):
    """Adds one.

    >>> net = Declared()
    >>> net(torch.rand(2, 7))
    """

    def forward(self, x: Tensor) -> Any:
        return x + 1


class Nothing(nn.Module):
    def forward(self) -> Any:
        return torch.ones(2) + 1


class Channels(nn.Module):
    """As braindecode's: the first convolution slides over what the forward has given another axis."""

    def __init__(self) -> None:
        super().__init__()
        self.n_chans, self.n_times = 5, 200
        self.conv = nn.Conv2d(1, 4, (1, 3))

    def forward(self, x: Tensor) -> Any:
        return self.conv(x[:, None])


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(image_size=48, num_channels=1)
        self.side, self.fc = nn.Linear(9, 4), nn.Conv2d(1, 2, 3)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


class Stem(nn.Module):
    """Its first layer is not the one that is called first."""

    def __init__(self) -> None:
        super().__init__()
        self.in_channels = 2
        self.later, self.stem = nn.Conv2d(8, 4, 1), nn.Conv2d(2, 8, 3)

    def forward(self, x: Tensor) -> Any:
        return self.later(self.stem(x))


class Own(nn.Module):
    """Its layers are not of torch."""

    def __init__(self) -> None:
        super().__init__()
        self.input_size = 6
        self.cell = nn.ModuleList([Declared()])
        self.cell[0].weight = nn.Parameter(torch.ones(6, 2))

    def forward(self, x: Tensor) -> Any:
        return x @ next(self.cell[0].parameters())


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seq_len, self.enc_in = 12, 3
        self.fc = nn.Linear(12, 4)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x.transpose(1, 2)) if x.dim() == 3 else x


class Bare(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x.relu()


@pytest.mark.parametrize(
    ("model", "said", "grade"),
    [
        (Declared(), "x=2,7, from an example", "declared"),
        (Nothing(), "nothing, since the forward has no parameters", "declared"),
        (Channels(), "1,5,200, from its channels and steps", "model"),
        (Images(), "1,1,48,48, from its size of images", "model"),
        (Stem(), "1,2,224,224, from its channels", "model"),
        (Rows(), "1,12,3, from its features", "model"),
        (Own(), "1,16,6, from its features", "model"),
        (nn.Sequential(nn.Linear(7, 2)), "1,7, from 0 (Linear)", "layer"),
        (nn.Linear(7, 2), "1,7, from Linear", "layer"),
        (Bare(), "x=1,3,64,64, from nothing but the names of its parameters", "names"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_what_a_guess_was_read_from(model: nn.Module, said: str, grade: str) -> None:
    info = recorded(model).info
    assert info.guessed.startswith(said)
    assert info.grade == grade


class Hears(nn.Module):
    def __init__(self, rate: int | None = None, hop: int = 1) -> None:
        super().__init__()
        if rate:
            self.sample_rate = rate
        self.conv = nn.Conv1d(1, 4, 10, hop)

    def forward(self, x: Tensor) -> Any:
        return self.conv(x)


class Waves(Hears):
    def forward(self, waveforms: Tensor) -> Any:
        return self.conv(waveforms[:, None])


class Pulses(Hears):
    """Its signal has 96 samples: more than these are refused."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(96, 2)

    def forward(self, signal: Tensor) -> Any:
        return self.fc(signal)


class Documented(Hears):
    def forward(self, x: Tensor) -> Any:
        """The features of each frame.

        Args:
            x: The audio.
        """
        return self.conv(x)


class Separates(Hears):
    """Pictures of sound are what its layers take; it makes them itself."""

    audio_channels = 2

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3)  # type: ignore[assignment]
        self.mixed = nn.Conv1d(4, 8, 1)

    def forward(self, x: Tensor) -> Any:
        if x.ndim != 3:
            raise ValueError("Expected 3D tensor with dimensions (batch, channel, frames).")
        if x.shape[1] != 2:
            raise ValueError("The channel dimension must match `audio_channels`.")
        return self.mixed(self.conv(x.unfold(-1, 16, 8)).mean(-1))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Hears(), "1,1,128, from"),
        (Separates(), "x=1,2,16000, from"),
        (Documented(), "1,1,16000, from"),
        (Hears(rate=24_000), "1,1,24000, from"),
        (Hears(hop=8), "1,1,16000, from"),
        (Waves(), "1,16000, from conv (Conv1d)"),
        (Pulses(), "1,96, from"),
    ],
)
def test_sound_is_a_second_long(model: nn.Module, said: str) -> None:
    assert recorded(model).info.guessed.removeprefix("waveforms=").startswith(said)


class Reads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, specgram: Tensor, specgram_lengths: Tensor) -> Any:
        kept = torch.arange(specgram.shape[1]) < specgram_lengths[:, None]
        return self.fc(specgram) * kept[..., None]


def test_lengths_are_those_of_what_they_count() -> None:
    inputs: list[Any] = []
    model = Reads()
    model.register_forward_pre_hook(lambda _, args, kwargs: inputs.append(kwargs), with_kwargs=True)
    recorded(model)
    kwargs = inputs[-1]
    assert kwargs["specgram_lengths"].tolist() == [kwargs["specgram"].shape[1]] == [16]


class Keys(nn.Module):
    """What is missing in its dictionary says the forward."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.fc = nn.Embedding(9, 6), nn.Linear(6, 4)

    def forward(self, batch: Dict[str, Tensor]) -> Any:  # noqa: UP006
        return self.fc(batch["features"])


class Settings:
    width: int


class Asks(nn.Module):
    ran = 0

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 6)

    def forward(self, settings: Settings) -> Any:
        type(self).ran += isinstance(settings, Tensor) and not settings.is_floating_point()
        return self.table(torch.arange(settings.width))


def test_no_integers_stand_for_a_dictionary_or_an_object() -> None:
    assert "batch={features: " in recorded(Keys()).info.guessed
    with pytest.raises(InputError, match="Asks is called with inputs of unknown shape"):
        recorded(Asks())
    assert Asks.ran == 0


class Pads(nn.Module):
    """It makes what it gets as long as its hop, which is an operation more for a few samples."""

    def __init__(self) -> None:
        super().__init__()
        self.sampling_rate = 48_000
        self.conv = nn.Conv1d(1, 4, 10, 8)

    def forward(self, x: Tensor) -> Any:
        if x.shape[-1] % 1000:
            x = nn.functional.pad(x, (0, 1000 - x.shape[-1] % 1000))
        if x.shape[1] != 2:
            raise ValueError(f"expected 2 audio channels, got {x.shape[1]}.")
        return self.conv(x[:, :1])


def test_what_a_repair_makes_is_a_second_of_sound_too() -> None:
    assert recorded(Pads()).info.guessed.startswith("x=1,2,48000, from conv (Conv1d), and from what its forward raised")


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, hidden_states: Tensor, scale: float | None = None) -> Any:
        return self.fc(hidden_states)


class Noise(nn.Module):
    def forward(self, sample: Tensor, length: Tensor | None = None) -> Any:
        return sample + torch.randn_like(sample)


class Relative(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x: Tensor, pos_embs: Tensor | None = None) -> Any:
        if pos_embs is None:
            raise ValueError("pos_embs are mandatory")
        assert pos_embs.shape[1] == 2 * x.shape[1] - 1
        return self.fc(x), self.fc(pos_embs)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Heads(), "1,16,8, from fc (Linear)"),
        (Noise(), "sample=1,16,16, from nothing but"),
        (Relative(), "x=1,16,8; pos_embs=1,31,8, from fc (Linear)"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_sequences_have_an_axis_of_time(model: nn.Module, said: str) -> None:
    assert recorded(model).info.guessed.startswith(said)


class Passes(nn.Module):
    """As a model that only holds the layers of another."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x: Tensor) -> Any:
        return x


def test_a_forward_that_computes_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="the forward of Passes computes nothing with the inputs that were guessed"):
        recorded(Passes())


class Crowd(nn.Module):
    """A repair could make it a batch of 512."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(512, 4, 3)

    def forward(self, x: Tensor) -> Any:
        if x.dim() == 2:
            x = x[None]
        return self.conv(x)


def test_no_repair_makes_a_crowd() -> None:
    graph = recorded(Crowd())
    meta = graph.values[next(iter(graph.inputs.values()))].meta
    assert meta is not None
    assert int(meta.shape[0]) <= 8


class Columns(nn.Module):
    """As deepctr's: columns of categories and of numbers are one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.fc = nn.Embedding(5, 3), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Any:
        rows = self.table(x[:, 2].long())
        sums = torch.zeros(x.shape[0], 3, dtype=x.dtype)
        sums += rows
        return self.fc(torch.cat([sums, x[:, :1]], 1))


class Codebook(nn.Module):
    """A codebook, which is not an index table: vectors are put in the place of those that lie near."""

    def __init__(self) -> None:
        super().__init__()
        self.book = nn.Embedding(5, 3)

    def forward(self, z: Tensor) -> Any:
        rows = z.permute(0, 2, 3, 1).reshape(-1, 3)
        return self.book(torch.cdist(rows, self.book.weight).argmin(1))


@pytest.mark.parametrize("model", [Columns(), Codebook()], ids=lambda model: type(model).__name__)
def test_integers_beside_an_embedding_are_doubted(model: nn.Module) -> None:
    graph = recorded(model)
    meta = graph.values[next(iter(graph.inputs.values()))].meta
    assert meta is not None
    assert meta.dtype == "float32"
