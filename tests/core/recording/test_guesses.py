"""Inputs that nobody gave: what is guessed, why, and that nothing is believed before it ran."""

from __future__ import annotations

import logging
from typing import Any, Dict, List  # noqa: UP035  # as torch_geometric writes it

import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.nets import Net
from torchrecorder.errors import InputError
from torchrecorder.graph import Graph
from torchrecorder.graph.codec import problems
from torchrecorder.graph.worth import against
from torchrecorder.recording.guess.search import record_guessed
from torchrecorder.recording.inputs import Inputs
from torchrecorder.recording.run import Run, capture


def guess(model: nn.Module, **options: Any) -> Inputs:
    """The inputs that were found, with which the model has been recorded."""
    chosen: list[Inputs] = []

    def record(inputs: Inputs, run: Run) -> Graph:
        chosen.append(inputs)
        return capture(model, inputs.args, inputs.kwargs, run=run, guessed=inputs.guessed, **options)

    graph = record_guessed(model, record, run="auto", seed=0, **options)
    assert graph.outputs
    assert graph.info.guessed == chosen[-1].guessed
    assert problems(graph) == []
    return chosen[-1]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (nn.Sequential(nn.Linear(7, 2)), "1,7, from 0 (Linear)"),
        (nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 2)), "1,784, from 1 (Linear)"),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU()), "1,1,224,224, from 0 (Conv2d)"),
        (nn.Sequential(nn.Conv2d(1, 2, 5), nn.Flatten(), nn.Linear(1152, 1)), "1,1,28,28, from 0 (Conv2d)"),
        (nn.Sequential(nn.Conv1d(4, 2, 3)), "1,4,128, from 0 (Conv1d)"),
        (nn.Sequential(nn.Conv3d(1, 2, 3)), "1,1,32,32,32, from 0 (Conv3d)"),
        (nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 2)), "int64[1,9]<9, from 0 (Embedding)"),
        (nn.LSTM(5, 6), "16,1,5, from LSTM"),
        (nn.GRUCell(5, 6), "1,5, from GRUCell"),
        (nn.MultiheadAttention(8, 2, batch_first=True), "1,16,8; 1,16,8; 1,16,8, from MultiheadAttention"),
        (nn.TransformerEncoderLayer(8, 2, 16), "1,16,8, from self_attn (MultiheadAttention)"),
        (nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 4, 3)), "2,3,32,32, from 0 (BatchNorm2d)"),
        (nn.Sequential(nn.LazyConv2d(4, 3)), "1,3,224,224, from 0 (LazyConv2d)"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_first_layer_tells(model: nn.Module, said: str) -> None:
    assert guess(model).guessed == said


class Graphs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(5, 3)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, batch: Tensor) -> Any:
        source, target = edge_index
        y = self.fc(x)
        y = torch.zeros_like(y).index_add(0, target, y[source] * edge_weight[:, None])
        return torch.zeros(1, 3).index_add(0, batch, y)


class Molecules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kinds = nn.Embedding(100, 4)

    def forward(self, z: Tensor, pos: Tensor, batch: Tensor | None = None) -> Any:
        return self.kinds(z) * torch.cdist(pos, pos).sum(1, keepdim=True)


class Denoises(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x: Tensor, t: Tensor) -> Any:
        assert t.dim() == 1
        assert not t.is_floating_point()
        return self.conv(x) * t[:, None, None, None]


class Hears(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, frames: Tensor, frame_lengths: Tensor, mask: Tensor | None) -> Any:
        assert mask is None
        shown = torch.arange(frames.size(1))[None] < frame_lengths[:, None]
        return self.fc(frames) * shown.view(frames.shape[:2])[..., None]


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(3, 2), nn.Embedding(5, 2)])
        self.num_scale = nn.Parameter(torch.ones(7))
        self.head = nn.Linear(11, 1)

    def forward(self, x_num: Tensor, x_cat: Tensor) -> Any:
        parts = [embedding(x_cat[:, i]) for i, embedding in enumerate(self.embeddings)]
        return self.head(torch.cat([x_num * self.num_scale, *parts], 1))


class Towers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.item_net, self.user_net = nn.Linear(3, 2), nn.Linear(5, 2)

    def forward(self, user: Tensor, item: Tensor) -> Any:
        return self.user_net(user) * self.item_net(item)


