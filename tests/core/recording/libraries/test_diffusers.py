"""Inputs for models of diffusers, from their configuration."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.core.recording.test_guesses import guess


class FromDiffusers(nn.Module):
    """As a denoiser of diffusers: its configuration names the sizes."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        self.config = config
        self.text = nn.Linear(6, 4)

    def forward(self, sample: Tensor, timestep: Tensor, encoder_hidden_states: Tensor) -> Any:
        if sample.dim() != self.config.get("axes", 4):
            raise ValueError(f"{sample.dim()} axes")
        return sample.mean() + self.text(encoder_hidden_states) * timestep


FromDiffusers.__module__ = "diffusers.models.some"


def test_a_diffusers_model_needs_no_shape() -> None:
    model = FromDiffusers(in_channels=4, sample_size=8, cross_attention_dim=6)
    said = "sample=1,4,8,8; timestep=int64[1]; encoder_hidden_states=1,8,6, from the config of FromDiffusers"
    assert guess(model).guessed == said
    film = FromDiffusers(in_channels=4, sample_size=8, cross_attention_dim=6, axes=5)
    assert guess(film).guessed.startswith("sample=1,4,5,8,8; timestep")


def test_a_large_sample_of_a_diffusers_model_is_guessed_smaller() -> None:
    model = FromDiffusers(in_channels=4, sample_size=512, cross_attention_dim=6)
    assert guess(model).guessed.startswith("sample=1,4,64,64; timestep")
    model = FromDiffusers(in_channels=4, sample_height=480, sample_width=720, cross_attention_dim=6)
    assert guess(model).guessed.startswith("sample=1,4,64,64; timestep")
    model = FromDiffusers(in_channels=4, sample_height=60, sample_width=90, cross_attention_dim=6)
    assert guess(model).guessed.startswith("sample=1,4,60,90; timestep")


def test_a_decoder_of_diffusers_takes_latents() -> None:
    class Decodes(FromDiffusers):
        def forward(self, z: Tensor) -> Any:  # type: ignore[override]
            return z.mean() + self.text.weight

    Decodes.__module__ = "diffusers.models.some"
    assert guess(Decodes(in_channels=4, sample_size=8)).guessed == "z=1,4,8,8, from the config of Decodes"


def test_a_diffusers_model_is_told_the_size_of_its_picture() -> None:
    class Sized(FromDiffusers):
        """As CogView4Transformer2DModel, which takes the size of the picture that is to be."""

        def forward(self, sample: Tensor, target_size: Tensor, encoder_hidden_states: Tensor) -> Any:
            assert encoder_hidden_states.shape[1] == 5
            return sample.mean() + torch.unflatten(target_size, 1, (2, 1)) + self.text(encoder_hidden_states).mean()

    Sized.__module__ = "diffusers.models.some"
    found = guess(Sized(in_channels=4, sample_size=8, cross_attention_dim=6, max_text_seq_length=5))
    assert found.guessed.startswith("sample=1,4,8,8; target_size=1,2; encoder_hidden_states=1,5,6, from the config")


def test_a_diffusers_model_takes_packed_patches_and_a_mask_of_its_prompt() -> None:
    class Packed(FromDiffusers):
        """As QwenImageTransformer2DModel, whose latents are packed."""

        def forward(  # type: ignore[override]
            self, hidden_states: Tensor, encoder_hidden_states: Tensor, encoder_attention_mask: Tensor, img_shapes: Any
        ) -> Any:
            if hidden_states.shape[1:] != (img_shapes[0][1] * img_shapes[0][2], 4):
                raise ValueError("the patches are in one row")
            return self.text(encoder_hidden_states) * encoder_attention_mask[..., None] + hidden_states.mean()

    Packed.__module__ = "diffusers.models.some"
    found = guess(Packed(in_channels=4, sample_size=8, cross_attention_dim=6))
    assert found.guessed == (
        "hidden_states=1,16,4; encoder_hidden_states=1,8,6; encoder_attention_mask=bool[1,8]; img_shapes=[(1, 4, 4)],"
        " from the config of Packed"
    )


def test_what_the_config_of_a_diffusers_model_names_is_passed() -> None:
    class Chunked(FromDiffusers):
        """As a model that is called with what its configuration has."""

        def forward(self, sample: Tensor, chunks: list[int]) -> Any:  # type: ignore[override]
            return [part.mean() + self.text.weight for part in torch.split(sample, chunks, 1)]

    Chunked.__module__ = "diffusers.models.some"
    found = guess(Chunked(in_channels=4, sample_size=8, chunks=[1, 3]))
    assert found.guessed == "sample=1,4,8,8; chunks=[1, 3], from the config of Chunked"


def test_a_class_is_one_that_a_diffusers_model_knows() -> None:
    class Conditioned(FromDiffusers):
        """As DiTTransformer2DModel."""

        def forward(self, sample: Tensor, class_labels: Tensor) -> Any:  # type: ignore[override]
            return sample.mean() + self.text.weight[class_labels]

    Conditioned.__module__ = "diffusers.models.some"
    found = guess(Conditioned(in_channels=4, sample_size=8, num_embeds_ada_norm=3))
    assert found.guessed == "sample=1,4,8,8; class_labels=int64[1]<3, from the config of Conditioned"


def test_packed_patches_come_with_their_rows_and_frames() -> None:
    class Rows(FromDiffusers):
        """As LTXVideoTransformer3DModel, which is told of what its row of patches was made."""

        def forward(  # type: ignore[override]
            self, hidden_states: Tensor, num_frames: int = 0, height: int = 0, width: int = 0
        ) -> Any:
            assert hidden_states.shape[1] == num_frames * height * width
            return hidden_states.mean() + self.text.weight

    Rows.__module__ = "diffusers.models.some"
    found = guess(Rows(in_channels=4, sample_size=8))
    assert found.guessed == "hidden_states=1,16,4; num_frames=1; height=4; width=4, from the config of Rows"


def test_an_embedding_is_denoised_too() -> None:
    class Prior(FromDiffusers):
        """As PriorTransformer, which denoises an embedding."""

        def forward(self, hidden_states: Tensor, encoder_hidden_states: Tensor) -> Any:  # type: ignore[override]
            if hidden_states.dim() != 2:
                raise ValueError("an embedding is wanted")
            assert encoder_hidden_states.shape[1] == 7
            return self.text(hidden_states[:, None] + encoder_hidden_states)

    Prior.__module__ = "diffusers.models.some"
    found = guess(Prior(embedding_dim=6, num_embeddings=7))
    assert found.guessed.startswith("hidden_states=1,6; encoder_hidden_states=1,7,6, from the config of Prior")


def test_additional_conditions_are_given() -> None:
    class Conditions(FromDiffusers):
        """As PixArtTransformer2DModel."""

        def forward(self, sample: Tensor, added_cond_kwargs: dict[str, Tensor]) -> Any:  # type: ignore[override]
            return sample.mean() + self.text.weight + added_cond_kwargs["resolution"].flatten().mean()

    Conditions.__module__ = "diffusers.models.some"
    assert guess(Conditions(in_channels=4, sample_size=8, caption_channels=6)).guessed
