"""The modules of a Graph as a tree in the order in which they run, with what tells two of them apart.

Paths change when a layer is inserted or renamed, so a layer is compared by its class, its settings and what is in it.
Ids of equal subtrees come from one table for both Graphs, so comparing two subtrees is comparing two numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from torchrecorder.graph import Graph, Module
from torchrecorder.labels.names import clean
from torchrecorder.labels.summaries import summary
from torchrecorder.view.node_kinds import torch_kind
from torchrecorder.view.settings import SIZE_NAMES, read

Table = dict[object, int]
"""Ids of what was seen, shared by the two Graphs that are compared."""


@dataclass(eq=False, slots=True)
class Layer:
    """A module with those in it, in the order of their first calls."""

    path: str
    module: Module
    order: int
    """When it, or something in it, was called first."""
    parent: Layer | None = None
    children: list[Layer] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    exact: int = 0
    """The same for layers of which everything is equal but their paths."""
    loose: int = 0
    """The same for layers of which the classes are equal, not the settings."""
    inner: Counter[str] = field(default_factory=Counter)
    """How often each class of torch's own is in it, itself included."""

    @property
    def cls(self) -> str:
        """Its class without the Python module, which changes when code is moved."""
        return self.module.cls.rpartition(".")[2]

    @property
    def name(self) -> str:
        around = self.parent.path if self.parent is not None else ""
        return self.path[len(around) :].removeprefix(".")

    @property
    def is_leaf(self) -> bool:
        """Whether its settings say all of what it does."""
        return self.module.native and not self.children

    @property
    def kind(self) -> str:
        return torch_kind(self.module)

    def walk(self) -> Iterator[Layer]:
        pending: list[Layer] = [self]
        while pending:
            layer = pending.pop()
            yield layer
            pending.extend(reversed(layer.children))


def layer_tree(graph: Graph, table: Table) -> Layer:
    layers = {path: Layer(path, module, len(graph.calls)) for path, module in graph.modules.items()}
    for layer in layers.values():
        if layer.path:
            layer.parent = layers[_holder(layer.path, layers)]
    for call in graph.calls:
        at = layers.get(call.module) if call.kind == "module" else None
        while at is not None and at.order == len(graph.calls):
            at.order = call.id
            at = at.parent
    for layer in sorted(layers.values(), key=lambda layer: layer.order):
        if layer.parent is not None:
            layer.parent.children.append(layer)
    for value in graph.values:
        if value.kind == "param" and value.name and value.meta is not None:
            holder = layers[_holder(value.name, layers)]
            holder.params[value.name[len(holder.path) :].removeprefix(".")] = "×".join(map(str, value.meta.shape))
    for layer in reversed([*layers[""].walk()]):
        _sign(layer, table)
    return layers[""]


def _holder(path: str, layers: dict[str, Layer]) -> str:
    while path:
        path = path.rpartition(".")[0]
        if path in layers:
            return path
    return ""


def _sign(layer: Layer, table: Table) -> None:
    own = (layer.cls, layer.module.extra_repr, tuple(sorted(layer.params.items())))
    exact = ("exact", own, tuple(child.exact for child in layer.children))
    loose = ("loose", layer.cls, tuple(child.loose for child in layer.children))
    layer.exact, layer.loose = (table.setdefault(key, len(table)) for key in (exact, loose))
    layer.inner.update([layer.cls] if layer.module.native else [])
    for child in layer.children:
        layer.inner.update(child.inner)


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
UNSEEN = ("inplace",)
"""Settings that change nothing of what a model computes."""
_TUPLE = re.compile(r"\((\d+(?:, \d+)*),?\)")
LONGEST = 60
"""Characters of the text of a setting, or of the arguments of an op."""


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
    one, other = old.module.extra_repr, new.module.extra_repr
    if one == other:
        return
    settings, others = _by_name(old.cls, one), _by_name(new.cls, other)
    if not settings or not others:
        yield Setting("settings", _line(one), _line(other))
        return
    for name in dict.fromkeys((*settings, *others)):
        before, now = (found.get(name, _DEFAULTS.get(name, "")) for found in (settings, others))
        if before != now and name not in UNSEEN:
            yield Setting(name, _line(before), _line(now))


def described(layer: Layer) -> str:
    """A layer in words: `Conv2d 3×3 /2 · 8→16`; one that is not torch's own by its class."""
    return summary(layer.cls, layer.module.extra_repr) if layer.is_leaf else layer.cls


def _by_name(cls: str, extra_repr: str) -> dict[str, str]:
    arguments = read(extra_repr)
    positions = next((names for start, names in _POSITIONS.items() if cls.startswith(start)), ())
    found = {
        positions[i] if i < len(positions) else f"argument {i + 1}": value for i, value in enumerate(arguments.unnamed)
    } | arguments.named
    return {name: _TUPLE.sub(lambda it: it[1].replace(", ", "×"), value) for name, value in found.items()}


def _line(text: str) -> str:
    return clean(" ".join(text.split()), LONGEST)
