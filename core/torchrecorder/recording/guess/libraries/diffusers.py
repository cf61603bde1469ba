"""Inputs for models of diffusers, from their configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from torchrecorder.recording.guess.docstrings import documented
from torchrecorder.recording.guess.guess import Guess, is_from, parameters, required
from torchrecorder.recording.guess.roles import input_for, masked
from torchrecorder.request import InputSpec

_PROMPT_TOKENS = 8  # few, and not as many as there are patches
_FRAMES = 5  # video autoencoders want 4k + 1 frames
_LARGEST_LATENT = 160
"""Side from which on a sample is a picture, which an autoencoder takes in any size."""
_MAIN = ("sample", "hidden_states", "x", "z", "latents")
_PATCHES = 16  # of a packed latent image, 4 by 4
_LATENT_SIDE = 32  # height and width of a latent image, if the configuration does not say
_PROMPT_WIDTHS = (
    *("caption_channels", "joint_attention_dim", "cross_attention_dim", "text_embed_dim", "text_dim"),
    *("encoder_hid_dim", "text_in_channels", "embedding_dim"),
)


def inputs(model: nn.Module, batch: int) -> Iterator[Guess]:
    """The inputs that the configuration describes: all of them, then only the required ones."""
    config: Any = getattr(model, "config", None)
    if not is_from(model, "diffusers") or not isinstance(config, Mapping):
        return
    names = [p.name for p in parameters(model)]
    needed = [p.name for p in required(model)]
    unknown = [p for p in required(model) if p.kind is p.POSITIONAL_OR_KEYWORD]
    said = documented(model, batch)
    first = [spec.shape for name in names[:1] if (spec := said.get(name)) is not None]
    for main in dict.fromkeys((*first, *_sample_shapes(config, batch, "img_ids" in names))):
        known = {p.name: input_for(p, model, InputSpec(main), batch) for p in unknown}
        known |= {p.name: said[p.name] for p in unknown if p.name in said}
        usual = _usual_inputs(config, batch, main)
        known |= {name: _as_taken(usual[name], known.get(name)) for name in usual}
        known |= {p.name: config[p.name] for p in unknown if config.get(p.name) is not None}
        known = masked(known)
        for wanted in (names, needed):
            chosen = [name for name in wanted if name in known]
            if set(needed) <= set(chosen) and chosen:
                yield Guess.named(f"from the config of {type(model).__name__}", {name: known[name] for name in chosen})


def _as_taken(usual: object, known: object) -> object:
    """The usual input, in as many lists as the forward's annotation has around it."""
    if not isinstance(known, list) or not isinstance(known[0], (InputSpec, list)):
        return usual
    return usual if isinstance(usual, list) and isinstance(known[0], InputSpec) else [usual] * len(known)


_OF_SAMPLES = (
    *("in_channels", "num_channels", "out_channels", "audio_channels", "latent_channels", "z_dim", "embedding_dim"),
    *("sample_size", "sample_height", "sample_frames", "patch_size"),
)
"""What the configuration of a model for pictures, films or sound has at least one of."""


def _sample_shapes(config: Mapping[str, Any], batch: int, is_packed: bool) -> Iterator[tuple[int, ...]]:
    channels = config.get("in_channels") or config.get("num_channels") or config.get("audio_channels") or 3
    if not is_packed and not any(config.get(name) for name in _OF_SAMPLES):
        return  # it describes a width alone, which the first layer takes
    if is_packed:
        yield (batch, _PATCHES, channels)
        return
    own: Any = (config.get("sample_height"), config.get("sample_width"))
    frames = _FRAMES
    if length := config.get("sample_frames"):
        frames = (length - 1) // (config.get("temporal_compression_ratio") or 1) + 1
    sides = [own if all(own) else config.get("sample_size") or _LATENT_SIDE, 64]
    if max(sides[0] if isinstance(sides[0], (tuple, list)) else sides[:1]) > _LARGEST_LATENT:
        sides.reverse()
    for side in dict.fromkeys(sides):
        height, width = side if isinstance(side, (tuple, list)) else (side, side)
        yield (batch, channels, height, width)
        yield (batch, channels, frames, height, width)
        yield (batch, frames, channels, height, width)
        yield (batch, channels, width)
    yield (batch, _PATCHES, channels)
    if width := config.get("embedding_dim"):
        yield (batch, width)


def _usual_inputs(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> dict[str, object]:
    """Inputs by the name that diffusers has for them; a value that is not an `InputSpec` is passed as it is."""
    found: dict[str, object] = {name: InputSpec(main, name=name) for name in _MAIN}

    def add(name: str, *shape: int, dtype: str = "float32", high: int | None = None) -> None:
        found[name] = InputSpec(shape, dtype, name, high)

    add("timestep", batch, dtype="int64")
    widths = [config.get(name) for name in _PROMPT_WIDTHS]
    width = next((w[0] if isinstance(w, (tuple, list)) else w for w in widths if w), None)
    if width is not None:
        tokens = config.get("max_text_seq_length") or config.get("num_embeddings") or _PROMPT_TOKENS
        add("encoder_hidden_states", batch, tokens, width)
    if (pooled := config.get("pooled_projection_dim")) is not None:
        add("pooled_projections", batch, pooled)
    if classes := config.get("num_class_embeds") or config.get("num_embeds_ada_norm"):
        add("class_labels", batch, dtype="int64", high=classes)
    if config.get("addition_embed_type") == "text_time":
        # Stable Diffusion XL adds the pooled prompt and the crop to the time embedding.
        width = config["projection_class_embeddings_input_dim"] - 6 * config["addition_time_embed_dim"]
        found["added_cond_kwargs"] = {"text_embeds": torch.zeros(batch, width), "time_ids": torch.zeros(batch, 6)}
    elif "caption_channels" in config:
        found["added_cond_kwargs"] = {"resolution": torch.zeros(batch, 2), "aspect_ratio": torch.zeros(batch, 1)}
    channels = config.get("conditioning_channels") or config.get("ctrl_conditioning_channels")
    if channels and len(main) == 4:
        add("controlnet_cond", batch, channels, *(8 * side for side in main[2:]))
    elif len(main) == 3:  # packed like what it is for
        found["controlnet_cond"] = InputSpec(main)
    if config.get("guidance_embeds"):
        add("guidance", batch)
    if main[1:2] == (_PATCHES,) and len(main) == 3:
        found |= {"img_shapes": [(1, 4, 4)] * batch, "num_frames": 1, "height": 4, "width": 4}
        found["audio_num_frames"] = _PATCHES
    axes = len(config.get("axes_dims_rope") or (0, 0, 0))
    add("img_ids", main[1], axes)
    add("txt_ids", _PROMPT_TOKENS, axes)
    return found
