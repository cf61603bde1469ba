"""Inputs from what models of well-known libraries say of themselves. None of the libraries is imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from torchrecorder.recording.guess.guess import Guess, is_from, parameters, required
from torchrecorder.recording.target import as_arguments
from torchrecorder.request import InputSpec

_TOKENS = 16
_PROMPT_TOKENS = 8
_FRAMES = 5  # video autoencoders want 4k + 1 frames
_LATENT_SIDE = 32  # height and width of a latent image, if the configuration does not say
_PROMPT_WIDTHS = (
    *("caption_channels", "joint_attention_dim", "cross_attention_dim", "text_embed_dim", "text_dim"),
    *("encoder_hid_dim", "text_in_channels", "embedding_dim"),
)


def timm(model: Any, batch: int) -> Iterator[Guess]:
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


def transformers(model: Any, batch: int) -> Iterator[Guess]:
    """The inputs that `main_input_name` and the signature ask for, with the sizes of the configuration."""
    if not (is_from(model, "transformers") and isinstance(getattr(model, "main_input_name", None), str)):
        return
    names = [p.name for p in parameters(model)]
    main = model.main_input_name
    needed = dict.fromkeys([main, *(p.name for p in required(model))])
    decoder = ["decoder_input_ids"] if getattr(model.config, "is_encoder_decoder", False) else []
    both = [name for name in ("input_ids", "pixel_values") if name in names]
    why = f"from the config of {type(model).__name__}"
    for wanted in ([main, *decoder], [*needed], [*needed, *decoder], [*both, *decoder], [main]):
        wanted = [name for name in dict.fromkeys(wanted) if name in names]
        if wanted and all(name in _TRANSFORMERS_INPUTS for name in wanted):
            for size in (0, 1):
                made = [_TRANSFORMERS_INPUTS[name](_TransformersConfig(model.config), batch, size) for name in wanted]
                yield Guess(
                    why, tuple(InputSpec(s.shape, s.dtype, n, s.high) for n, s in zip(wanted, made, strict=True))
                )
    dummy = getattr(model, "dummy_inputs", None)
    if dummy:
        yield Guess(f"the dummy_inputs of {type(model).__name__}", arguments=as_arguments(dict(dummy)))


class _TransformersConfig:
    """A configuration together with the ones nested in it."""

    def __init__(self, config: Any) -> None:
        inner = ("text_config", "vision_config", "audio_config", "backbone_config", "encoder", "decoder")
        self._parts = [config, *(part for name in inner if (part := getattr(config, name, None)) is not None)]

    def get(self, *names: str, default: Any) -> Any:
        """The first of these attributes that is set."""
        for part in self._parts:
            for name in names:
                value = part.get(name) if isinstance(part, dict) else getattr(part, name, None)
                if value is not None:
                    return value
        return default

    def square(self) -> tuple[int, int]:
        """Height and width of an image."""
        size = self.get("image_size", "img_size", "input_size", default=224)
        if isinstance(size, dict):
            size = (size.get("height", 224), size.get("width", 224))
        return (size, size) if isinstance(size, int) else (int(size[0]), int(size[-1]))


_Make = Callable[[_TransformersConfig, int, int], InputSpec]


def _token_ids(config: _TransformersConfig, batch: int, _size: int) -> InputSpec:
    longest = config.get("max_position_embeddings", "n_positions", default=_TOKENS)
    length = min(_TOKENS, longest) if isinstance(longest, int) and longest > 0 else _TOKENS
    return InputSpec((batch, length), "int64", high=int(config.get("vocab_size", default=100)))


def _image(config: _TransformersConfig, batch: int, size: int) -> InputSpec:
    channels = config.get("num_channels", "in_channels", "in_chans", default=3)
    frames = config.get("num_frames", default=None)
    height, width = config.square() if size == 0 else (224, 224)
    return InputSpec((batch, *((frames,) if frames else ()), channels, height, width))


def _waveform(config: _TransformersConfig, batch: int, size: int) -> InputSpec:
    bins = config.get("num_mel_bins", default=None)
    if bins and size == 0:
        return InputSpec((batch, config.get("max_length", default=1024), bins))
    return InputSpec((batch, 16000))


def _features(config: _TransformersConfig, batch: int, size: int) -> InputSpec:
    bins = config.get(
        "num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "input_size", default=80
    )
    if size == 0:
        return InputSpec((batch, bins, 2 * config.get("max_source_positions", default=50)))
    return InputSpec((batch, 100, bins))


def _series(config: _TransformersConfig, batch: int, size: int) -> InputSpec:
    lags = config.get("lags_sequence", default=[0])
    length = config.get("context_length", "prediction_length", default=16) + max(lags)
    channels = config.get("num_input_channels", default=None)
    return InputSpec((batch, length, channels) if channels and size == 0 else (batch, length))


def _time_features(config: _TransformersConfig, batch: int, size: int) -> InputSpec:
    return InputSpec((*_series(config, batch, 1).shape, config.get("num_time_features", default=0)))


def _embeddings(config: _TransformersConfig, batch: int, _size: int) -> InputSpec:
    return InputSpec((batch, _TOKENS, config.get("d_model", "hidden_size", default=32)))


_TRANSFORMERS_INPUTS: dict[str, _Make] = {
    "input_ids": _token_ids,
    "decoder_input_ids": _token_ids,
    "pixel_values": _image,
    "pixel_values_videos": _image,
    "input_values": _waveform,
    "input_features": _features,
    "past_values": _series,
    "past_observed_mask": _series,
    "past_time_features": _time_features,
    "inputs": _embeddings,
    "inputs_embeds": _embeddings,
}
"""How each input that transformers names is made; a second size is tried where models differ."""


def diffusers(model: nn.Module, batch: int) -> Iterator[Guess]:
    """The inputs that the configuration describes: all of them, then only the required ones."""
    config: Any = getattr(model, "config", None)
    if not is_from(model, "diffusers") or not isinstance(config, Mapping):
        return
    names = [p.name for p in parameters(model)]
    needed = [p.name for p in required(model)]
    for main in _sample_shapes(config, batch, "img_ids" in names):
        known = _diffusers_inputs(config, batch, main)
        for wanted in (names, needed):
            chosen = [name for name in wanted if name in known]
            specs = [known[name] for name in chosen if isinstance(known[name], InputSpec)]
            fixed = {name: known[name] for name in chosen if not isinstance(known[name], InputSpec)}
            if set(needed) <= set(chosen):
                why = f"from the config of {type(model).__name__}"
                yield Guess(why, tuple(specs), fixed=fixed)


def _sample_shapes(config: Mapping[str, Any], batch: int, is_packed: bool) -> Iterator[tuple[int, ...]]:
    """Shapes of the noisy sample: image, packed patches, audio or video."""
    channels = config.get("in_channels") or config.get("num_channels") or 3
    if is_packed:
        yield (batch, 16, channels)
        return
    for side in dict.fromkeys((config.get("sample_size") or _LATENT_SIDE, _LATENT_SIDE, 64)):
        height, width = side if isinstance(side, (tuple, list)) else (side, side)
        yield (batch, channels, height, width)
        yield (batch, channels, _FRAMES, height, width)
        yield (batch, _FRAMES, channels, height, width)
        yield (batch, channels, width)


def _diffusers_inputs(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> dict[str, Any]:
    """Inputs by the name that diffusers has for them; a value that is not an `InputSpec` is passed as it is."""
    found: dict[str, Any] = {name: InputSpec(main, name=name) for name in ("sample", "hidden_states", "x")}
    found["timestep"] = InputSpec((batch,), "int64", "timestep")
    for name, make in _CONDITIONS.items():
        spec = make(config, batch, main)
        if spec is not None:
            found[name] = InputSpec(spec.shape, spec.dtype, name, spec.high) if isinstance(spec, InputSpec) else spec
    return found


def _prompt(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    widths = [config.get(name) for name in _PROMPT_WIDTHS]
    width = next((w[0] if isinstance(w, (tuple, list)) else w for w in widths if w), None)
    return None if width is None else InputSpec((batch, _PROMPT_TOKENS, width))


def _pooled_prompt(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    width = config.get("pooled_projection_dim")
    return None if width is None else InputSpec((batch, width))


def _class_labels(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    classes = config.get("num_class_embeds") or config.get("num_embeds_ada_norm")
    return InputSpec((batch,), "int64", high=classes) if classes else None


def _added(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> dict[str, Any] | None:
    """What Stable Diffusion XL adds to the time embedding: the pooled prompt and the crop."""
    if config.get("addition_embed_type") == "text_time":
        width = config["projection_class_embeddings_input_dim"] - 6 * config["addition_time_embed_dim"]
        return {"text_embeds": torch.zeros(batch, width), "time_ids": torch.zeros(batch, 6)}
    return {"resolution": None, "aspect_ratio": None} if "caption_channels" in config else None


def _control(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    channels = config.get("conditioning_channels")
    return InputSpec((batch, channels, *(8 * side for side in main[2:]))) if channels and len(main) == 4 else None


def _guidance(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    return InputSpec((batch,)) if config.get("guidance_embeds") else None


def _position_ids(length: Callable[[tuple[int, ...]], int]) -> Callable[..., InputSpec]:
    return lambda config, batch, main: InputSpec((length(main), len(config.get("axes_dims_rope") or (0, 0, 0))))


_CONDITIONS: dict[str, Callable[[Mapping[str, Any], int, tuple[int, ...]], Any]] = {
    "encoder_hidden_states": _prompt,
    "pooled_projections": _pooled_prompt,
    "class_labels": _class_labels,
    "added_cond_kwargs": _added,
    "controlnet_cond": _control,
    "guidance": _guidance,
    "img_ids": _position_ids(lambda main: main[1]),
    "txt_ids": _position_ids(lambda main: _PROMPT_TOKENS),
}
