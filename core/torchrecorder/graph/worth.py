"""The worth of a Graph as a picture that no author has asked for: the reason against it.

A page of a library has a hundred classes, and readers come for its models. What is one box, hangs in the air, or was
called with sizes that nothing vouches for would tell them little, or something wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from torchrecorder.graph.model import Graph

LEAST_LAYERS = 2
"""Layers with weights of a picture: of `GELU`, `Flatten` and a lone convolution, the name says as much."""

LEAVES = "values left PyTorch"
"""How the note of a recording begins that explains why an output follows from no input: labels that code in Python
decodes, say."""


_OF_NUMBERS = ("tensor", "as_tensor")  # operations that make a tensor of numbers that Python has


def against(graph: Graph) -> str:
    """Reason why a Graph makes no picture unasked, in a few words; empty if it is worth one.

    Only the Graph is asked, so that the answer holds on every machine. That of a forward that failed is for others to
    refuse.
    """
    return next(_reasons(graph), "")


def _reasons(graph: Graph) -> Iterator[str]:
    if graph.info.grade == "names":
        yield "its inputs can be guessed from the names of its parameters alone"
    outputs = {value for values in graph.outputs.values() for value in values}
    if not outputs:
        yield "it gives no tensor"
    if len(graph.inputs) > 1 and all(graph.values[it].meta and graph.values[it].shape == () for it in outputs):
        yield "it makes one number of several inputs, as losses and metrics do"
    if (layers := _layers(graph)) < LEAST_LAYERS:
        yield "one layer with weights" if layers else "no layer with weights"
    read = {value for op in graph.ops for value in op.inputs}
    read.update(value for decision in graph.decisions for value in decision.values)
    unused = [path for path, value in graph.inputs.items() if value not in read | outputs]
    if unused and graph.info.grade != "declared":  # else its author gives what need not be given
        yield f"what it is given as {', '.join(unused)} goes nowhere"
    reads = ([graph.values[value] for value in op.inputs] for op in graph.ops)
    of_layers = (values for values in reads if any(value.kind == "param" for value in values))
    computed = (*(graph.values[value] for value in outputs), *(value for values in of_layers for value in values))
    if any(0 in value.shape for value in computed):
        yield "a part of it computes with empty tensors"
    if not any(note.startswith(LEAVES) for note in graph.info.notes):
        yield from _outputs_from_nothing(graph)


def _layers(graph: Graph) -> int:
    """Number of layers that computed with parameters; one that torch does not define counts once for each matrix."""
    read = {value for op in graph.ops for value in op.inputs}
    matrices: Counter[str] = Counter()
    for value in graph.values:
        if value.kind == "param" and value.id in read:
            matrices[(value.name or "").rpartition(".")[0]] += len(value.shape) > 1
    natives = {path for path, module in graph.modules.items() if module.native}
    return sum(1 if path in natives else max(1, count) for path, count in matrices.items())


def _outputs_from_nothing(graph: Graph) -> Iterator[str]:
    """Outputs that have nothing to do with an input, besides parameters, such as a learned scale, and lone numbers.

    A mask that was drawn by chance has, if the inputs are masked with it. Where no input is a tensor, integers stand
    for the text that code in Python made them of.
    """
    made = {value for op in graph.ops if op.name in _OF_NUMBERS for value in op.outputs}
    made |= {value.id for value in graph.values if value.kind == "const"}
    whole = (value for value in graph.values if value.shape and value.meta and value.meta.dtype.startswith("int"))
    given = [*graph.inputs.values()] or [value.id for value in whole if value.id in made]
    reached, joined = {*given}, {*given}
    for op in graph.ops:
        if not reached.isdisjoint(op.inputs):
            reached.update(op.outputs)
            joined.update(op.inputs)
    joined |= reached
    joined.update(value.id for value in graph.values if value.kind in ("param", "buffer"))
    of_nothing = [
        path
        for path, values in graph.outputs.items()
        if any(graph.values[value].shape for value in values) and joined.isdisjoint(_made_from(graph, values))
    ]
    if of_nothing or not any(not reached.isdisjoint(values) for values in graph.outputs.values()):
        named = ", ".join(filter(None, of_nothing))
        yield f"its output{f' {named}' if named else ''} follows from no input"


def _made_from(graph: Graph, values: Iterable[int]) -> set[int]:
    found: set[int] = set()
    waiting = [*values]
    while waiting:
        if (value := waiting.pop()) not in found:
            found.add(value)
            producer = graph.values[value].producer
            waiting += () if producer is None else graph.ops[producer].inputs
    return found
