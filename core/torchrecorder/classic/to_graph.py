"""A classic recording as a Graph: autograd's names for the operations, weights as what they read.

The recorder keeps tensors between modules only, and its nodes say which things an edge connects, not which result of
an operation it carries. So a Value without facts stands for what one operation gives directly to another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any

import torch

from torchrecorder.classic.recording import ClassicCall, ClassicRecording, Step
from torchrecorder.errors import NotRecorded
from torchrecorder.graph import Call, ClassicNode, ClassicNodes, Graph, Info, Op, Value
from torchrecorder.graph.model import ClassicKind, Mode, OpKind, ValueKind
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, TensorNode
from torchrecorder.running import torch_private
from torchrecorder.running.facts import describe_modules, describe_tensor, tied, with_holders


def to_graph(rec: ClassicRecording) -> Graph:
    """The Graph of a recording."""
    root = next((node.fn for node in rec.nodes.values() if isinstance(node, LayerNode) and node.depth == 0), None)
    if root is None:
        raise NotRecorded(what="Module")
    return _GraphMaker(rec, root).graph()


class _GraphMaker:
    def __init__(self, rec: ClassicRecording, root: Any) -> None:
        self.root = root
        self.rec = rec
        self.paths = _names(root.named_modules(remove_duplicate=False))
        self.names = _names(root.named_parameters(remove_duplicate=False))
        self.calls = rec.calls.entries or [ClassicCall(0, root, None, is_training=root.training, returned=True)]
        self.call_of = rec.call_of
        self.connections = _Connections(rec, self.calls)
        self.inputs = self.calls[0].inputs
        self.values: list[Value] = []
        self.rows: list[_OpRow] = []
        self.value_of: dict[int, int] = {}

    def graph(self) -> Graph:
        for node in [*self.inputs, *self.connections.in_order()]:
            if id(node) not in self.value_of:
                self._add(node)
        calls = tuple(self._call(call) for call in self.calls)
        first = self.calls[0]
        mode: Mode = "train" if first.is_training else "eval"
        return Graph(
            modules=describe_modules(self.root, with_holders([call.module for call in calls])),
            calls=calls,
            ops=tuple(row.op() for row in self.rows),
            values=tuple(self.values),
            inputs=self._by_name(self.inputs),
            outputs={name: (value,) for name, value in self._by_name(first.outputs).items()},
            info=Info("real", torch.__version__, mode, notes=torch_private.notes(), recorder="classic"),
            tied=tied(self.root),
            classic=classic_nodes(self.rec, self.paths),
        )

    def _add(self, node: BaseNode) -> None:
        if isinstance(node, OpNode):
            self._op(node)
        elif isinstance(node, ParamNode):
            self.value_of[id(node)] = self._value("param", node, name=self.names.get(id(node.fn), node.name))
        elif isinstance(node, TensorNode):
            self._tensor(node)

    def _op(self, node: OpNode) -> None:
        row = self._row(node, self.call_of.get(id(node), 0))
        heads = self.connections.heads[id(node)]
        for head in heads:
            if isinstance(head, TensorNode) and id(head) not in self.value_of:
                self.value_of[id(head)] = self._made(row, head)
        given = [self.value_of[id(head)] for head in heads if isinstance(head, TensorNode)]
        if any(isinstance(head, OpNode) for head in heads):
            self.value_of[id(node)] = given[0] if given else self._made(row, None)
        else:
            self.value_of[id(node)] = given[0] if given else -1

    def _tensor(self, node: TensorNode) -> None:
        if any(node is other for other in self.inputs):
            self.value_of[id(node)] = self._value("input", node, name=node.name)
        elif self.connections.sources[id(node)]:
            call = self.connections.giver.get(id(node), 0)
            self.value_of[id(node)] = self._made(self._row(node, call, "pass"), node)
        else:
            self.value_of[id(node)] = self._value("const", node, name=node.name)

    def _row(self, node: BaseNode, call: int, kind: OpKind = "op") -> _OpRow:
        named = self.calls[call].module if kind == "pass" else node.fn
        name = named.name if isinstance(named, Step) else type(named).__name__
        read = [self.value_of.get(id(source), -1) for source in self.connections.sources[id(node)]]
        row = _OpRow(len(self.rows), name, call, kind, [value for value in dict.fromkeys(read) if value >= 0])
        self.rows.append(row)
        return row

    def _made(self, row: _OpRow, node: TensorNode | None) -> int:
        value = self._value("op", node, row.id, len(row.outputs), None if node is None else node.name)
        row.outputs.append(value)
        return value

    def _value(
        self,
        kind: ValueKind,
        node: BaseNode | None,
        producer: int | None = None,
        index: int = 0,
        name: str | None = None,
    ) -> int:
        meta = describe_tensor(node.fn) if node is not None and isinstance(node.fn, torch.Tensor) else None
        self.values.append(Value(len(self.values), kind, producer, index, meta, name))
        return len(self.values) - 1

    def _call(self, call: ClassicCall) -> Call:
        index = 1 + sum(other.module is call.module for other in self.calls[: call.id])
        inputs, outputs = self._by_name(call.inputs), self._by_name(call.outputs)
        return Call(call.id, call.parent, self.paths.get(id(call.module), ""), index, inputs, outputs, call.returned)

    def _by_name(self, nodes: Iterable[TensorNode]) -> dict[str, int]:
        return {node.name: self.value_of[id(node)] for node in nodes if self.value_of.get(id(node), -1) >= 0}


@dataclass(slots=True)
class _OpRow:
    id: int
    name: str
    call: int
    kind: OpKind
    inputs: list[int]
    outputs: list[int] = field(default_factory=list)

    def op(self) -> Op:
        inputs = [value for value in self.inputs if not self.outputs or value < min(self.outputs)]
        return Op(self.id, self.name, self.name, self.call, tuple(inputs), tuple(self.outputs), kind=self.kind)


def _names(named: Iterable[tuple[str, Any]]) -> dict[int, str]:
    found: dict[int, str] = {}
    for name, thing in named:
        found.setdefault(id(thing), name)
    return found


class _Connections:
    """What each node other than a layer was made from, and an order in which everything comes after that.

    Where an edge leads through a layer, the tensors that layer gave come from those that the same call took.
    """

    def __init__(self, rec: ClassicRecording, calls: Sequence[ClassicCall]) -> None:
        self._nodes = [node for node in dict.fromkeys(rec.nodes.values()) if not isinstance(node, LayerNode)]
        self._place = {id(node): place for place, node in enumerate(dict.fromkeys(rec.nodes.values()))}
        self.sources: dict[int, list[BaseNode]] = {id(node): [] for node in self._nodes}
        self.heads: dict[int, list[BaseNode]] = {id(node): [] for node in self._nodes}
        self.giver = {id(node): call.id for call in reversed(calls) for node in call.outputs}
        for tail, head in self._edges(rec, calls):
            if tail not in self.sources[id(head)]:
                self.sources[id(head)].append(tail)
                self.heads[id(tail)].append(head)

    def in_order(self) -> Iterator[BaseNode]:
        """Each node after its sources, otherwise in the order of recording; one that is its own source comes last."""
        open_sources = {id(node): len(self.sources[id(node)]) for node in self._nodes}
        by_place = {self._place[id(node)]: node for node in self._nodes}
        ready = [place for place, node in by_place.items() if not open_sources[id(node)]]
        heapify(ready)
        done: set[int] = set()
        while ready:
            node = by_place[heappop(ready)]
            done.add(id(node))
            yield node
            for head in self.heads[id(node)]:
                open_sources[id(head)] -= 1
                if not open_sources[id(head)]:
                    heappush(ready, self._place[id(head)])
        yield from (node for node in self._nodes if id(node) not in done)

    def _edges(self, rec: ClassicRecording, calls: Sequence[ClassicCall]) -> list[tuple[BaseNode, BaseNode]]:
        pairs: dict[tuple[int, int], tuple[BaseNode, BaseNode]] = {}
        for from_, to in rec.edges:
            tail, head = rec.nodes[from_], rec.nodes[to]
            if isinstance(head, LayerNode) or tail is head:
                continue
            through = isinstance(tail, LayerNode) and id(head) in self.giver
            for source in calls[self.giver[id(head)]].inputs if through else [tail]:
                if source is not head and not isinstance(source, LayerNode):
                    pairs[self._place[id(source)], self._place[id(head)]] = (source, head)
        return [pairs[places] for places in sorted(pairs, key=lambda places: (places[1], places[0]))]


_KINDS: tuple[tuple[type[BaseNode], ClassicKind], ...] = (
    (LayerNode, "layer"),
    (ParamNode, "param"),
    (TensorNode, "tensor"),
    (OpNode, "op"),
)


def classic_nodes(rec: ClassicRecording, paths: Mapping[int, str]) -> ClassicNodes:
    """The nodes of a recorder in its order, for the picture that torchrecorder 1.0.3 would have drawn."""
    context = rec.nodes.get(None)
    nodes = [node for node in dict.fromkeys(rec.nodes.values()) if node is not context]
    place = {id(node): position for position, node in enumerate(nodes)}
    pairs = {(place[id(rec.nodes[tail])], place[id(rec.nodes[head])]) for tail, head in rec.edges}
    rows = []
    for node in nodes:
        kind: ClassicKind = next(kind for cls, kind in _KINDS if isinstance(node, cls))
        about: str | tuple[int, ...] = paths.get(id(node.fn), "") if kind == "layer" else ""
        if isinstance(node, TensorNode) and isinstance(node.fn, torch.Tensor):
            about = tuple(node.fn.shape)
        parent = None if node.parent is None else place.get(id(rec.nodes.get(node.parent)))
        rows.append(ClassicNode(kind, node.name, node.depth, parent, about))
    return ClassicNodes(tuple(rows), tuple(sorted(pair for pair in pairs if pair[0] != pair[1])))
