"""Sizes that follow the batch: `N` in place of the number that a forward happened to run with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from torchrecorder.graph.model import Graph, TensorMeta

NUMBER = re.compile(r"\d*N")
"""An argument of an op that is the batch, or a multiple of it."""


def batch_size(graph: Graph) -> int | None:
    """The size of the batch that the forward ran with; None if it is not known which axes are the batch."""
    for value in graph.inputs.values():
        sizes = graph.values[value].shape
        for axis in graph.batch.get(value, ()):
            if axis < len(sizes) and isinstance(size := sizes[axis], int):
                return size
    return None


def symbolic(graph: Graph, value: int) -> TensorMeta | None:
    """Meta of a value, with symbols for the sizes that follow the batch: `("N", 64, 56, 56)`."""
    meta, axes = graph.values[value].meta, graph.batch.get(value)
    if meta is None or axes is None or (batch := batch_size(graph)) is None:
        return meta
    sizes = ((n, axis in axes) for axis, n in enumerate(meta.shape))
    return replace(meta, shape=tuple(symbol(n, batch) if of and isinstance(n, int) else n for n, of in sizes))


_STATES = ("zeros", "new_zeros", "zeros_like", "full", "new_full", "new_empty", "randn")
"""Ops that make the first state of a loop, which may have a place for each example."""


def lost(graph: Graph) -> set[int]:
    """The values of which it is not known whether they follow the batch: made of some that do, or of a first state.

    Of a thing that is stacked with itself there may be as many as examples; and where an op alone makes as many of
    something as there are examples, the code may have counted them.
    """
    batch, size, values = graph.batch, batch_size(graph), set[int]()
    for op in graph.ops if batch else ():
        is_first = op.attrs.get("dim", op.attrs.get("1", "0")) == "0"
        is_open = op.name in _STATES or (op.name == "stack" and is_first and len({*op.inputs}) == 1)
        is_open |= size != 1 and size in _counts(graph, op.outputs) - _counts(graph, op.inputs)
        if is_open or any(value in batch or value in values for value in op.inputs):
            values.update(value for value in op.outputs if value not in batch)
    return {value for value in values if graph.values[value].shape}


def _counts(graph: Graph, values: Iterable[int]) -> set[int | str]:
    return {shape[0] for value in values if (shape := graph.values[value].shape)}


def known(graph: Graph) -> Callable[[int], TensorMeta | None]:
    """Gives the symbolic meta of a value; None if it is not known whether its sizes follow the batch."""
    doubtful = lost(graph)
    return lambda value: None if value in doubtful else symbolic(graph, value)


def symbol(size: int, batch: int) -> str:
    """A multiple of the batch as `N`, `2N`; half of it as `N/2`."""
    if size % batch:
        return f"N/{batch // size}"
    factor = size // batch
    return "N" if factor == 1 else f"{factor}N"


def is_of_batch(size: object, batch: int) -> bool:
    """Whether a size can be written as a multiple of the batch, or as a part of it."""
    return type(size) is int and size > 0 and (size % batch == 0 or batch % size == 0)


def batch_problems(graph: Graph) -> Iterator[str]:
    """Axes of the batch that are not there, and sizes that are not a multiple of it."""
    if not graph.batch:
        if any(NUMBER.fullmatch(text) for op in graph.ops for text in op.attrs.values()):
            yield "a number follows the batch, but no size does"
        return
    if any(not 0 <= value < len(graph.values) for value in graph.batch):
        yield "the batch names an unknown value"
        return
    if [*graph.batch] != sorted(graph.batch):
        yield "the values of the batch are not in order"
    batch = batch_size(graph)
    if not batch:
        yield "sizes follow the batch, but no axis of an input does"
        return
    for value, axes in graph.batch.items():
        sizes = graph.values[value].shape
        is_ordered = bool(axes) and all(type(axis) is int for axis in axes) and [*axes] == sorted({*axes})
        if not is_ordered or not 0 <= axes[0] <= axes[-1] < len(sizes):
            yield f"the axes {[*axes]} of value {value} that follow the batch are not among its own"
        elif not all(is_of_batch(sizes[axis], batch) for axis in axes):
            yield f"value {value} has a size that follows the batch and is not a multiple of {batch}"
