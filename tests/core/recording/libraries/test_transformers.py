"""Models of transformers: BERT, ViT, T5 and PatchTST themselves, and small ones like others of its models."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.test_guesses import guess

SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 37}


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("Bert", SMALL, "input_ids=int64[1,16]<99"),
        ("ViT", {**SMALL, "image_size": 32, "patch_size": 8}, "pixel_values=1,3,32,32"),
        (
            "T5",
            {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 1, "num_heads": 4},
            "input_ids=int64[1,16]<99; decoder_input_ids=int64[1,16]<99",
        ),
        (
            "PatchTST",
            {"num_input_channels": 2, "context_length": 32, "patch_length": 8, "patch_stride": 8, "d_model": 16},
            "past_values=1,32,2",
        ),
    ],
)
@pytest.mark.transformers
@pytest.mark.filterwarnings("ignore")
def test_a_transformers_model_needs_no_shape(name: str, config: dict[str, Any], said: str) -> None:
    transformers = pytest.importorskip("transformers")
    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**config))
    assert guess(model).guessed == f"{said}, from the config of {name}Model"


class Tiles(nn.Module):
    """As the vision tower of Qwen2-VL: flat patches, and how many of them each picture has."""

    main_input_name = "hidden_states"

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(hidden_size=24)
        self.proj = nn.Conv2d(3, 24, 4, 4)

    def forward(self, hidden_states: Tensor, grid_thw: Tensor) -> Any:
        assert len(hidden_states) == int(grid_thw.prod())
        return self.proj(hidden_states.view(-1, 3, 4, 4)).flatten(1)


Tiles.__module__ = "transformers.models.some"


class Codes(nn.Module):
    """As XcodecModel: its sound has an axis of channels, and its bandwidth is no tensor."""

    main_input_name = "input_values"

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(sampling_rate=24_000)
        self.conv = nn.Conv1d(1, 2, 3)

    def forward(self, input_values: Tensor, bandwidth: float | None = None) -> Any:
        """Code.

        input_values (`torch.Tensor` of shape `(batch_size, channels, num_samples)`):
            The waveform, of which a single bandwidth is made.
        """
        if input_values.dim() != 3:
            raise ValueError("expected 3 dimensions")
        return self.conv(input_values)


Codes.__module__ = "transformers.models.some"


def test_rows_of_patches_are_as_long_as_the_first_layer_says() -> None:
    assert guess(Tiles()).guessed == "hidden_states=16,48; grid_thw=[1, 3], from proj"


def test_sound_has_the_axes_that_the_documentation_says() -> None:
    assert guess(Codes()).guessed.startswith("input_values=1,1,24000, from the config of Codes")


class Reads(nn.Module):
    """As Pix2Struct, for pictures and words; the size of its pictures stands in a part of a part."""

    main_input_name = "pixel_values"

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.words = nn.Conv2d(3, 2, 3), nn.Embedding(50, 2)
        backbone = SimpleNamespace(image_size=[40, 48])
        self.config = SimpleNamespace(vocab_size=50, vision_config=SimpleNamespace(backbone_config=backbone))

    def forward(self, pixel_values: Tensor, question_ids: Tensor, input_ids: Tensor | None = None) -> Any:
        assert pixel_values.shape[2:] == (40, 48)
        if input_ids is None:
            raise TypeError("embedding(): argument 'indices' (position 2) must be Tensor, not NoneType")
        return self.conv(pixel_values), self.words(question_ids), self.words(input_ids)


Reads.__module__ = "transformers.models.some"


def test_a_configuration_in_a_part_of_another_is_read() -> None:
    said = (
        r"pixel_values=1,3,40,48; question_ids=int64\[1,16\]<50; input_ids=int64\[1,16\]<50, from the config of Reads$"
    )
    assert re.match(said, guess(Reads()).guessed)


class Both(nn.Module):
    """As models that read pictures and hear: their features are put in the place of tokens that stand for them."""

    main_input_name = "input_ids"
    input_modalities = ("image", "audio", "text")

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        self.words, self.see, self.hear = nn.Embedding(50, 6), nn.Conv2d(3, 6, 8, 8), nn.Conv1d(5, 6, 4, 4)
        self.config = SimpleNamespace(image_token_id=40, audio_token_id=41, vocab_size=50, **parts)

    def forward(
        self,
        input_ids: Tensor,
        pixel_values: Tensor | None = None,
        image_sizes: Tensor | None = None,
        input_features: Tensor | None = None,
        input_features_mask: Tensor | None = None,
        mm_token_type_ids: Tensor | None = None,
    ) -> Any:
        embeds = self.words(input_ids)
        if pixel_values is not None:
            assert image_sizes is not None
            assert mm_token_type_ids is not None
            assert image_sizes.tolist() == [[*pixel_values.shape[-2:]]]
            assert torch.equal(mm_token_type_ids == 1, input_ids == 40)
            embeds = self._placed(embeds, input_ids == 40, self.see(pixel_values).flatten(2).mT[0])
        if input_features is not None:
            if input_features.shape[-1] % 28:
                raise ValueError(f"the frames ({input_features.shape[-1]}) must be a multiple of 28")
            heard = self.hear(input_features).mT
            assert input_features_mask is not None
            embeds = self._placed(embeds, input_ids == 41, heard[input_features_mask[:, ::4]])
        return embeds

    def _placed(self, embeds: Tensor, mask: Tensor, features: Tensor) -> Tensor:
        if int(mask.sum()) != len(features):
            raise ValueError(f"features and tokens do not match, tokens: {mask.sum()}, features: {len(features)}")
        return embeds.masked_scatter(mask[..., None], features)


Both.__module__ = "transformers.models.some"
_SEES, _HEARS = {"image_size": 32, "num_channels": 3}, {"num_mel_bins": 5}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            {"vision_config": SimpleNamespace(**_SEES), "audio_config": SimpleNamespace(**_HEARS)},
            "pixel_values=1,3,32,32; input_features=1,5,196; input_ids=[1, 81]; mm_token_type_ids=[1, 81]; "
            "image_sizes=[1, 2]; input_features_mask=[1, 196], words and what they are about",
        ),
        (
            {"vision_config": None, "audio_config": SimpleNamespace(**_HEARS)},
            "input_features=1,5,196; input_ids=[1, 65]; mm_token_type_ids=[1, 65]; input_features_mask=[1, 196], words",
        ),
        ({"vision_config": None, "audio_config": None}, "input_ids=int64[1,16]<50, from the config"),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_words_stand_beside_what_a_model_sees_and_hears(parts: dict[str, Any], said: str, device: str) -> None:
    assert guess(Both(**parts).to(device)).guessed.startswith(said)


class Shows(nn.Module):
    """Words beside patches of a picture, of which an error counts the numbers; the first table is not that of words."""

    main_input_name = "input_ids"
    input_modalities = ("text", "image")

    def __init__(self) -> None:
        super().__init__()
        self.see, self.places, self.words = nn.Conv2d(3, 600, 8, 8), nn.Embedding(16, 4), nn.Embedding(50, 600)
        sizes = SimpleNamespace(image_size=32, patch_size=8)
        self.config = SimpleNamespace(pages_config=SimpleNamespace(image_token_id=40, vision_config=sizes))

    def _beside(self, input_ids: Tensor, features: Tensor | None) -> Any:
        embeds, mask = self.words(input_ids), input_ids == 40
        if features is None:
            return embeds
        if int(mask.sum()) != len(features):
            raise ValueError(f"features and tokens do not match, tokens: {mask.sum()}, features: {features.numel()}")
        return embeds.masked_scatter(mask[..., None], features)


class Pages(Shows):
    def forward(
        self, input_ids: Tensor, pixel_values: Tensor | None = None, pixel_attention_mask: Tensor | None = None
    ) -> Any:
        if pixel_values is None:
            return self._beside(input_ids, None)
        pages = pixel_values[pixel_attention_mask.nonzero(as_tuple=True)]  # type: ignore[union-attr] # it must be there
        return self._beside(input_ids, self.see(pages).flatten(2).mT.flatten(0, 1))


class Plain(Shows):
    def forward(self, input_ids: Tensor, pixel_values: Tensor | None = None, image_sizes: Tensor | None = None) -> Any:
        assert image_sizes is None, "only other encoders take it"
        return self._beside(input_ids, None if pixel_values is None else self.see(pixel_values).flatten(2).mT[0])


class Patches(Shows):
    def forward(
        self, input_ids: Tensor, pixel_values: Tensor | None = None, image_grid_thw: Tensor | None = None
    ) -> Any:
        assert (pixel_values is None) == (image_grid_thw is None)
        return self._beside(input_ids, None if pixel_values is None else self.see(pixel_values).flatten(1))


Pages.__module__ = Plain.__module__ = Patches.__module__ = "transformers.models.some"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Pages(), "pixel_values=1,1,3,32,32; input_ids=[1, 32]; pixel_attention_mask=[1, 1], words and"),
        (Plain(), "pixel_values=1,3,32,32; input_ids=[1, 32], words and"),
        (Patches(), "pixel_values=16,3,8,8; input_ids=[1, 32]; image_grid_thw=[1, 3], words and"),
    ],
)
def test_pictures_come_as_pages_and_as_patches(model: nn.Module, said: str) -> None:
    assert guess(model).guessed.startswith(said)


class Listens(nn.Module):
    main_input_name = "input_values"


class Speaks(nn.Module):
    """Any encoder beside a decoder: what it calls its input is not what its parts take."""

    main_input_name = "inputs"

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(vocab_size=50, hidden_size=8, is_encoder_decoder=True)
        self.encoder = Listens()
        self.conv, self.words = nn.Conv1d(1, 8, 400, 320), nn.Embedding(50, 8)

    def forward(
        self,
        inputs: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        input_values: Tensor | None = None,
    ) -> Any:
        heard = input_values if inputs is None else inputs
        assert heard is not None
        return self.words(decoder_input_ids) + self.conv(heard[:, None]).mean(-1)[:, None]


class Sized(nn.Module):
    """Takes pictures of any size, each beside its rows and columns of patches."""

    main_input_name = "pixel_values"

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(image_size=48, patch_size=16)
        self.conv = nn.Conv2d(3, 8, 16, 16)

    def forward(self, pixel_values: Tensor, target_sizes: torch.IntTensor | None = None) -> Any:
        rows, columns = target_sizes.tolist()[0]  # type: ignore[union-attr]  # it fails on purpose
        return self.conv(pixel_values).flatten(2).view(len(pixel_values), 8, rows, columns)


class Packed(Sized):
    """Takes rows of flattened patches, with a grid of them for each picture."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Linear(3 * 16 * 16, 8)  # type: ignore[assignment]

    def forward(  # type: ignore[override]  # the argument is called otherwise
        self, pixel_values: Tensor, spatial_shapes: torch.LongTensor | None = None
    ) -> Any:
        embedded = self.conv(pixel_values)
        rows, columns = spatial_shapes.tolist()[0]  # type: ignore[union-attr]  # so does this
        return embedded.view(1, rows, columns, 8)


