"""What a figure or a table can say of a model in a word or two."""

from __future__ import annotations

from torchrecorder.graph import Graph, Value


def facts_of(graph: Graph) -> dict[str, str]:
    """Facts by a short name, in the order a reader wants them."""
    model = graph.modules[""]
    facts = {
        "model": model.cls.rpartition(".")[2],
        "parameters": f"{model.params.total:,}",
        "input": _shapes(graph, list(graph.inputs.values())),
        "output": _shapes(graph, [values[0] for values in graph.outputs.values() if values]),
        "mode": graph.info.mode,
        "run": graph.info.executed,
    }
    if model.params.trainable != model.params.total:
        facts["trainable"] = f"{model.params.trainable:,}"
    known = [op.flops for op in graph.ops if op.flops is not None]
    if any(known):
        facts["flops"] = f"{sum(known):,}"
    if graph.info.guessed:
        facts["guessed"] = graph.info.guessed
    return {name: fact for name, fact in facts.items() if fact}


def _shapes(graph: Graph, ids: list[int]) -> str:
    return ", ".join(_shape(graph.values[id_]) for id_ in ids)


def _shape(value: Value) -> str:
    if value.meta is None:
        return "?"
    sizes = "×".join(map(str, value.meta.shape)) or "scalar"
    return f"{value.name} {sizes}" if value.name else sizes
