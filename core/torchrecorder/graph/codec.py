"""Graph to JSON and back.

The text is canonical: everything stands in the order of the Graph, so the hash of the text names the Graph. Records are
lists in field order instead of objects, and equal tensor descriptions are stored once, because a model of 4,000 ops
would otherwise repeat each name 4,000 times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from torchrecorder.errors import FormatError
from torchrecorder.graph.check import problems
from torchrecorder.graph.model import (
    Call,
    ClassicNode,
    ClassicNodes,
    Failure,
    Graph,
    Info,
    Module,
    Op,
    ParamCount,
    TensorMeta,
    Value,
)

VERSION = 1
"""Raised with every change of the format or of the meaning of a field; a text of another version is not read."""


def to_json(graph: Graph) -> str:
    """The Graph as one line of JSON, the same for equal Graphs on every machine."""
    metas: dict[TensorMeta, int] = {}
    data = {
        "torchrecorder_graph": VERSION,
        "info": _info_row(graph.info),
        "modules": [_module_row(module) for module in graph.modules.values()],
        "tied": graph.tied,
        "calls": [_call_row(call) for call in graph.calls],
        "ops": [_op_row(op) for op in graph.ops],
        "values": [_value_row(value, metas) for value in graph.values],
        "metas": [[m.shape, m.dtype, m.device, m.nbytes] for m in metas],
        "inputs": graph.inputs,
        "outputs": graph.outputs,
    }
    if graph.classic is not None:
        data["classic"] = [list(map(_classic_row, graph.classic.nodes)), graph.classic.edges]
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str | bytes) -> Graph:
    """The Graph that `to_json` wrote.

    Raises:
        FormatError: The text is no Graph of this version, or breaks an invariant.
    """
    try:
        data = json.loads(text)
        version = data["torchrecorder_graph"]
        if version != VERSION:
            raise FormatError(what="a Graph", reason=f"its format is version {version}, this is version {VERSION}")
        graph = _graph(data)
        found = problems(graph)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(what="a Graph", reason=f"{type(error).__name__}: {error}") from error
    if found:
        raise FormatError(what="a Graph", reason=found[0])
    return graph


def _module_row(m: Module) -> list[Any]:
    counts = [m.params.own, m.params.total, m.params.trainable]
    return [m.fqn, m.cls, m.native, counts, m.extra_repr, m.aliases]


def _call_row(c: Call) -> list[Any]:
    return [c.parent, c.module, c.index, c.inputs, c.outputs, c.ok, c.kind]


def _op_row(o: Op) -> list[Any]:
    facts = [o.name, o.target, o.call, o.inputs, o.outputs, o.mutates]
    return [*facts, o.kernels, o.flops, o.attrs, o.source, o.kind]


def _value_row(v: Value, metas: dict[TensorMeta, int]) -> list[Any]:
    meta = None if v.meta is None else metas.setdefault(v.meta, len(metas))
    return [v.kind, v.producer, v.index, meta, v.name, v.storage_group]


def _info_row(i: Info) -> dict[str, Any]:
    failure = None if i.failure is None else [i.failure.call, i.failure.error]
    facts: dict[str, Any] = {
        "executed": i.executed,
        "torch": i.torch,
        "mode": i.mode,
        "guessed": i.guessed,
    }
    if i.recorder != "modern":  # left out, as it was before there was another
        facts["recorder"] = i.recorder
    return {**facts, "notes": i.notes, "failure": failure}


def _classic_row(n: ClassicNode) -> list[Any]:
    return [n.kind, n.name, n.depth, n.parent, n.about]


def _classic(data: list[Any] | None) -> ClassicNodes | None:
    if data is None:
        return None
    nodes, edges = data
    return ClassicNodes(tuple(map(_classic_node, nodes)), tuple((tail, head) for tail, head in edges))


def _classic_node(row: list[Any]) -> ClassicNode:
    kind, name, depth, parent, about = row
    return ClassicNode(kind, name, depth, parent, about if isinstance(about, str) else tuple(about))


def _graph(data: Mapping[str, Any]) -> Graph:
    metas = [TensorMeta(tuple(shape), *rest) for shape, *rest in data["metas"]]
    modules = [_module(row) for row in data["modules"]]
    return Graph(
        modules={module.fqn: module for module in modules},
        calls=tuple(Call(id_, *row) for id_, row in enumerate(data["calls"])),
        ops=tuple(_op(id_, row) for id_, row in enumerate(data["ops"])),
        values=tuple(_value(id_, row, metas) for id_, row in enumerate(data["values"])),
        inputs=data["inputs"],
        outputs={path: tuple(ids) for path, ids in data["outputs"].items()},
        info=_info(data["info"]),
        tied={name: tuple(names) for name, names in data["tied"].items()},
        classic=_classic(data.get("classic")),
    )


def _module(row: list[Any]) -> Module:
    fqn, cls, native, counts, extra_repr, aliases = row
    return Module(fqn, cls, native, ParamCount(*counts), extra_repr, tuple(aliases))


def _op(id_: int, row: list[Any]) -> Op:
    name, target, call, inputs, outputs, mutates, kernels, *rest = row
    return Op(
        id_,
        name,
        target,
        call,
        tuple(inputs),
        tuple(outputs),
        tuple(mutates),
        tuple(kernels),
        *rest,
    )


def _value(id_: int, row: list[Any], metas: list[TensorMeta]) -> Value:
    kind, producer, index, meta, name, storage_group = row
    return Value(id_, kind, producer, index, None if meta is None else metas[meta], name, storage_group)


def _info(data: Mapping[str, Any]) -> Info:
    failure = None if data["failure"] is None else Failure(*data["failure"])
    facts = (data["executed"], data["torch"], data["mode"], data["guessed"], tuple(data["notes"]))
    return Info(*facts, failure, data.get("recorder", "modern"))
