"""Images for models of timm."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from torchrecorder.recording.guess.guess import Guess, is_from
from torchrecorder.request import InputSpec


def inputs(model: nn.Module, batch: int) -> Iterator[Guess]:
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
