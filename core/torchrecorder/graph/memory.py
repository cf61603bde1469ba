"""How much memory the activations of a forward need, from the Graph alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from torchrecorder.graph.model import Graph, Value


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of activations: inputs, and what ops make. Parameters, buffers and constants are not counted."""

    peak: int
    """The most that is alive at once."""
    peak_op: int | None
    """Id of the first op that runs while it is; None if there is no op."""
    calls: Mapping[int, int] = field(default_factory=dict)
    """By id of a call, the most that is alive while it runs; calls without an op are left out."""
    unknown: tuple[int, ...] = ()
    """Ids of values whose bytes cannot be counted (sparse, nested); with any of them the figures are lower bounds."""


def activation_memory(graph: Graph) -> Memory:
    """The activations of one forward without autograd, each freed after its last use; inputs and outputs stay.

    Values that share memory are counted once. A forward that keeps a tensor in a variable after its last use needs more
    than this, and so does what a kernel needs for itself.
    """
    blocks = _Blocks(graph)
    alive = blocks.given
    peak, peak_op = alive, None
    calls: dict[int, int] = {}
    for op in graph.ops:
        alive += blocks.begin.get(op.id, 0)
        if peak_op is None or alive > peak:
            peak, peak_op = alive, op.id
        for call in _around(graph, op.call):
            calls[call] = max(calls.get(call, 0), alive)
        alive -= blocks.end.get(op.id, 0)
    return Memory(peak, peak_op, dict(sorted(calls.items())), blocks.unknown)


class _Blocks:
    """When each piece of memory begins and ends to be used, in bytes by op."""

    def __init__(self, graph: Graph) -> None:
        self.given = 0
        """Bytes that are there before the first op."""
        self.begin: dict[int, int] = {}
        self.end: dict[int, int] = {}
        self.unknown = tuple(
            v.id for v in graph.values if _is_activation(v) and (v.meta is None or v.meta.nbytes is None)
        )
        last = _last_uses(graph)
        # The first value of a group is the memory itself; the others are views of it, which may even seem larger.
        for group, value in _owners(graph).items():
            nbytes = (value.meta.nbytes if value.meta else None) or 0
            if value.producer is None:
                self.given += nbytes
                continue
            self.begin[value.producer] = self.begin.get(value.producer, 0) + nbytes
            end = last.get(group, value.producer)
            if end is not None:
                self.end[end] = self.end.get(end, 0) + nbytes


_Group = tuple[bool, int]
"""A storage group, or the id of a value that is in none."""


def _group(value: Value) -> _Group:
    return (False, value.id) if value.storage_group is None else (True, value.storage_group)


def _owners(graph: Graph) -> dict[_Group, Value]:
    """The first value of each piece of memory, if that is an activation."""
    found: dict[_Group, Value] = {}
    for value in graph.values:
        found.setdefault(_group(value), value)
    return {group: value for group, value in found.items() if _is_activation(value)}


def _last_uses(graph: Graph) -> dict[_Group, int | None]:
    """The op that uses each piece of memory last; None if it outlives the forward."""
    found: dict[_Group, int | None] = {}
    for op in graph.ops:
        found.update((_group(graph.values[value]), op.id) for value in (*op.inputs, *op.outputs))
    kept = [value for values in graph.outputs.values() for value in values]
    found.update((_group(graph.values[value]), None) for value in kept)
    return found


def _is_activation(value: Value) -> bool:
    return value.kind in ("input", "op")


def _around(graph: Graph, call: int | None) -> Iterator[int]:
    while call is not None:
        yield call
        call = graph.calls[call].parent
