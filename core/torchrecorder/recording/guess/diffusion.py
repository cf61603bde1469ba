"""What the configuration of a diffusers model says of its inputs. The library is not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from torchrecorder.recording.guess.guess import Guess, is_from, parameters, required
from torchrecorder.request import InputSpec

_WORDS = 8
"""Length of the text that a picture is made after."""
_FRAMES = 5
"""Length of a film; one more than a multiple of what autoencoders of films take together."""
_SIDE = 32
"""Of a picture in the space of the model, if the configuration does not say."""
_WIDTHS_OF_TEXT = (
    *("caption_channels", "joint_attention_dim", "cross_attention_dim", "text_embed_dim", "text_dim"),
    *("encoder_hid_dim", "text_in_channels", "embedding_dim"),
)


def guesses(model: nn.Module, batch: int) -> Iterator[Guess]:
    """What a diffusers model is called with: all that its configuration tells, or no more than it must have."""
    config: Any = getattr(model, "config", None)
    if not is_from(model, "diffusers") or not isinstance(config, Mapping):
        return
    names = [p.name for p in parameters(model)]
    needed = [p.name for p in required(model)]
    for main in _mains(config, batch, "img_ids" in names):
        known = _known(config, batch, main)
        for wanted in (names, needed):
            chosen = [name for name in wanted if name in known]
            specs = [known[name] for name in chosen if isinstance(known[name], InputSpec)]
            fixed = {name: known[name] for name in chosen if not isinstance(known[name], InputSpec)}
            if set(needed) <= set(chosen):
                why = f"from the config of {type(model).__name__}"
                yield Guess(why, tuple(specs), fixed=fixed)


def _mains(config: Mapping[str, Any], batch: int, is_packed: bool) -> Iterator[tuple[int, ...]]:
    """Shapes of the noisy picture, text of patches, sound or film."""
    channels = config.get("in_channels") or config.get("num_channels") or 3
    if is_packed:
        yield (batch, 16, channels)
        return
    for side in dict.fromkeys((config.get("sample_size") or _SIDE, _SIDE, 64)):
        height, width = side if isinstance(side, (tuple, list)) else (side, side)
        yield (batch, channels, height, width)
        yield (batch, channels, _FRAMES, height, width)
        yield (batch, _FRAMES, channels, height, width)
        yield (batch, channels, width)


def _known(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> dict[str, Any]:
    """Inputs by the name that diffusers has for them; what is no `InputSpec` is passed as it is."""
    found: dict[str, Any] = {name: InputSpec(main, name=name) for name in ("sample", "hidden_states", "x")}
    found["timestep"] = InputSpec((batch,), "int64", "timestep")
    for name, make in _OTHERS.items():
        spec = make(config, batch, main)
        if spec is not None:
            found[name] = InputSpec(spec.shape, spec.dtype, name, spec.high) if isinstance(spec, InputSpec) else spec
    return found


def _text(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    widths = [config.get(name) for name in _WIDTHS_OF_TEXT]
    width = next((w[0] if isinstance(w, (tuple, list)) else w for w in widths if w), None)
    return None if width is None else InputSpec((batch, _WORDS, width))


def _pooled(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    width = config.get("pooled_projection_dim")
    return None if width is None else InputSpec((batch, width))


def _labels(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    classes = config.get("num_class_embeds") or config.get("num_embeds_ada_norm")
    return InputSpec((batch,), "int64", high=classes) if classes else None


def _added(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> dict[str, Any] | None:
    """What Stable Diffusion XL adds to the time: the text as a whole, and how the picture was cut."""
    if config.get("addition_embed_type") == "text_time":
        width = config["projection_class_embeddings_input_dim"] - 6 * config["addition_time_embed_dim"]
        return {"text_embeds": torch.zeros(batch, width), "time_ids": torch.zeros(batch, 6)}
    return {"resolution": None, "aspect_ratio": None} if "caption_channels" in config else None


def _control(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    channels = config.get("conditioning_channels")
    return InputSpec((batch, channels, *(8 * side for side in main[2:]))) if channels and len(main) == 4 else None


def _guidance(config: Mapping[str, Any], batch: int, main: tuple[int, ...]) -> InputSpec | None:
    return InputSpec((batch,)) if config.get("guidance_embeds") else None


def _places(length: Callable[[tuple[int, ...]], int]) -> Callable[..., InputSpec]:
    return lambda config, batch, main: InputSpec((length(main), len(config.get("axes_dims_rope") or (0, 0, 0))))


_OTHERS: dict[str, Callable[[Mapping[str, Any], int, tuple[int, ...]], Any]] = {
    "encoder_hidden_states": _text,
    "pooled_projections": _pooled,
    "class_labels": _labels,
    "added_cond_kwargs": _added,
    "controlnet_cond": _control,
    "guidance": _guidance,
    "img_ids": _places(lambda main: main[1]),
    "txt_ids": _places(lambda main: _WORDS),
}
