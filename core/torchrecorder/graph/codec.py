"""Graph to JSON and back.

The text is canonical: everything stands in the order of the Graph, so the hash of the text names the Graph. Records are
lists in field order instead of objects, and equal tensor descriptions are stored once, because a model of 4,000 ops
would otherwise repeat each name 4,000 times.

A Graph that is read may come from a cache that others wrote, so `problems` checks every invariant of `graph.model`.
"""

from __future__ import annotations

import hashlib
import json
import re
import types
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from itertools import chain
from typing import Any, Literal, get_args, get_origin, get_type_hints

from torchrecorder.errors import FormatError
from torchrecorder.graph.batch import batch_problems
from torchrecorder.graph.model import (
    AutogradNode,
    Call,
    CallKind,
    Decision,
    Executed,
    Failure,
    Frame,
    Grade,
    Graph,
    Info,
    Mode,
    Module,
    Op,
    OpKind,
    ParamCount,
    Recorder,
    TensorMeta,
    Value,
    ValueKind,
)
from torchrecorder.graph.quick import looking_seldom, quick

_module, _call, _op, _value, _frame = quick(Module), quick(Call), quick(Op), quick(Value), quick(Frame)

VERSION = 1
"""Raised with every change of the format or of the meaning of a field; a text of another version is not read."""


@looking_seldom()
def to_json(graph: Graph) -> str:
    """The Graph as one line of JSON, the same for equal Graphs on every machine."""
    metas: dict[TensorMeta, int] = {}
    info, failure = graph.info, graph.info.failure
    by_axes: dict[tuple[int, ...], list[int]] = {}
    for value, axes in graph.batch.items():
        by_axes.setdefault(axes, []).append(value)
    data = {
        "torchrecorder_graph": VERSION,
        "info": {
            **{name: getattr(info, name) for name in ("executed", "torch", "mode", "guessed")},
            # left out, as it was before there was another
            **({"recorder": info.recorder} if info.recorder != "modern" else {}),
            **({"grade": info.grade} if info.grade else {}),
            **({"sheet": [*info.sheet.items()]} if info.sheet else {}),
            "notes": info.notes,
            "failure": None if failure is None else [failure.call, failure.error],
        },
        "modules": [
            [m.fqn, m.cls, m.native, [m.params.own, m.params.total, m.params.trainable], m.extra_repr, m.aliases]
            for m in graph.modules.values()
        ],
        "tied": graph.tied,
        "calls": [[c.parent, c.module, c.index, c.inputs, c.outputs, c.ok, c.kind] for c in graph.calls],
        "ops": [
            [o.name, o.target, o.call, o.inputs, o.outputs, o.mutates, o.kernels, o.flops, o.attrs, o.source, o.kind]
            # left out where there is none, as it was before there could be any
            + ([[[node.name, node.inputs, node.outputs] for node in o.autograd]] if o.autograd else [])
            for o in graph.ops
        ],
        "values": [
            [v.kind, v.producer, v.index, v.meta and metas.setdefault(v.meta, len(metas)), v.name, v.storage_group]
            for v in graph.values
        ],
        "metas": [[m.shape, m.dtype, m.device, m.nbytes] for m in metas],
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        **({"decisions": [[d.source, d.text, d.values] for d in graph.decisions]} if graph.decisions else {}),
        **({"assigned": graph.assigned} if graph.assigned else {}),
        **({"returned": graph.returned} if graph.returned else {}),
        **({"batch": [[axes, values] for axes, values in by_axes.items()]} if graph.batch else {}),
    }
    return json.dumps({**data, **_later_to_json(graph)}, ensure_ascii=False, separators=(",", ":"))


