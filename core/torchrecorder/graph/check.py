"""The invariants of a Graph, as a list of what breaks them.

Used where a Graph comes from outside (a cache that others wrote) and by the tests of everything that makes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from torchrecorder.graph.model import (
    Call,
    CallKind,
    ClassicKind,
    Executed,
    Graph,
    Mode,
    Op,
    OpKind,
    Recorder,
    Value,
    ValueKind,
)


def problems(graph: Graph) -> list[str]:
    """What is wrong with the Graph; nothing, if it is as `graph.model` promises."""
    return [*_rows(graph), *_calls(graph), *_values(graph), *_classic(graph)]


def _rows(graph: Graph) -> Iterator[str]:
    """Ids that are no positions, and words that are none of the model's."""
    tables: list[tuple[str, Sequence[Call | Op | Value]]]
    tables = [("call", graph.calls), ("op", graph.ops), ("value", graph.values)]
    for name, rows in tables:
        for position, row in enumerate(rows):
            if row.id != position:
                yield f"{name} {row.id} stands at position {position}"
    info = graph.info
    if info.recorder not in get_args(Recorder):
        yield f"unknown recorder {info.recorder!r}"
    if info.executed not in get_args(Executed) or info.mode not in get_args(Mode):
        yield f"unknown way of recording {info.executed!r}, {info.mode!r}"
    for (_, rows), kinds in zip(tables, (CallKind, OpKind, ValueKind), strict=True):
        for kind in sorted({row.kind for row in rows} - set(get_args(kinds))):
            yield f"unknown kind {kind!r}"


def _calls(graph: Graph) -> Iterator[str]:
    """Calls that do not nest, and ops that no call or value fits."""
    if not graph.calls or graph.calls[0].module or graph.calls[0].parent is not None:
        yield "the first call is not the model's own"
    for call in graph.calls[1:]:
        if call.parent is None or not 0 <= call.parent < call.id:
            yield f"call {call.id} has parent {call.parent}"
    for call in graph.calls:
        if call.kind == "module" and call.module not in graph.modules:
            yield f"call {call.id} is of the unknown module {call.module!r}"
        yield from _unknown(graph, [*call.inputs.values(), *call.outputs.values()], f"call {call.id}")
    for op in graph.ops:
        where = f"op {op.id} ({op.name})"
        if not 0 <= op.call < len(graph.calls):
            yield f"{where} happened in the unknown call {op.call}"
        yield from _unknown(graph, [*op.inputs, *op.outputs], where)
        if op.inputs and op.outputs and max(op.inputs) >= min(op.outputs):
            yield f"{where} reads a value newer than one it makes"
        if not set(op.mutates) <= set(op.outputs):
            yield f"{where} overwrites what it does not give"


def _values(graph: Graph) -> Iterator[str]:
    """Values that are not made once, and inputs and outputs that are none."""
    made = {value: op.id for op in graph.ops for value in op.outputs}
    if len(made) != sum(len(op.outputs) for op in graph.ops):
        yield "a value has two producers"
    for value in graph.values:
        if value.producer != made.get(value.id) or (value.kind == "op") != (value.producer is not None):
            yield f"value {value.id} ({value.kind}) claims op {value.producer} made it"
    yield from _unknown(graph, graph.inputs.values(), "the inputs")
    yield from _unknown(graph, [v for values in graph.outputs.values() for v in values], "the outputs")
    for path, id_ in graph.inputs.items():
        if 0 <= id_ < len(graph.values) and graph.values[id_].kind != "input":
            yield f"input {path!r} is a value of kind {graph.values[id_].kind!r}"


def _unknown(graph: Graph, ids: Iterable[int], where: str) -> Iterator[str]:
    for id_ in ids:
        if not 0 <= id_ < len(graph.values):
            yield f"{where} names the unknown value {id_}"


def _classic(graph: Graph) -> Iterator[str]:
    """The nodes of a classic recording: each in a layer that is one level up and comes before it."""
    if graph.classic is None:
        return
    nodes = graph.classic.nodes
    for position, node in enumerate(nodes):
        if node.kind not in get_args(ClassicKind) or type(node.depth) is not int or type(node.name) is not str:
            yield f"classic node {position} is none"
        elif node.parent is not None:
            around = nodes[node.parent] if 0 <= node.parent < position else None
            if around is None or around.kind != "layer" or around.depth >= node.depth:
                yield f"classic node {position} stands in {node.parent}, which is no layer around it"
    if any(not 0 <= end < len(nodes) for edge in graph.classic.edges for end in edge):
        yield "a classic edge ends at no node"
