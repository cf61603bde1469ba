"""Random Graphs as a recording would give them, for hypothesis: a random program is drawn, and then run.

A program has layers, blocks, lists of equal blocks, loops, functions and operations, which read any earlier values.
Each of its statements has a place in the source, so a loop runs the same places again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hypothesis import strategies as st

from tests.core.graph.building import Net
from torchrecorder.graph import Call, Frame, Graph, Op, Value

Kind = Literal["op", "layer", "again", "block", "blocks", "loop", "function", "write", "split", "constant", "param"]
LEAVES: tuple[Kind, ...] = ("op", "op", "op", "layer", "layer", "again", "again", "write", "split", "constant", "param")
HOLDERS: tuple[Kind, ...] = ("block", "blocks", "blocks", "loop", "loop", "function")
LAYERS = ("Linear", "Linear", "ReLU", "Conv2d", "Dropout")
PATHS = ("", "a", "b", "det.cls", "det.box", "seg.mask", "states.0", "states.1")


@dataclass(frozen=True)
class Statement:
    """A line of a program."""

    place: int
    kind: Kind
    name: str
    reads: tuple[int, ...]
    """How many values ago what it reads was made."""
    times: int
    body: tuple[Statement, ...] = ()
    keeps: bool = False
    """Whether what each turn of a loop or each block gives can be read afterwards, and not only the last."""
    setting: int = 1


@st.composite
def programs(draw: st.DrawFn, size: int, level: int = 0) -> tuple[Statement, ...]:
    """Statements, those that hold others at most three deep."""
    found = []
    for _ in range(draw(st.integers(1, size))):
        kind = draw(st.sampled_from(LEAVES + HOLDERS if level < 3 else LEAVES))
        names = LAYERS if kind == "layer" else ("add", "mul", "cat", "sin", "view", "matmul", "argmax")
        body = draw(programs(max(size // 2, 2), level + 1)) if kind in HOLDERS else ()
        reads = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
        name, place = draw(st.sampled_from(names)), draw(st.integers(0, 10**6))
        times, keeps, setting = draw(st.integers(2, 4)), draw(st.booleans()), draw(st.integers(1, 2))
        found.append(Statement(place, kind, name, reads, times, body, keeps, setting))
    return tuple(found)


@st.composite
def graphs(draw: st.DrawFn, size: int = 8) -> Graph:
    """The Graph of a random program with one or two inputs and several outputs, some of them nested."""
    running = Running()
    env = [running.net.input(name, 1, 4) for name in ("x", "y")[: draw(st.integers(1, 2))]]
    running.run(draw(programs(size)), "", env)
    paths = draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=4, unique=True))
    given = draw(st.lists(st.integers(1, 8), min_size=len(paths), max_size=len(paths)))
    return running.graph({path: env[-min(ago, len(env))] for path, ago in zip(paths, [1, *given[1:]], strict=True)})


class Running:
    """Runs a program and writes its Graph."""

    def __init__(self) -> None:
        self.net = Net("Random", params=100)
        self._frames: list[Frame] = []
        self._frame_of: dict[int, int] = {}
        """By op."""
        self._frame_of_call: dict[int, int] = {}
        self._within: list[int] = []
        """The frames that are open in the innermost call."""

    def run(self, body: Sequence[Statement], at: str, env: list[int]) -> None:
        """Run statements in the module `at`; each adds what it makes to `env`."""
        for statement in body:
            read = [*dict.fromkeys(env[-min(ago, len(env))] for ago in statement.reads)]
            getattr(self, f"_{statement.kind}")(statement, at, env, read)

    def graph(self, outputs: dict[str, int]) -> Graph:
        """The Graph of all that ran."""
        graph = self.net.graph()
        ops = tuple(replace(op, frame=self._frame_of.get(op.id)) for op in graph.ops)
        calls = [replace(call, frame=self._frame_of_call.get(call.id)) for call in graph.calls]
        calls[0] = replace(calls[0], inputs=dict(graph.inputs), outputs=dict(outputs))
        ends = {path: (value,) for path, value in outputs.items()}
        return replace(graph, ops=ops, calls=tuple(calls), outputs=ends, frames=tuple(self._frames))

    def _made(self, statement: Statement, name: str, *read: int) -> int:
        out = self.net.op(name, *read, shape=(1, 4))
        return self._placed(statement, out)

    def _placed(self, statement: Statement, out: int) -> int:
        op = self.net.ops[-1]
        self.net.ops[-1] = replace(op, source=f"net.py:{statement.place}", offset=statement.place)
        if self._within:
            self._frame_of[op.id] = self._within[-1]
        return out

    def _op(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        env.append(
            self._made(statement, statement.name, *read[: 1 if statement.name in ("view", "sin", "argmax") else 3])
        )

    def _write(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        out = self._made(statement, "add_", *read)
        op = self.net.ops[-1]
        self.net.ops[-1] = replace(op, mutates=op.outputs)
        env[:] = [out if value == read[0] else value for value in env]

    def _split(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        first = self._made(statement, "chunk", read[0])
        op: Op = self.net.ops[-1]
        self.net.values.append(Value(first + 1, "op", op.id, 1, self.net.values[first].meta))
        self.net.ops[-1] = replace(op, outputs=(first, first + 1))
        env += [first, first + 1]

    def _constant(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        mask = self._made(statement, "triu", self._made(statement, "ones"))
        env.append(self._made(statement, "masked_fill", read[0], mask))

    def _param(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        env.append(self._made(statement, "mul", read[0], self.net.weight(f"{at}scale{statement.place}", 4)))

    def _layer(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        params = 12 if statement.name in ("Linear", "Conv2d") else 0
        said = f"4, 4, kernel_size=({statement.setting},)"
        self._framed(len(self.net.calls))
        fqn = f"{at}{statement.name.lower()}{statement.place}"
        env.append(self.net.layer(fqn, statement.name, read[0], said=said, params=params))

    def _again(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        self._framed(len(self.net.calls))
        env.append(self.net.layer(f"{at}shared{statement.setting}", "Linear", read[0], said="4, 4", params=12))

    def _framed(self, call: int) -> None:
        if self._within:
            self._frame_of_call[call] = self._within[-1]

    def _block(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        env.append(self._called(statement, f"{at}block{statement.place}", read))

    def _called(self, statement: Statement, fqn: str, read: list[int]) -> int:
        net, own, within = self.net, [*read], self._within
        self._framed(len(net.calls))
        self._within = []
        with net.call(fqn, f"Block{statement.place}", params=50):
            call = net.stack[-1]
            self.run(statement.body, f"{fqn}.", own)
        self._within = within
        row: Call = net.calls[call]
        net.calls[call] = replace(row, inputs={f"a{i}": value for i, value in enumerate(read)}, outputs={"": own[-1]})
        return own[-1]

    def _blocks(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        for i in range(statement.times):
            out = self._called(statement, f"{at}list{statement.place}.{i}", read)
            read = [*dict.fromkeys([out, *read[1:]])]
            if statement.keeps or i == statement.times - 1:
                env.append(out)

    def _loop(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        found = []
        for _ in range(statement.times):
            turn = [*env, *read]
            self.run(statement.body, at, turn)
            read = [*dict.fromkeys([turn[-1], *read[1:]])]
            found.append(turn[-1])
        env += found if statement.keeps else found[-1:]

    def _function(self, statement: Statement, at: str, env: list[int], read: list[int]) -> None:
        parent = self._within[-1] if self._within else None
        call, place = self.net.stack[-1], f"net.py:{statement.place}"
        self._frames.append(Frame(len(self._frames), "helper", place, call, parent, place, statement.place))
        self._within.append(len(self._frames) - 1)
        own = [*read]
        self.run(statement.body, at, own)
        self._within.pop()
        env.append(own[-1])