def digest_without_lines(text: bytes, digest: str) -> str:
    """Digest of a Graph but for the statements of its calls, which move while the model stays; `digest` is the whole.

    It is that of the Graph as it was written before it had them.
    """
    if b',"called":{' not in text:
        return digest
    data = json.loads(text)
    data.pop("called", None)
    return hashlib.sha256(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def _later_to_json(graph: Graph) -> dict[str, object]:
    """Columns that were added later than the rows; a Graph without such things is written as it was before."""
    later: dict[str, object] = {}
    if any(call.source for call in graph.calls):
        lines: dict[str, int] = {}
        at = [None if call.source is None else lines.setdefault(call.source, len(lines)) for call in graph.calls]
        later["called"] = {"places": list(lines), "calls": at}
    if not graph.frames and all(op.offset is None for op in graph.ops):
        return later
    functions: dict[tuple[str, str], int] = {}
    places: dict[tuple[str | None, int | None], int] = {}
    rows = [
        [
            functions.setdefault((f.name, f.defined), len(functions)),
            f.call,
            f.parent,
            places.setdefault((f.source, f.offset), len(places)),
        ]
        for f in graph.frames
    ]
    later["frames"] = {
        "functions": list(functions),
        "places": list(places),
        "rows": rows,
        "calls": [call.frame for call in graph.calls],
        "ops": [op.frame for op in graph.ops],
        "offsets": [op.offset for op in graph.ops],
    }
    return later


_MAY_BE_HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""A half of a surrogate pair, which no page can be written with; or a whole pair, or what follows a backslash."""


@looking_seldom()
def from_json(text: str | bytes) -> Graph:
    """The Graph that `to_json` wrote.

    Raises:
        FormatError: The text is not a Graph in this version of the format, or breaks an invariant.
    """
    try:
        data = json.loads(text)
        if _MAY_BE_HALF.search(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text):
            json.dumps(data, ensure_ascii=False).encode()
        version = data["torchrecorder_graph"]
        if version != VERSION:
            raise FormatError(what="a Graph", reason=f"its format is version {version}, this is version {VERSION}")
        graph = _graph(data)
        faults = [*_wrong_fields([graph], Graph)] or problems(graph)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(what="a Graph", reason=f"{type(error).__name__}: {error}") from error
    if faults:
        raise FormatError(what="a Graph", reason=faults[0])
    return graph


def _graph(data: Mapping[str, Any]) -> Graph:
    metas = [TensorMeta(tuple(shape), *rest) for shape, *rest in data["metas"]]
    later = data.get("frames") or {}
    modules = [
        _module(fqn, cls, native, ParamCount(*counts), extra_repr, tuple(aliases))
        for fqn, cls, native, counts, extra_repr, aliases in data["modules"]
    ]
    values = (
        _value(id_, kind, producer, index, None if meta is None else metas[meta], name, group)
        for id_, (kind, producer, index, meta, name, group) in enumerate(data["values"])
    )
    called = data.get("called") or {}
    sources = [None if at is None else called["places"][at] for at in called["calls"]] if called else None
    in_frames = _columns(data["calls"], later.get("calls"), sources)
    calls = (_call(id_, *row, *frame) for id_, (row, frame) in enumerate(zip(data["calls"], in_frames, strict=True)))
    info = data["info"]
    how = (info["executed"], info["torch"], info["mode"], info["guessed"])
    failure = None if info["failure"] is None else Failure(*info["failure"])
    later_info = (info.get("recorder", "modern"), info.get("grade", ""), dict(info.get("sheet", ())))
    return Graph(
        modules={module.fqn: module for module in modules},
        calls=tuple(calls),
        ops=tuple(_ops(data["ops"], _columns(data["ops"], later.get("ops"), later.get("offsets")))),
        values=tuple(values),
        inputs=data["inputs"],
        outputs={path: tuple(ids) for path, ids in data["outputs"].items()},
        info=Info(*how, tuple(info["notes"]), failure, *later_info),
        tied={name: tuple(names) for name, names in data["tied"].items()},
        frames=tuple(_frames_of(later)),
        decisions=tuple(Decision(source, text, tuple(ids)) for source, text, ids in data.get("decisions", ())),
        batch=dict(sorted((value, tuple(axes)) for axes, ids in data.get("batch", ()) for value in ids)),
        assigned=data.get("assigned", {}),
        returned=data.get("returned", {}),
    )


def _ops(rows: Sequence[Sequence[Any]], places: Iterable[Sequence[Any]]) -> Iterator[Op]:
    for id_, (row, place) in enumerate(zip(rows, places, strict=True)):
        name, target, call, inputs, outputs, mutates, kernels, flops, attrs, source, kind, *more = row
        ids = (tuple(inputs), tuple(outputs), tuple(mutates))
        nodes = tuple(AutogradNode(of, tuple(read), tuple(given)) for part in more for of, read, given in part)
        yield _op(id_, name, target, call, *ids, tuple(kernels), flops, attrs, source, kind, nodes, *place)


def _frames_of(later: Mapping[str, Any]) -> Iterator[Frame]:
    functions, places = later.get("functions", ()), later.get("places", ())
    for id_, (function, call, parent, place) in enumerate(later.get("rows", ())):
        (name, defined), (source, offset) = functions[function], places[place]
        yield _frame(id_, name, defined, call, parent, source, offset)


def _columns(rows: Sequence[Any], *columns: Sequence[Any] | None) -> Iterator[tuple[Any, ...]]:
    """For each row its values in further columns; None where a Graph was written without them."""
    return zip(*([None] * len(rows) if column is None else column for column in columns), strict=True)


def problems(graph: Graph) -> list[str]:
    """Sentences on what breaks a promise of `graph.model`."""
    faults = [*_rows(graph), *_calls(graph), *_frames(graph), *_values(graph), *batch_problems(graph)]
    return faults or [*_order(graph)]


def _rows(graph: Graph) -> Iterator[str]:
    """Ids that differ from the positions of their rows, and unknown kinds and modes."""
    tables: list[tuple[str, Sequence[Call | Op | Value]]]
    tables = [("call", graph.calls), ("op", graph.ops), ("value", graph.values)]
    for name, rows in (*tables, ("frame", graph.frames)):
        for position, row in enumerate(rows):
            if row.id != position:
                yield f"{name} {row.id} stands at position {position}"
    info = graph.info
    if info.recorder not in get_args(Recorder):
        yield f"unknown recorder {info.recorder!r}"
    if info.grade not in get_args(Grade):
        yield f"unknown grade {info.grade!r}"
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
        yield from _nodes(graph, op, where)


def _order(graph: Graph) -> Iterator[str]:
    """Calls and ops in a call that has ended, and reads before the value is made."""
    calls = graph.calls
    count = Counter[tuple[str, str]]()
    for call in calls:
        count[call.kind, call.module] += 1
        if call.index != count[call.kind, call.module]:
            yield f"call {call.id} says that it is call {call.index} of {call.module!r}, which it is not"
        if call.parent is not None and not _is_open(calls, call.parent, call.id - 1):
            yield f"call {call.id} begins in call {call.parent}, which has ended"
    now = begun = 0
    ended = [-1] * len(calls)
    for op in graph.ops:
        where, at = f"op {op.id} ({op.name})", op.call
        while at > begun:
            at = calls[at].parent or 0
        if not _is_open(calls, at, now):
            yield f"{where} happened in call {op.call}, which had ended"
        now, begun, ended[op.call] = op.call, max(begun, op.call), op.id
        for value in op.inputs:
            if (graph.values[value].producer or 0) > op.id:
                yield f"{where} reads value {value}, which is made later"
    for call in reversed(calls):
        if call.parent is not None:
            ended[call.parent] = max(ended[call.parent], ended[call.id])
        for value in call.outputs.values() if ended[call.id] >= 0 else ():
            if (graph.values[value].producer or 0) > ended[call.id]:
                yield f"call {call.id} gives value {value}, which is made after it ended"


def _is_open(calls: Sequence[Call], call: int, now: int) -> bool:
    """Whether a call is `now` or around it; no call is left twice, so all of this is linear."""
    while now > call:
        now = calls[now].parent or 0
    return now == call


def _nodes(graph: Graph, op: Op, where: str) -> Iterator[str]:
    """Nodes of autograd that are made from what is not there yet, or stand for what the op does not give."""
    end = min(op.outputs, default=len(graph.values))
    for position, node in enumerate(op.autograd):
        if type(node.name) is not str or not all(-position <= id_ < end for id_ in node.inputs):
            yield f"{where} has a node of autograd, {node.name!r}, that has no name or is made from what comes later"
        if not set(node.outputs) <= set(op.outputs):
            yield f"{where} has a node of autograd, {node.name!r}, for what it does not give"


def _frames(graph: Graph) -> Iterator[str]:
    """Frames that do not nest, and calls and ops in a frame of another call."""
    frames = graph.frames
    for frame in frames:
        if not 0 <= frame.call < len(graph.calls):
            yield f"frame {frame.id} ran in the unknown call {frame.call}"
        if frame.parent is not None and not (0 <= frame.parent < frame.id and frames[frame.parent].call == frame.call):
            yield f"frame {frame.id} has parent {frame.parent}"
    held = [(f"call {call.id}", call.frame, call.parent) for call in graph.calls]
    for where, at, call in held + [(f"op {op.id}", op.frame, op.call) for op in graph.ops]:
        if at is not None and not (0 <= at < len(frames) and frames[at].call == call):
            yield f"{where} names the frame {at}, which is unknown or of another call"


def _values(graph: Graph) -> Iterator[str]:
    """Values that are not made once, and inputs and outputs with unknown ids."""
    made = {value: op.id for op in graph.ops for value in op.outputs}
    if len(made) != sum(len(op.outputs) for op in graph.ops):
        yield "a value has two producers"
    for value in graph.values:
        if value.producer != made.get(value.id) or (value.kind == "op") != (value.producer is not None):
            yield f"value {value.id} ({value.kind}) claims op {value.producer} made it"
        elif value.producer is not None and graph.ops[value.producer].outputs[value.index : value.index + 1] != (
            value.id,
        ):
            yield f"value {value.id} is not output {value.index} of op {value.producer}"
    yield from _unknown(graph, graph.inputs.values(), "the inputs")
    yield from _unknown(graph, [v for values in graph.outputs.values() for v in values], "the outputs")
    failed = None if graph.info.failure is None else graph.info.failure.call
    if failed is not None and not 0 <= failed < len(graph.calls):
        yield f"the forward failed in the unknown call {failed}"
    for decision in graph.decisions:
        yield from _unknown(graph, decision.values, f"the decision at {decision.source}")
    for path, id_ in graph.inputs.items():
        if 0 <= id_ < len(graph.values) and graph.values[id_].kind != "input":
            yield f"input {path!r} is a value of kind {graph.values[id_].kind!r}"


def _unknown(graph: Graph, ids: Iterable[int], where: str) -> Iterator[str]:
    for id_ in ids:
        if not 0 <= id_ < len(graph.values):
            yield f"{where} names the unknown value {id_}"


# Fields may have other types than declared, since the JSON of a cache may come from others. They are checked by column,
# not by row: the types of a field's values in all records are one set.


_hints = cache(get_type_hints)


def _wrong_fields(records: Collection[Any], cls: type) -> Iterator[str]:
    for name, hint in _hints(cls).items():  # of which each is a field
        yield from _wrong([getattr(record, name) for record in records], hint, f"{cls.__name__}.{name}")


def _wrong(values: Collection[Any], hint: Any, where: str) -> Iterator[str]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is types.UnionType:
        others = [part for part in arguments if isinstance(part, type) and not is_dataclass(part)]
        rest = [value for value in values if type(value) not in others]
        hint = next((part for part in arguments if part not in others), None)
        if rest and hint is None:
            yield f"{where} is of the type {type(rest[0]).__name__}"
        elif rest:
            yield from _wrong(rest, hint, where)
        return
    kind = str if origin is Literal else tuple if origin is tuple else dict if origin is Mapping else hint
    if odd := next((type(value).__name__ for value in values if type(value) is not kind), None):
        yield f"{where} is of the type {odd}"
    elif origin is tuple:
        yield from _wrong([*chain.from_iterable(values)], arguments[0], where)
    elif origin is Mapping:
        yield from _wrong([key for value in values for key in value], arguments[0], where)
        yield from _wrong([item for value in values for item in value.values()], arguments[1], where)
    elif is_dataclass(kind):
        yield from _wrong_fields(values, kind)
