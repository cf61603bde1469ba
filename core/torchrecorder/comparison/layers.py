"""The modules of a Graph as a tree in the order in which they run, with what tells two of them apart.

Paths change when a layer is inserted or renamed, so a layer is compared by its class, its settings and what is in it.
Ids of equal subtrees come from one table for both Graphs, so comparing two subtrees is comparing two numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from torchrecorder.graph import Graph, Module
from torchrecorder.view.node_kinds import torch_kind

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
    """The shapes of its own parameters, by name."""
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
        """Its path from the layer around it."""
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
        """Itself and all in it, outermost first."""
        pending: list[Layer] = [self]
        while pending:
            layer = pending.pop()
            yield layer
            pending.extend(reversed(layer.children))


def layer_tree(graph: Graph, table: Table) -> Layer:
    """The model as a layer."""
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
    """The path of the innermost module around what the path names."""
    while path:
        path = path.rpartition(".")[0]
        if path in layers:
            return path
    return ""


def _sign(layer: Layer, table: Table) -> None:
    """Gives it the ids of what it is; those in it have theirs."""
    own = (layer.cls, layer.module.extra_repr, tuple(sorted(layer.params.items())))
    exact = ("exact", own, tuple(child.exact for child in layer.children))
    loose = ("loose", layer.cls, tuple(child.loose for child in layer.children))
    layer.exact, layer.loose = (table.setdefault(key, len(table)) for key in (exact, loose))
    layer.inner.update([layer.cls] if layer.module.native else [])
    for child in layer.children:
        layer.inner.update(child.inner)
