"""How much memory the activations of a forward need, from the Graph alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from torchrecorder.graph.model import Graph, Value


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of activations: inputs, and what ops make. Parameters, buffers and constants are not counted."""

    peak: int
    """The most that is alive at once."""
    peak_op: int | None
    """Id of the first op that runs while it is; None if there is no op."""
    unknown: tuple[int, ...] = ()
    """Ids of values whose bytes cannot be counted (sparse, nested); with any of them the peak is a lower bound."""


def activation_memory(graph: Graph) -> Memory:
    """Activations of one forward without autograd, each freed after its last use; inputs and outputs stay.

    Values that share memory are counted once. A tensor that a variable keeps, and what a kernel needs, come on top.
    """
    activations = [value for value in graph.values if value.kind in ("input", "op")]
    unknown = tuple(value.id for value in activations if value.meta is None or value.meta.nbytes is None)
    last_use: dict[_Piece, int | None] = {}
    # by piece of memory the op that uses it last; None if it outlives the forward
    for op in graph.ops:
        last_use.update((_piece(graph.values[value]), op.id) for value in (*op.inputs, *op.outputs))
    for values in graph.outputs.values():
        last_use.update((_piece(graph.values[value]), None) for value in values)
    # the first value of a piece is the memory itself; the others are views of it, which may even seem larger
    owners: dict[_Piece, Value] = {}
    for value in graph.values:
        owners.setdefault(_piece(value), value)
    alive = 0
    begins: defaultdict[int, int] = defaultdict(int)
    ends: defaultdict[int, int] = defaultdict(int)
    for piece, value in owners.items():
        nbytes = (value.meta.nbytes if value.meta else None) or 0
        if value.kind == "input":
            alive += nbytes
        elif value.kind == "op" and value.producer is not None:
            begins[value.producer] += nbytes
            if (end := last_use.get(piece, value.producer)) is not None:
                ends[end] += nbytes
    peak, peak_op = alive, None
    for op in graph.ops:
        alive += begins[op.id]
        if peak_op is None or alive > peak:
            peak, peak_op = alive, op.id
        alive -= ends[op.id]
    return Memory(peak, peak_op, unknown)


_Piece = tuple[bool, int]  # a storage group, or the id of a value that is in none


def _piece(value: Value) -> _Piece:
    return (False, value.id) if value.storage_group is None else (True, value.storage_group)
