"""The settings of a layer by name, and what changed of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from torchrecorder.comparison.layers import Layer
from torchrecorder.labels.names import clean
from torchrecorder.labels.summaries import summary
from torchrecorder.view.settings import SIZE_NAMES, read

_POSITIONS: dict[str, tuple[str, ...]] = {
    "Conv": ("in_channels", "out_channels"),
    "LazyConv": ("in_channels", "out_channels"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "BatchNorm": ("num_features",),
    "SyncBatchNorm": ("num_features",),
    "InstanceNorm": ("num_features",),
    "LayerNorm": ("normalized_shape",),
    "RMSNorm": ("normalized_shape",),
    "GroupNorm": ("num_groups", "num_channels"),
    **dict.fromkeys(("RNN", "LSTM", "GRU"), ("input_size", "hidden_size", "num_layers")),
}
"""What the values without a name are, by how the names of classes begin."""
_WIDTHS = SIZE_NAMES - {"num_embeddings"} | {"groups"}
"""Settings that follow from the widths of the layers before."""
_DEFAULTS = {"padding": "0", "dilation": "1", "groups": "1", "bias": "True", "padding_idx": "None"}
"""What torch leaves out of the text of a layer."""
_UNSEEN = ("inplace",)
"""Settings that change nothing of what a model computes."""
_TUPLE = re.compile(r"\((\d+(?:, \d+)*),?\)")
_LONGEST = 60


class Setting(NamedTuple):
    name: str
    old: str
    new: str

    @property
    def is_width(self) -> bool:
        return self.name in _WIDTHS and self.old.isdigit() and self.new.isdigit()

    def __str__(self) -> str:
        if not self.old or not self.new:
            return f"{self.name} {'' if self.new else 'was '}{self.new or self.old}"
        return f"{self.name} {self.old} → {self.new}"


def changed_settings(old: Layer, new: Layer) -> Iterator[Setting]:
    """What changed of the settings of layers of one class."""
    one, other = old.module.extra_repr, new.module.extra_repr
    if one == other:
        return
    settings, others = _by_name(old.cls, one), _by_name(new.cls, other)
    if not settings or not others:
        yield Setting("settings", _line(one), _line(other))
        return
    for name in dict.fromkeys((*settings, *others)):
        before, now = (found.get(name, _DEFAULTS.get(name, "")) for found in (settings, others))
        if before != now and name not in _UNSEEN:
            yield Setting(name, _line(before), _line(now))


def described(layer: Layer) -> str:
    """What a layer is: `Conv2d 3×3 /2 · 8→16`; of one that is not torch's own, its class."""
    return summary(layer.cls, layer.module.extra_repr) if layer.is_leaf else layer.cls


def _by_name(cls: str, extra_repr: str) -> dict[str, str]:
    arguments = read(extra_repr)
    positions = next((names for start, names in _POSITIONS.items() if cls.startswith(start)), ())
    found = {
        positions[i] if i < len(positions) else f"argument {i + 1}": value for i, value in enumerate(arguments.unnamed)
    } | arguments.named
    return {name: _TUPLE.sub(lambda it: it[1].replace(", ", "×"), value) for name, value in found.items()}


def _line(text: str) -> str:
    return clean(" ".join(text.split()), _LONGEST)
