"""Any Graph, for hypothesis: it keeps every invariant and is otherwise as strange as it can be."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from torchrecorder.graph import (
    AutogradNode,
    Call,
    Decision,
    Failure,
    Frame,
    Graph,
    Info,
    Module,
    Op,
    ParamCount,
    TensorMeta,
    Value,
)
from torchrecorder.graph.batch import NUMBER

NAMES = st.text(max_size=8)
ARGUMENTS = NAMES.filter(lambda text: NUMBER.fullmatch(text) is None)
"""Texts of arguments that are not the batch, which these Graphs do not have."""
METAS = st.builds(
    TensorMeta,
    st.lists(st.integers(0, 9) | st.sampled_from(["s0", "B"]), max_size=3).map(tuple),
    st.sampled_from(["float32", "int64", "bool"]),
    st.sampled_from(["cpu", "cuda", "meta"]),
    st.none() | st.integers(0, 10**12),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A Graph of a few calls and ops."""
    modules = {"": Module("", "pkg.Net", native=False)}
    for fqn in draw(st.lists(NAMES, max_size=3)):
        count = ParamCount(*draw(st.tuples(*[st.integers(0, 10**9)] * 3)))
        modules[fqn] = Module(fqn, draw(NAMES), draw(st.booleans()), count, draw(NAMES), tuple(draw(st.lists(NAMES))))
    modules[""] = Module("", "pkg.Net", native=False)
    calls = [Call(0, None, "")]
    for id_ in range(1, draw(st.integers(1, 4))):
        parent, module = draw(st.sampled_from(_around(calls, id_ - 1))), draw(st.sampled_from(sorted(modules)))
        calls.append(Call(id_, parent, module, 1 + sum(call.module == module for call in calls)))
    values = [Value(0, "input", meta=draw(METAS), name=draw(NAMES))]
    ops: list[Op] = []
    for id_ in range(draw(st.integers(0, 5))):
        _add_op(draw, id_, calls, ops, values)
    failure = draw(st.none() | st.builds(Failure, st.none() | st.just(0), NAMES))
    info = Info("real", draw(NAMES), "eval", draw(NAMES), tuple(draw(st.lists(NAMES, max_size=2))), failure)
    info = replace(info, recorder=draw(st.sampled_from(["modern", "classic"])))
    outputs = {draw(NAMES): (draw(st.integers(0, len(values) - 1)),)}
    tied = {name: (name, "other") for name in draw(st.lists(NAMES, max_size=1))}
    asked = draw(st.lists(st.lists(st.integers(0, len(values) - 1), max_size=2), max_size=2))
    decisions = tuple(Decision(draw(NAMES), draw(NAMES), tuple(ids)) for ids in asked)
    frames: list[Frame] = []
    for id_ in range(draw(st.integers(0, 3))):
        call = draw(st.integers(0, len(calls) - 1))
        place = draw(st.none() | NAMES), draw(st.none() | st.integers(0, 99))
        frames.append(Frame(id_, draw(NAMES), draw(NAMES), call, draw(_frame_of(call, frames)), *place))
    ops = [replace(op, frame=draw(_frame_of(op.call, frames)), offset=draw(st.none() | st.just(4))) for op in ops]
    calls = [replace(call, frame=draw(_frame_of(call.parent, frames))) for call in calls]
    made = tuple(calls), tuple(ops), tuple(values)
    return Graph(modules, *made, {"x": 0}, outputs, info, tied, tuple(frames), decisions)


def _around(calls: list[Call], call: int) -> list[int]:
    """A call and those around it."""
    parent = calls[call].parent
    return [call] if parent is None else [call, *_around(calls, parent)]


def _open(calls: list[Call], ops: list[Op]) -> list[int]:
    """The calls in which the next op can happen: those that the last one left open, and later ones in them."""
    begun = max((op.call for op in ops), default=0)
    left = _around(calls, ops[-1].call if ops else 0)
    return [call.id for call in calls if max(at for at in _around(calls, call.id) if at <= begun) in left]


def _frame_of(call: int | None, frames: list[Frame]) -> st.SearchStrategy[int | None]:
    return st.sampled_from([None, *(frame.id for frame in frames if frame.call == call)])


def _add_op(draw: st.DrawFn, id_: int, calls: list[Call], ops: list[Op], values: list[Value]) -> None:
    if draw(st.booleans()):
        values.append(Value(len(values), draw(st.sampled_from(["param", "buffer", "const"])), name=draw(NAMES)))
    inputs = draw(st.lists(st.integers(0, len(values) - 1), max_size=3, unique=True))
    outputs = tuple(range(len(values), len(values) + draw(st.integers(1, 2))))
    group = draw(st.none() | st.integers(0, 9))
    values += [Value(value, "op", id_, index, draw(METAS), None, group) for index, value in enumerate(outputs)]
    ops.append(
        Op(
            id_,
            draw(NAMES),
            draw(NAMES),
            draw(st.sampled_from(_open(calls, ops))),
            tuple(inputs),
            outputs,
            outputs[: draw(st.integers(0, 1))],
            tuple(draw(st.lists(NAMES, max_size=2))),
            draw(st.none() | st.integers(0, 10**15)),
            draw(st.dictionaries(NAMES, ARGUMENTS, max_size=2)),
            draw(st.none() | NAMES),
            draw(st.sampled_from(["op", "pass", "kernel", "function"])),
            _nodes(draw, inputs, outputs),
        )
    )


def _nodes(draw: st.DrawFn, inputs: list[int], outputs: tuple[int, ...]) -> tuple[AutogradNode, ...]:
    found: list[AutogradNode] = []
    for place in range(draw(st.integers(0, 2))):
        before = [*inputs, *range(-place, 0)]
        read = draw(st.lists(st.sampled_from(before), max_size=2, unique=True)) if before else []
        found.append(AutogradNode(draw(NAMES), tuple(read), outputs[place : place + 1]))
    return tuple(found)
