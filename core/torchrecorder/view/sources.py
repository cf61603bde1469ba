"""Where data that no drawn node made comes from, and whether a picture says so.

A layer's own weights are part of the layer. Shown are: the inputs; parameters and buffers that an op or a call gets as
data (a class token, a position table); and constants that ops made from nothing but constants, such as a mask or
positions, drawn as one small node instead of the five ops that built it.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchrecorder.graph.model import Graph, Op, Value
from torchrecorder.view.model import NodeKind
from torchrecorder.view.opsets import RANDOM, WEIGHTED
from torchrecorder.view.plan import Plan
from torchrecorder.view.wiring import Read, Wiring

MAX_LISTED = 8
"""More inputs or outputs than this in one tuple or list are drawn as one node."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a read comes from; reads with equal sources share a node."""

    kind: NodeKind
    name: str
    op: int | None = None
    """The op that made it, for a constant that ops made."""
    value: int | None = None
    """Tells constants without a name apart."""


def constant_ops(plan: Plan, wiring: Wiring) -> set[int]:
    """The drawn ops that depend on nothing but constants and buffers; their values are constants too."""
    graph = plan.tree.graph
    found: set[int] = set()
    for op in graph.ops:
        if op.call not in wiring.span or wiring.contracted[op.id] or wiring.holder[op.call] is not None:
            continue
        inputs = (graph.values[wiring.origin[value]] for value in op.inputs)
        if not op.name.startswith(RANDOM) and all(_is_constant(value, found) for value in inputs):
            found.add(op.id)
    return found


def _is_constant(value: Value, constant: set[int]) -> bool:
    return value.kind in ("const", "buffer") or value.producer in constant


class Sources:
    """Tells of each read from outside what its source is."""

    def __init__(self, plan: Plan, wiring: Wiring, constant: set[int], *, weights: bool = False) -> None:
        self.plan, self.wiring, self.constant = plan, wiring, constant
        self.graph, self.weights = plan.tree.graph, weights
        self.names = input_names(self.graph, plan.root)
        self.groups = grouped([*self.names.values()])

    def of(self, read: Read) -> Source | None:
        """The source of a read that no drawn node feeds; None if it is not drawn."""
        value = self.graph.values[read.origin]
        if value.producer in self.constant:
            return self._constant(value, read)
        if value.kind in ("input", "op"):
            return self._input(read)
        if read.repeated or not self._is_data(read, value):
            return None
        if value.kind == "const":
            return self._constant(value, read)
        return Source(value.kind, value.name or "")

    def _input(self, read: Read) -> Source:
        value = self.graph.values[read.origin]
        name = self.names.get(read.origin) or self.names.get(read.value) or value.name or ""
        return Source("input", self.groups.get(name, name))

    def _constant(self, value: Value, read: Read) -> Source | None:
        if read.repeated or value.meta is None or not value.meta.shape or 0 in value.meta.shape:
            return None
        buffer = None if value.producer is None else self._part_of(value.producer)
        return Source("const", buffer or "", value.producer, None if buffer else value.id)

    def _part_of(self, op: int) -> str | None:
        """The buffer that a constant was cut from: positions up to the length of the text."""
        inputs = [self.graph.values[self.wiring.origin[value]] for value in self.graph.ops[op].inputs]
        return inputs[0].name if len(inputs) == 1 and inputs[0].kind == "buffer" else None

    def _is_data(self, read: Read, value: Value) -> bool:
        node = self.plan.nodes[read.head]
        if node.kind == "gap":
            return False
        if self.weights and value.kind == "param" and not (node.calls and self.plan.tree.children[node.calls[0]]):
            return True  # the weights of a layer, not all those inside one that is closed
        if node.kind == "call":
            given = self.graph.calls[node.calls[0]].inputs.values()
            return read.value in given or read.origin in given
        return not is_weight(read.op, value, self.wiring)


def is_weight(op: Op, value: Value, wiring: Wiring) -> bool:
    """Whether an op uses a parameter or buffer as its weight, not as data."""
    return op.name in WEIGHTED and bool(op.inputs) and wiring.origin[op.inputs[0]] != value.id


def input_names(graph: Graph, root: int) -> dict[int, str]:
    """The path of each value that the root gets."""
    paths = graph.inputs if root == 0 else graph.calls[root].inputs
    names: dict[int, str] = {}
    for path, value in paths.items():
        names.setdefault(value, path)
    return names


def grouped(paths: list[str]) -> dict[str, str]:
    """By path the name of the node that stands for it: long tuples and lists are one node."""
    members: dict[str, list[str]] = {}
    for path in dict.fromkeys(paths):
        head, dot, _ = path.partition(".")
        key = head if dot else ("" if path.isdigit() else path)
        members.setdefault(key, []).append(path)
    return {
        path: (key if len(listed) > MAX_LISTED or _is_nested(listed) else path)
        for key, listed in members.items()
        for path in listed
    }


def _is_nested(paths: list[str]) -> bool:
    return len(paths) > 2 and any(path.count(".") > 1 for path in paths)
