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
    info, failure, classic = graph.info, graph.info.failure, graph.classic
    ops = [[o.name, o.target, o.call, o.inputs, o.outputs, o.mutates, o.kernels, o.flops] for o in graph.ops]
    data = {
        "torchrecorder_graph": VERSION,
        "info": {
            "executed": info.executed,
            "torch": info.torch,
            "mode": info.mode,
            "guessed": info.guessed,
            # left out, as it was before there was another
            **({"recorder": info.recorder} if info.recorder != "modern" else {}),
            "notes": info.notes,
            "failure": None if failure is None else [failure.call, failure.error],
        },
        "modules": [
            [m.fqn, m.cls, m.native, [m.params.own, m.params.total, m.params.trainable], m.extra_repr, m.aliases]
            for m in graph.modules.values()
        ],
        "tied": graph.tied,
        "calls": [[c.parent, c.module, c.index, c.inputs, c.outputs, c.ok, c.kind] for c in graph.calls],
        "ops": [[*row, o.attrs, o.source, o.kind] for row, o in zip(ops, graph.ops, strict=True)],
        "values": [
            [v.kind, v.producer, v.index, v.meta and metas.setdefault(v.meta, len(metas)), v.name, v.storage_group]
            for v in graph.values
        ],
        "metas": [[m.shape, m.dtype, m.device, m.nbytes] for m in metas],
        "inputs": graph.inputs,
        "outputs": graph.outputs,
    }
    if classic is not None:
        nodes = [[n.kind, n.name, n.depth, n.parent, n.about] for n in classic.nodes]
        data["classic"] = [nodes, classic.edges]
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


def _graph(data: Mapping[str, Any]) -> Graph:
    metas = [TensorMeta(tuple(shape), *rest) for shape, *rest in data["metas"]]
    modules = [
        Module(fqn, cls, native, ParamCount(*counts), extra_repr, tuple(aliases))
        for fqn, cls, native, counts, extra_repr, aliases in data["modules"]
    ]
    ops = (
        Op(id_, name, target, call, tuple(inputs), tuple(outputs), tuple(mutates), tuple(kernels), *rest)
        for id_, (name, target, call, inputs, outputs, mutates, kernels, *rest) in enumerate(data["ops"])
    )
    values = (
        Value(id_, kind, producer, index, None if meta is None else metas[meta], name, group)
        for id_, (kind, producer, index, meta, name, group) in enumerate(data["values"])
    )
    info, classic = data["info"], None
    how = (info["executed"], info["torch"], info["mode"], info["guessed"])
    failure = None if info["failure"] is None else Failure(*info["failure"])
    if data.get("classic") is not None:
        rows, edges = data["classic"]
        nodes = (
            ClassicNode(kind, name, depth, parent, about if isinstance(about, str) else tuple(about))
            for kind, name, depth, parent, about in rows
        )
        classic = ClassicNodes(tuple(nodes), tuple((tail, head) for tail, head in edges))
    return Graph(
        modules={module.fqn: module for module in modules},
        calls=tuple(Call(id_, *row) for id_, row in enumerate(data["calls"])),
        ops=tuple(ops),
        values=tuple(values),
        inputs=data["inputs"],
        outputs={path: tuple(ids) for path, ids in data["outputs"].items()},
        info=Info(*how, tuple(info["notes"]), failure, info.get("recorder", "modern")),
        tied={name: tuple(names) for name, names in data["tied"].items()},
        classic=classic,
    )
