"""Inputs for models of transformers, from their configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from torchrecorder.recording.guess.docstrings import documented
from torchrecorder.recording.guess.guess import Guess, is_from, parameters, required
from torchrecorder.recording.guess.names import ALONE, role_of
from torchrecorder.recording.guess.roles import from_roles, input_for
from torchrecorder.recording.target import as_arguments
from torchrecorder.request import InputSpec

_TOKENS = 16


def inputs(model: nn.Module, batch: int) -> Iterator[Guess]:
    """The inputs that `main_input_name` and the signature ask for, with the sizes of the configuration."""
    if not (is_from(model, "transformers") and isinstance(getattr(model, "main_input_name", None), str)):
        return
    named = {p.name: p for p in parameters(model)}
    config = _Config(model.config)
    main = str(model.main_input_name)
    needed = dict.fromkeys([main, *(p.name for p in required(model))])
    decoder = ["decoder_input_ids"] if getattr(model.config, "is_encoder_decoder", False) else []
    if any(role_of(name, (ALONE,)) == "grid" for name in needed):
        yield from from_roles(model, batch)  # rows of patches: the first layer says how long one is, no configuration
    both = [name for name in ("input_ids", "pixel_values") if name in named]
    state = InputSpec((batch, _TOKENS, config.get("d_model", "hidden_size", default=32)))
    why = f"from the config of {type(model).__name__}"
    said = {name: spec for name, spec in documented(model, batch).items() if name == "input_values"}
    for wanted in ([main, *decoder], [*needed], [*needed, *decoder], [*both, *decoder], [*needed, *both], [main]):
        for size in (0, 1, 2) if said else (0, 1):
            found = {
                name: (said.get(name) if size == 2 else None)
                or _input(name, config, batch, size)
                or input_for(named[name], model, state, batch)
                for name in dict.fromkeys(wanted)
                if name in named
            }
            if found:
                yield Guess.named(why, found)
    dummy = getattr(model, "dummy_inputs", None)
    if dummy:
        yield Guess(f"the dummy_inputs of {type(model).__name__}", arguments=as_arguments(dict(dummy)))


class _Config:
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


def _input(name: str, config: _Config, batch: int, size: int) -> InputSpec | None:
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