class Captions(nn.Module):
    """Puts what it sees before the words, for which none of these stands; takes words alone, too."""

    main_input_name = "input_ids"
    input_modalities = ("image", "text")

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(vocab_size=50, model_type="captions")
        self.words, self.conv = nn.Embedding(50, 8), nn.Conv2d(3, 8, 16, 16)

    def forward(self, input_ids: Tensor, pixel_values: Tensor | None = None) -> Any:
        words = self.words(input_ids)
        return words if pixel_values is None else torch.cat([self.conv(pixel_values).flatten(2).mT, words], 1)


class Placed(Sized):
    """Takes flattened patches, each with its row and column."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.rows = nn.Linear(3 * 16 * 16, 8), nn.Embedding(16, 8)

    def forward(self, pixel_values: Tensor, pixel_position_ids: torch.LongTensor) -> Any:  # type: ignore[override]
        """
        Args:
            pixel_position_ids (`torch.LongTensor` of shape `(batch_size, max_patches, 2)`): Where they lie.
        """
        return self.patch(pixel_values) + self.rows(pixel_position_ids).sum(-2)


Placed.__module__ = Captions.__module__ = Speaks.__module__ = Sized.__module__ = Packed.__module__ = (
    "transformers.models.some"
)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Speaks(), "input_values=1,16000; decoder_input_ids=int64[1,16]<50, from the config of Speaks"),
        (Placed(), "pixel_values=1,16,768; pixel_position_ids=int64[1,16,2]<16, from"),
        (Captions(), "input_ids=int64[1,16]<50; pixel_values=1,3,224,224, from the config of Captions"),
        (Sized(), "pixel_values=1,3,48,48; target_sizes=[1, 2], from"),
        (Packed(), "pixel_values=1,16,768; spatial_shapes=[1, 2], from"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_parts_and_patches_say_what_a_model_takes(model: nn.Module, said: str) -> None:
    assert guess(model).guessed.startswith(said)


def test_pictures_are_as_large_as_their_processor_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SimpleNamespace(
        IMAGE_PROCESSOR_MAPPING_NAMES={"captions": {"pil": None, "torchvision": "Lines"}},
        get_image_processor_class_from_name=lambda name: SimpleNamespace(size={"height": 48, "width": 320}),
    )
    monkeypatch.setitem(sys.modules, "transformers.models.auto.image_processing_auto", made)
    assert "pixel_values=1,3,48,320, from" in guess(Captions()).guessed
