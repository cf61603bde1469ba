"""What models of well-known libraries say of their inputs. None of the libraries is imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from torchrecorder.recording.arguments import as_arguments
from torchrecorder.recording.guess.guess import Guess, is_from, parameters, required
from torchrecorder.request import InputSpec

_WORDS = 16
"""Length of a text, in tokens."""


def guesses(model: nn.Module, batch: int) -> Iterator[Guess]:
    """What a transformers or timm model is called with."""
    if is_from(model, "transformers") and isinstance(getattr(model, "main_input_name", None), str):
        yield from _transformers(model, batch)
    if is_from(model, "timm"):
        yield from _timm(model, batch)


def _timm(model: Any, batch: int) -> Iterator[Guess]:
    config = getattr(model, "pretrained_cfg", None) or getattr(model, "default_cfg", None) or {}
    size = getattr(config, "input_size", None) or (config.get("input_size") if isinstance(config, dict) else None)
    channels = size[0] if size else 3
    own = getattr(getattr(model, "patch_embed", None), "img_size", None)
    if isinstance(own, (tuple, list)):
        yield Guess("from the patch embedding", (InputSpec((batch, channels, *own)),))
    if size:
        yield Guess(f"from the default_cfg of {type(model).__name__}", (InputSpec((batch, *size)),))


def _transformers(model: Any, batch: int) -> Iterator[Guess]:
    names = [p.name for p in parameters(model)]
    main = model.main_input_name
    needed = dict.fromkeys([main, *(p.name for p in required(model))])
    decoder = ["decoder_input_ids"] if getattr(model.config, "is_encoder_decoder", False) else []
    both = [name for name in ("input_ids", "pixel_values") if name in names]
    why = f"from the config of {type(model).__name__}"
    for wanted in ([main, *decoder], [*needed], [*needed, *decoder], [*both, *decoder], [main]):
        wanted = [name for name in dict.fromkeys(wanted) if name in names]
        if wanted and all(name in _SPECS for name in wanted):
            for size in (0, 1):
                made = [_SPECS[name](_Config(model.config), batch, size) for name in wanted]
                yield Guess(
                    why, tuple(InputSpec(s.shape, s.dtype, n, s.high) for n, s in zip(wanted, made, strict=True))
                )
    dummy = getattr(model, "dummy_inputs", None)
    if dummy:
        yield Guess(f"the dummy_inputs of {type(model).__name__}", arguments=as_arguments(dict(dummy)))


class _Config:
    """A configuration and the parts inside it, asked as one."""

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


_Make = Callable[[_Config, int, int], InputSpec]


def _words(config: _Config, batch: int, _size: int) -> InputSpec:
    longest = config.get("max_position_embeddings", "n_positions", default=_WORDS)
    length = min(_WORDS, longest) if isinstance(longest, int) and longest > 0 else _WORDS
    return InputSpec((batch, length), "int64", high=int(config.get("vocab_size", default=100)))


def _image(config: _Config, batch: int, size: int) -> InputSpec:
    channels = config.get("num_channels", "in_channels", "in_chans", default=3)
    frames = config.get("num_frames", default=None)
    height, width = config.square() if size == 0 else (224, 224)
    return InputSpec((batch, *((frames,) if frames else ()), channels, height, width))


def _wave(config: _Config, batch: int, size: int) -> InputSpec:
    bins = config.get("num_mel_bins", default=None)
    if bins and size == 0:
        return InputSpec((batch, config.get("max_length", default=1024), bins))
    return InputSpec((batch, 16000))


def _features(config: _Config, batch: int, size: int) -> InputSpec:
    bins = config.get(
        "num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "input_size", default=80
    )
    if size == 0:
        return InputSpec((batch, bins, 2 * config.get("max_source_positions", default=50)))
    return InputSpec((batch, 100, bins))


def _series(config: _Config, batch: int, size: int) -> InputSpec:
    lags = config.get("lags_sequence", default=[0])
    length = config.get("context_length", "prediction_length", default=16) + max(lags)
    channels = config.get("num_input_channels", default=None)
    return InputSpec((batch, length, channels) if channels and size == 0 else (batch, length))


def _times(config: _Config, batch: int, size: int) -> InputSpec:
    return InputSpec((*_series(config, batch, 1).shape, config.get("num_time_features", default=0)))


def _perceived(config: _Config, batch: int, _size: int) -> InputSpec:
    return InputSpec((batch, _WORDS, config.get("d_model", "hidden_size", default=32)))


_SPECS: dict[str, _Make] = {
    "input_ids": _words,
    "decoder_input_ids": _words,
    "pixel_values": _image,
    "pixel_values_videos": _image,
    "input_values": _wave,
    "input_features": _features,
    "past_values": _series,
    "past_observed_mask": _series,
    "past_time_features": _times,
    "inputs": _perceived,
    "inputs_embeds": _perceived,
}
"""How each input that transformers has a name for is made; a second size is tried where there are two customs."""