class SharesCodes(nn.Module):
    """It takes one class for each example, and with the picture in its place it runs, too."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.codes = nn.Conv2d(4, 8, 3), nn.Parameter(torch.ones(8))

    def forward(self, hs: Tensor, labels: Tensor) -> Any:
        return self.conv(hs) * self.codes.expand(labels.reshape(-1, 1).shape[0], 8)[:1, :, None, None]


class ShortPatches(nn.Module):
    """It takes fewer patches than it has places: a picture of a single one, too."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(3 * 4 * 4, 4)
        self.pos_embedding = nn.Parameter(torch.zeros(9, 4))

    def forward(self, img: Tensor) -> Any:
        batch, channels, height, width = img.shape
        cut = img.reshape(batch, channels, height // 4, 4, width // 4, 4)
        patches = cut.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
        return self.embed(patches) + self.pos_embedding[: patches.shape[1]]


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(48, 8)
        self.places = nn.Parameter(torch.zeros(1, 10, 8))

    def forward(self, image: Tensor) -> Any:
        patches = image.unfold(2, 4, 4).unfold(3, 4, 4).permute(0, 2, 3, 1, 4, 5).reshape(len(image), -1, 48)
        return torch.stack([self.embed(patches), self.places[:, 1:].expand(len(image), -1, -1)])


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            Graphs(),
            "x=4,5; edge_index=int64[2,8]<4; edge_weight=8; batch=int64[4]<1,"
            " a small graph, from the names of its parameters and its first layers",
        ),
        (Molecules(), "z=int64[4]; pos=4,3, a small graph, from the names of its parameters and its first layers"),
        (Denoises(), "x=1,3,224,224; t=int64[1], from the names of its parameters and conv (Conv2d)"),
        (
            Hears(),
            "frames=1,16,6; frame_lengths=[16]; mask=None, from the names of its parameters and fc (Linear)",
        ),
        (Table(), "x_num=1,7; x_cat=int64[1,2]<1, a row of a table, from the names of its parameters and its layers"),
        (SharesCodes(), "hs=1,4,224,224; labels=int64[1]<1, from conv (Conv2d)"),
        (Towers(), "1,5; 1,3, from user_net (Linear), item_net (Linear)"),
        (Patches(), "1,3,12,12, from embed (Linear), taking patches of 4 by 4"),
        (ShortPatches(), "1,3,12,12, from embed (Linear), taking patches of 4 by 4"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_names_of_parameters_tell(model: nn.Module, said: str) -> None:
    assert guess(model).guessed == said


class Wraps(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.model = model

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.model(*args, **kwargs) * self.scale


class WrapsByPlace(Wraps):
    def forward(self, *args: Any) -> Any:
        return self.model(*args) * self.scale


@pytest.mark.parametrize("wrapper", [Wraps, WrapsByPlace])
def test_a_wrapper_is_called_as_what_it_holds(wrapper: type[Wraps]) -> None:
    found = guess(wrapper(Graphs()))
    assert found.guessed.startswith("x=4,5; edge_index=int64[2,8]<4; edge_weight=8; batch=int64[4]<1, a small graph")
    assert len(found.args) == 4
    assert guess(wrapper(nn.Linear(3, 2))).guessed == "1,3, from model (Linear)"


class Words(nn.Module):
    def forward(self, text: str | List[str]) -> Tensor:  # noqa: UP006
        texts = [text] if isinstance(text, str) else text
        assert all(isinstance(it, str) for it in texts), f"Expected a text, got {texts}"
        return torch.tensor([[ord(letter) % 64 for letter in it] for it in texts])


class ListOfWords(nn.Module):
    def forward(self, text: List[str]) -> Tensor:  # noqa: UP006
        assert isinstance(text, list)
        return Words().forward(text)


class Reads(nn.Module):
    """Its forward says nothing of what it takes; that of its first part does."""

    def __init__(self, words: nn.Module) -> None:
        super().__init__()
        self.words, self.table, self.head = words, nn.Embedding(64, 8), nn.Linear(8, 4)

    def forward(self, *args: Any) -> Tensor:
        found: Tensor = self.head(self.table(self.words(*args)))
        return found


class Chooses(nn.Module):
    """Of its parameters, one is for a text, and one for a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor, mode: str) -> Tensor:
        found: Tensor = self.head(x)
        return found


@pytest.mark.parametrize(
    ("words", "given"), [(Words(), "a photograph of a dog"), (ListOfWords(), ["a photograph of a dog"])]
)
def test_a_forward_that_says_that_it_takes_texts_is_given_one(words: nn.Module, given: Any) -> None:
    found = guess(Reads(words))
    assert found.args == (given,)
    assert found.guessed == f"text={given}, a text, as the annotation of its parameter says"
    graph = capture(Reads(words), (given,), {}, run="auto", guessed=found.guessed)
    assert against(graph) == ""


def test_a_text_beside_a_tensor_is_no_text_to_read() -> None:
    assert "photograph" not in guess(Chooses()).guessed


class MixesPlaces(nn.Module):
    """What its convolutions make of a picture is put into rows, for which its norm has a size."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 16, 16), nn.LayerNorm(400)

    def forward(self, x: Tensor) -> Tensor:
        """Mix.

        Args:
            x: A picture (B, C, H, W).
        """
        found: Tensor = self.norm(self.stem(x).flatten(2))
        return found


def test_a_picture_that_is_too_small_for_a_row_stays_a_square() -> None:
    assert guess(MixesPlaces()).guessed.startswith("x=1,3,320,320, ")


class PerKind(nn.Module):
    """As HeteroConv: whatever its layers take, in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = [("a", "to", "b"), ("b", "to", "a")]
        self.layer = Gathers()

    def forward(self, *args_dict: dict[Any, Tensor]) -> Any:
        x, edges = args_dict
        return [self.layer(x[kind[0]], edges[kind]) for kind in self.kinds]


class Gathers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(5, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        return self.fc(x)[edge_index[0]]


class Jumps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.in_channels = {"a": 8, "b": 8}
        self.parts = nn.ModuleDict({"a": nn.Identity(), "b": nn.Identity()})

    def forward(self, xs_dict: Dict[str, List[Tensor]]) -> Any:  # noqa: UP006  # as torch_geometric writes it
        return {key: self.parts[key](torch.cat(xs, -1)) for key, xs in xs_dict.items()}


def test_kinds_of_nodes_have_a_tensor_each() -> None:
    found = guess(PerKind())
    assert found.guessed.startswith("x_dict={a: [4, 5], b: [4, 5]}; edge_index_dict={('a', 'to', 'b'): [2, 8]")
    assert list(found.args[0]) == ["a", "b"]
    assert guess(Jumps()).guessed.startswith("xs_dict={a: [[4, 8], [4, 8]], b: [[4, 8], [4, 8]]}, from")


def test_two_examples_are_trained_on() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    assert guess(model, mode="train").guessed == "2,3, from 0 (Linear)"


def test_a_guess_that_needs_numbers_is_proved_on_numbers() -> None:
    model = Net(lambda self, x: self.fc(x) if x.sum() > -1e9 else x, fc=nn.Linear(3, 3))
    assert guess(model).guessed == "1,3, from fc (Linear)"


def test_the_layer_registered_first_need_not_be_called_first() -> None:
    model = Net(lambda self, x: self.head(self.body_(x)), head=nn.Linear(4, 2), body_=nn.Linear(3, 4))
    assert guess(model).guessed == "1,3, from body_ (Linear)"


def test_an_error_lists_what_was_tried(caplog: pytest.LogCaptureFixture) -> None:
    def body(self: Any, x: Tensor) -> Any:
        raise ValueError("never")

    with caplog.at_level(logging.DEBUG), pytest.raises(InputError) as caught:
        guess(Net(body, fc=nn.Linear(7, 2)))
    assert caught.value.reason == "Net is called with inputs of unknown shape"
    assert caught.value.tried[0] == "1,7, from fc (Linear): ValueError: never"
    assert "`shape: 1,7`, or name a function" in caught.value.hint()
    assert caplog.records == []


def test_a_model_without_layers_is_called_with_something() -> None:
    assert guess(nn.ReLU()).guessed == "input=1,3,64,64, from nothing but the names of its parameters"


def test_a_forward_without_parameters_is_called_with_nothing() -> None:
    class Constant(nn.Module):
        def forward(self) -> Tensor:
            return torch.ones(3)

    found = guess(Constant())
    assert (found.args, found.kwargs) == ((), {})
    assert found.guessed == "nothing, since the forward has no parameters"


class Speaks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n_mels = 12
        self.words, self.weight = nn.Embedding(50, 4), nn.Parameter(torch.ones(12, 4))

    def forward(self, tokens: Tensor, mel_specgram: Tensor) -> Any:
        return self.words(tokens), mel_specgram.transpose(1, 2) @ self.weight


def test_a_spectrogram_has_as_many_bins_as_the_model_says() -> None:
    assert guess(Speaks()).guessed.startswith("tokens=int64[1,16]<50; mel_specgram=1,12,16, from")


def test_guessing_leaves_the_random_numbers_and_the_model_alone() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout())
    model[1].eval()
    state = torch.get_rng_state()
    guess(model, mode="train")
    assert torch.equal(torch.get_rng_state(), state)
    assert [module.training for module in model] == [True, False, True]
    assert model[1].state_dict()["running_mean"].tolist() == [0.0] * 4
