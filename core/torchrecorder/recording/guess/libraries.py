"""Inputs from what models of well-known libraries say of themselves. None of the libraries is imported here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from torchrecorder.recording.guess.documented import documented
from torchrecorder.recording.guess.guess import Guess, is_from, parameters, required
from torchrecorder.recording.guess.roles import from_roles, input_for, masked, nodes
from torchrecorder.recording.guess.signature import from_names
from torchrecorder.recording.target import as_arguments
from torchrecorder.request import InputSpec

_TOKENS = 16
_PROMPT_TOKENS = 8
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


def torch_geometric(model: nn.Module, batch: int) -> Iterator[Guess]:
    """A small graph, of which each class of the library takes at least the nodes."""
    if is_from(model, "torch_geometric"):
        yield from (replace(guess, grade="model") for guess in from_names(model, batch))
        wanted = required(model) or parameters(model)[:1]
        for _, node, _ in nodes(model):
            found = {p.name: input_for(p, model, node, batch) for p in wanted}
            yield Guess.named("a small graph, for which the classes of torch_geometric are", found)


def timm(model: nn.Module, batch: int) -> Iterator[Guess]:
    """Images of the size that `pretrained_cfg` or the patch embedding says."""
    if not is_from(model, "timm"):
        return
    config = getattr(model, "pretrained_cfg", None) or getattr(model, "default_cfg", None) or {}
    size = getattr(config, "input_size", None) or (config.get("input_size") if isinstance(config, dict) else None)
    channels = size[0] if size else 3
    own = getattr(getattr(model, "patch_embed", None), "img_size", None)
    if isinstance(own, (tuple, list)):
        yield Guess("from the patch embedding", (InputSpec((batch, channels, *own)),))
    if size:
        yield Guess(f"from the default_cfg of {type(model).__name__}", (InputSpec((batch, *size)),))


def transformers(model: nn.Module, batch: int) -> Iterator[Guess]:
    """The inputs that `main_input_name` and the signature ask for, with the sizes of the configuration."""
    if not (is_from(model, "transformers") and isinstance(getattr(model, "main_input_name", None), str)):
        return
    named = {p.name: p for p in parameters(model)}
    config = _TransformersConfig(model.config)
    main = str(model.main_input_name)
    needed = dict.fromkeys([main, *(p.name for p in required(model))])
    decoder = ["decoder_input_ids"] if getattr(model.config, "is_encoder_decoder", False) else []
    if any(name.endswith("grid_thw") for name in needed):
        yield from from_roles(model, batch)  # rows of patches: the first layer says how long one is, no configuration
    both = [name for name in ("input_ids", "pixel_values") if name in named]
    state = InputSpec((batch, _TOKENS, config.get("d_model", "hidden_size", default=32)))
    why = f"from the config of {type(model).__name__}"
    said = {name: spec for name, spec in documented(model, batch).items() if name == "input_values"}
    for wanted in ([main, *decoder], [*needed], [*needed, *decoder], [*both, *decoder], [*needed, *both], [main]):
        for size in (0, 1, 2) if said else (0, 1):
            found = {
                name: (said.get(name) if size == 2 else None)
                or _transformers_input(name, config, batch, size)
                or input_for(named[name], model, state, batch)
                for name in dict.fromkeys(wanted)
                if name in named
            }
            if found:
                yield Guess.named(why, found)
    dummy = getattr(model, "dummy_inputs", None)
    if dummy:
        yield Guess(f"the dummy_inputs of {type(model).__name__}", arguments=as_arguments(dict(dummy)))


class _TransformersConfig:
    """A configuration together with the ones nested in it and in those, the outer ones first."""

    def __init__(self, config: object) -> None:
        outer = self._nested(config)
        self._parts = [config, *outer, *(part for one in outer for part in self._nested(one))]

    @staticmethod
    def _nested(config: object) -> list[object]:
        names = ("text_config", "vision_config", "audio_config", "backbone_config", "encoder", "decoder")
        held = (getattr(config, name, None) for name in (*names, "prompt_encoder_config"))
        return [part for part in held if part is not None]

    def get(self, *names: str, default: object) -> Any:
        """The first of these attributes that is set."""
        for part in self._parts:
            for name in names:
                value = part.get(name) if isinstance(part, dict) else getattr(part, name, None)
                if value is not None:
                    return value
        return default

    def square(self) -> tuple[int, int]:
        size = self.get("image_size", "img_size", "input_size", default=224)
        if isinstance(size, dict):
            size = (size.get("height", 224), size.get("width", 224))
        return (size, size) if isinstance(size, int) else (int(size[0]), int(size[-1]))


def _transformers_input(name: str, config: _TransformersConfig, batch: int, size: int) -> InputSpec | None:
    """The input that transformers gives this name, None for other names; `size` 1 is tried where models differ."""
    shape: tuple[int, ...]
    match name:
        case "input_ids" | "decoder_input_ids":
            longest = config.get("max_position_embeddings", "n_positions", default=_TOKENS)
            length = min(_TOKENS, longest) if isinstance(longest, int) and longest > 0 else _TOKENS
            return InputSpec((batch, length), "int64", name, int(config.get("vocab_size", default=100)))
        case "inputs" | "inputs_embeds" | "hidden_states":
            shape = (batch, _TOKENS, config.get("d_model", "hidden_size", default=32))
        case "pixel_values" | "pixel_values_videos":
            channels = config.get("num_channels", "in_channels", "in_chans", default=3)
            frames = config.get("num_frames", default=None)
            sides = config.square() if size == 0 else (224, 224)
            shape = (batch, *((frames,) if frames else ()), channels, *sides)
        case "input_values":
            bins = config.get("num_mel_bins", default=None)
            shape = (batch, 16000)
            if bins and size == 0:
                shape = (batch, config.get("max_length", default=1024), bins)
        case "input_features":
            names = ("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "input_size")
            bins = config.get(*names, default=80)
            shape = (batch, 100, bins)
            if size == 0:
                shape = (batch, bins, 2 * config.get("max_source_positions", default=50))
        case "past_values" | "past_observed_mask" | "past_time_features":
            length = config.get("context_length", "prediction_length", default=16)
            length += max(config.get("lags_sequence", default=[0]))
            channels = config.get("num_input_channels", default=None)
            shape = (batch, length, channels) if channels and size == 0 else (batch, length)
            if name == "past_time_features":
                shape = (batch, length, config.get("num_time_features", default=0))
        case _:
            return None
    return InputSpec(shape, name=name)


def diffusers(model: nn.Module, batch: int) -> Iterator[Guess]:
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
        usual = _diffusers_inputs(config, batch, main)
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
    """Shapes of the noisy sample: image, packed patches, audio or video."""
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


def _diffusers_inputs(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> dict[str, object]:
    """Inputs by the name that diffusers has for them; a value that is not an `InputSpec` is passed as it is."""
    found: dict[str, object] = {
        name: InputSpec(main, name=name) for name in ("sample", "hidden_states", "x", "z", "latents")
    }

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
