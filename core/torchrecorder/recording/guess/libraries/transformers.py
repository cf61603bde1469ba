"""Inputs for models of transformers, from their configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

import torch
from torch import nn

from torchrecorder.recording.guess.docstrings import documented
from torchrecorder.recording.guess.guess import Guess, held, is_from, parameters, required
from torchrecorder.recording.guess.roles import from_roles, input_for
from torchrecorder.recording.shared_names import ALONE, role_of
from torchrecorder.recording.target import as_arguments
from torchrecorder.request import InputSpec

_TOKENS = 16  # few, and fewer than any table of positions has


def inputs(model: nn.Module, batch: int) -> Iterator[Guess]:
    """The inputs that `main_input_name` and the signature ask for, with the sizes of the configuration."""
    if not (is_from(model, "transformers") and isinstance(getattr(model, "main_input_name", None), str)):
        return
    named = {p.name: p for p in parameters(model)}
    config = _Config(model.config)
    parts = (model, getattr(model, "encoder", None))  # a model made of two calls its input what the first one does
    mains = [name for part in parts if (name := str(getattr(part, "main_input_name", ""))) in named]
    main = (mains or [str(model.main_input_name)])[-1]
    needed = dict.fromkeys([main, *(p.name for p in required(model))])
    decoder = ["decoder_input_ids"] if getattr(model.config, "is_encoder_decoder", False) else []
    if any(role_of(name, (ALONE,)) == "grid" for name in needed):
        yield from from_roles(model, batch)  # rows of patches: the first layer says how long one is, no configuration
    both = [name for name in ("input_ids", "pixel_values") if name in named]
    state = InputSpec((batch, _TOKENS, config.get("d_model", "hidden_size", default=32)))
    why = f"from the config of {type(model).__name__}"
    shown = documented(model, batch)
    said = {name: spec for name, spec in shown.items() if name == "input_values"}
    orders = [[main, *decoder], [*needed], [*needed, *decoder], [*both, *decoder], [*needed, *both], [main]]
    if len(both) == 2 and "image" in getattr(model, "input_modalities", ()):  # no token need stand for what it sees
        orders.insert(0, [*both, *decoder])
    for wanted in orders:
        for size in (0, 1, 2) if said else (0, 1):
            found = {
                name: (said.get(name) if size == 2 else None)
                or _input(name, config, batch, size)
                or shown.get(name)
                or input_for(named[name], model, state, batch)
                for name in dict.fromkeys(wanted)
                if name in named
            }
            if found:
                yield Guess.named(why, found)
    dummy = getattr(model, "dummy_inputs", None)
    if dummy:
        yield Guess(f"the dummy_inputs of {type(model).__name__}", arguments=as_arguments(dict(dummy)))


_MEDIA = {"image": ("vision_config", "pixel_values"), "audio": ("audio_config", "input_features", "input_values")}
"""Where the configuration of a medium is, and what a forward calls it that takes it beside words."""
_KINDS = {"image": 1, "audio": 3}
"""What `mm_token_type_ids` says of the tokens in the place of a medium."""
_PLACEHOLDERS = 8  # a first try: the forward says how many features there are
_OF_BINS = ("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "input_size", "input_dim")
_FRAMES = 192
"""Frames of a spectrogram: more than a second, and a number that encoders can halve often."""


def with_media(model: nn.Module, batch: int) -> Iterator[Guess]:
    """Words behind a picture, a sound or both, for models that take them together, as their processors write it.

    In the place of a medium stand tokens that mean nothing else, one for each of its features; how many these are, a
    forward says that finds others.
    """
    if not is_from(model, "transformers") or getattr(model, "main_input_name", "") != "input_ids":
        return
    named = [p.name for p in parameters(model)]
    config = _Config(model.config)
    found: dict[str, tuple[int, str, _Config]] = {}
    for kind, (where, *names) in _MEDIA.items():
        token = config.get(f"{kind}_token_id", f"{kind}_token_index", default=None)
        part = config.get(where, default=None) or (None if hasattr(model.config, where) else model.config)
        name = next((name for name in names if name in named), None)
        if kind in getattr(model, "input_modalities", ()) and type(token) is int and name and part:
            found[kind] = token, name, _Config(part)
    for chosen in dict.fromkeys(((*found,), *((kind,) for kind in found))) if found else ():
        for size in range(5 if "pixel_values" in named else 2):
            tokens = [found[kind][0] for kind in chosen for _ in range(_PLACEHOLDERS)]
            words = [word for word in range(1, 100) if word not in tokens][:_TOKENS]
            values: dict[str, Any] = {"input_ids": torch.tensor([tokens + words] * batch)}
            if "mm_token_type_ids" in named:
                kinds = [_KINDS[kind] for kind in chosen for _ in range(_PLACEHOLDERS)]
                values["mm_token_type_ids"] = torch.tensor([kinds + [0] * len(words)] * batch)
            for kind in chosen:
                values |= _medium(*found[kind][1:], named, batch, size)
            yield Guess.named(f"words and what they are about, from the config of {type(model).__name__}", values)


def _medium(name: str, config: _Config, named: Sequence[str], batch: int, size: int) -> dict[str, Any]:
    """The medium, and the parameters that say how large it is and which of it counts; `size` counts the tries."""
    if name == "pixel_values" and "image_grid_thw" in named:  # patches, as rows or as small pictures
        patch = config.get("patch_size", "spatial_patch_size", default=14)
        channels = config.get("in_channels", "in_chans", "num_channels", default=3)
        row = channels * config.get("temporal_patch_size", default=1) * patch * patch
        shape = (channels, patch, patch) if size == 1 else (row,)
        return {name: InputSpec((16 * batch, *shape)), "image_grid_thw": torch.tensor([[1, 4, 4]] * batch)}
    is_wave = name == "input_values" and size
    other = 0 if name == "pixel_values" and size > 1 else size
    spec = InputSpec((batch, 1, 16000)) if is_wave else _input(name, config, batch, other, _FRAMES)
    assert spec is not None
    if name == "pixel_values":  # the third and the fourth are of one page, the last is without what may be left out
        pages = replace(spec, shape=(batch, 1, *spec.shape[1:])) if size in (2, 3) else spec
        sizes = {"image_sizes": torch.tensor([spec.shape[-2:]] * batch)} if size < 4 else {}
        counts = {"pixel_attention_mask": torch.ones(batch, 1, dtype=torch.bool)} if size == 3 else {}
        return {name: pages} | {key: value for key, value in (sizes | counts).items() if key in named}
    mask = next((mask for mask in (f"{name}_mask", "padding_mask", "feature_attention_mask") if mask in named), "")
    is_last = spec.shape[-1] != config.get(*_OF_BINS, default=80)
    ones = torch.ones(batch, spec.shape[-1 if is_last else -2], dtype=torch.bool)
    return {name: spec} | ({mask: ones} if mask else {})


class _Config:
    """A configuration together with the ones nested in it and in those, the outer ones first."""

    def __init__(self, config: object) -> None:
        outer = self._nested(config)
        self._parts = [config, *outer, *(part for one in outer for part in self._nested(one))]

    @staticmethod
    def _nested(config: object) -> list[object]:
        first = ("text_config", "vision_config", "audio_config", "backbone_config", "encoder", "decoder")
        others = (name for name in getattr(config, "__dict__", ()) if name.endswith("_config") and name not in first)
        parts = (getattr(config, name, None) for name in (*first, *others))
        return [part for part in parts if part is not None]

    def get(self, *names: str, default: object) -> Any:
        """The first of these attributes that is set."""
        values = (held(part, name) for part in self._parts for name in names)
        return next((value for value in values if value is not None), default)

    def square(self) -> tuple[int, int]:
        size = self.get("image_size", "img_size", "input_size", default=None) or self._processed()
        if isinstance(size, dict):
            size = (size.get("height", 224), size.get("width", 224))
        return (size, size) if isinstance(size, int) else (int(size[0]), int(size[-1]))

    def _processed(self) -> Any:
        """The size that the image processor of this type of model gives all pictures, such as lines of text."""
        with suppress(Exception):
            auto = import_module("transformers.models.auto.image_processing_auto")
            kinds = auto.IMAGE_PROCESSOR_MAPPING_NAMES[self.get("model_type", default="")]
            size = auto.get_image_processor_class_from_name(next(filter(None, kinds.values()))).size
            return size["height"], size["width"]
        return 224


def _input(name: str, config: _Config, batch: int, size: int, heard: int = 100) -> InputSpec | None:
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
            bins = config.get(*_OF_BINS, default=80)
            shape = (batch, heard, bins)
            if size == 0:
                shape = (batch, bins, 2 * config.get("max_source_positions", default=heard // 2))
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
