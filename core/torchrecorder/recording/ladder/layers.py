"""Inputs that the first layers of a model could take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from torchrecorder.recording.ladder.guess import Guess, required
from torchrecorder.request import InputSpec

_LAYERS = 3
"""Layers that are looked at: the one registered first need not be the one called first."""


_WITH_PARTS = (nn.MultiheadAttention, nn.RNNBase, nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""Layers that say what they take, though some have layers inside."""


def guesses(model: nn.Module, batch: int) -> Iterator[Guess]:
    """What the first layers with parameters take, the same for each argument of the forward."""
    count = max(1, len(required(model)))
    for path, layer in islice(_leaves(model), _LAYERS):
        where = f"from {path} ({type(layer).__name__})" if path else f"from {type(layer).__name__}"
        for spec in _accepted(layer, batch):
            yield Guess(where, (spec,) * count)


def _leaves(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for path, module in model.named_modules():
        is_leaf = not any(True for _ in module.children()) and any(True for _ in module.parameters(recurse=False))
        if is_leaf or isinstance(module, _WITH_PARTS):
            yield path, module


def _accepted(layer: nn.Module, batch: int) -> Iterator[InputSpec]:
    if isinstance(layer, nn.Embedding):
        yield InputSpec((batch, min(16, layer.num_embeddings)), "int64", high=layer.num_embeddings)
    elif isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        yield from _grids(len(layer.kernel_size), layer.in_channels or 3, batch)
    elif isinstance(layer, nn.Linear):
        yield from _rows(layer.in_features or 16, batch)
    elif isinstance(layer, nn.MultiheadAttention):
        yield InputSpec((batch, 16, layer.embed_dim))
    elif isinstance(layer, nn.RNNBase):
        yield InputSpec((16, 1, layer.input_size) if not layer.batch_first else (batch, 16, layer.input_size))
    elif isinstance(layer, nn.RNNCellBase):
        yield InputSpec((batch, layer.input_size))
    elif isinstance(layer, nn.LayerNorm):
        yield InputSpec((batch, 16, *layer.normalized_shape))
        yield InputSpec((batch, *layer.normalized_shape))
    elif isinstance(layer, _BatchNorm):
        yield InputSpec((2, layer.num_features, 32, 32))
        yield InputSpec((2, layer.num_features))


def _grids(dimensions: int, channels: int, batch: int) -> Iterator[InputSpec]:
    sizes = {1: (128, 16, 1000, 16000), 2: (224, 32, 28, 64, 299, 256, 384, 512), 3: (32, 16, 112)}[dimensions]
    for size in sizes:
        yield InputSpec((batch, channels, *(size,) * dimensions))


def _rows(features: int, batch: int) -> Iterator[InputSpec]:
    yield InputSpec((batch, features))
    yield InputSpec((batch, 16, features))
    for channels in (1, 3):  # a picture that the model flattens
        side = math.isqrt(features // channels)
        if side > 1 and side * side * channels == features:
            yield InputSpec((batch, channels, side, side))
