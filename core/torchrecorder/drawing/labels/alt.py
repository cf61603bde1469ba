"""A sentence that stands for the picture, for those who do not see it."""

from __future__ import annotations

from collections.abc import Mapping

from torchrecorder.drawing.labels.kinds import torch_kind
from torchrecorder.drawing.labels.names import class_name, clean
from torchrecorder.drawing.labels.units import count, shape
from torchrecorder.graph import Graph, Module

_LISTED = 3
"""How many inputs or outputs are named."""


def describe(graph: Graph, *, name: str = "") -> tuple[str, str]:
    """A title and a description: `ResNet` and `21 layers, 11.7 M parameters; input 1×3×224×224, output 1×1000`.

    Args:
        graph: The Graph.
        name: What the model is called; its class if empty.
    """
    model = graph.modules.get("")
    title = clean(name or (class_name(model) if model else "model"), 80)
    outputs = {path: values[-1] for path, values in graph.outputs.items() if values}
    ends = ", ".join(filter(None, (_ends(graph, "input", graph.inputs), _ends(graph, "output", outputs))))
    return title, clean("; ".join(filter(None, (_size(graph, model), ends, _failure(graph)))), 600)


def _size(graph: Graph, model: Module | None) -> str:
    called = {call.module for call in graph.calls if call.kind == "module"}
    n = sum(_is_layer(graph.modules[path]) for path in called & graph.modules.keys())
    layers = f"{n} layer" + ("" if n == 1 else "s")
    total = model.params.total if model else 0
    return f"{layers}, {count(total)} parameters"


def _is_layer(module: Module) -> bool:
    """Whether it has parameters of its own and does more than normalise; so ResNet-18 has 18 and 3 shortcuts."""
    return module.params.own > 0 and torch_kind(module) != "norm"


def _ends(graph: Graph, word: str, ends: Mapping[str, int]) -> str:
    if not ends:
        return ""
    if len(ends) > _LISTED:
        return f"{len(ends)} {word}s"
    words = []
    for path, value in ends.items():
        meta = graph.values[value].meta
        name = f"{word} {path}" if len(ends) > 1 and path else word
        words.append(f"{name} {shape(meta.shape)}" if meta else name)
    return ", ".join(words)


def _failure(graph: Graph) -> str:
    return f"the forward failed: {graph.info.failure.error}" if graph.info.failure else ""
