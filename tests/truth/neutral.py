"""A Graph in the neutral form of the truth cases; see `case` for the keys and rules."""

from __future__ import annotations

import re
from collections import Counter

from torchrecorder.graph import Call, Graph, Op, Value

_KERNELS = {
    "_softmax": "softmax",
    "_to_copy": "to",
    "_scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention",
    "_unsafe_view": "view",
}
"""Public names of kernels that ran without a public function, such as those of script modules."""


_PREFIXES = {"input": "in", "param": "p", "buffer": "b"}


def to_neutral(graph: Graph) -> tuple[set[str], set[tuple[str, str]]]:
    """The keys of the Graph's nodes, and its edges as pairs of keys."""
    return _Lowering(graph).result()


class _Lowering:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._numbers: Counter[str] = Counter()
        self._constants: dict[int, int] = {}
        self._with_children = {call.parent for call in graph.calls if call.kind == "module"}
        self._atoms = [self._outermost_atom(call) for call in graph.calls]
        self._call_keys = {call.id: self._call_key(call) for call in graph.calls if self._atoms[call.id] == call.id}
        self._op_keys = [self._op_key(op) for op in graph.ops]

    def result(self) -> tuple[set[str], set[tuple[str, str]]]:
        edges = {edge for op in self._graph.ops for edge in self._edges_into(op)}
        for path, values in self._graph.outputs.items():
            out = f"out:{path}" if path else "out"
            edges |= {(source, out) for value in values for source in self._sources(value)}
        nodes = {f"in:{path}" for path in self._graph.inputs} | set(self._call_keys.values())
        return nodes.union(self._op_keys) | {node for edge in edges for node in edge}, edges

    def _is_atomic(self, call: Call) -> bool:
        if call.kind == "function":
            return call.id not in self._with_children
        return self._graph.modules[call.module].native and call.id not in self._with_children

    def _outermost_atom(self, call: Call) -> int | None:
        found = None
        at: Call | None = call
        while at is not None:
            found = at.id if self._is_atomic(at) else found
            at = None if at.parent is None else self._graph.calls[at.parent]
        return found

    def _call_key(self, call: Call) -> str:
        if call.kind == "function":
            assert call.parent is not None
            return self._numbered(f"{self._graph.calls[call.parent].module}/{call.module}")
        # `~ReLU:2` is the second object of an unregistered class; the truth counts calls by class.
        name = re.sub(r"^(~[^.:]+):[0-9]+", r"\1", call.module)
        return self._numbered(f"m:{name}")

    def _op_key(self, op: Op) -> str:
        """The node that the op is part of."""
        atom = self._atoms[op.call]
        if atom is not None:
            return self._call_keys[atom]
        return self._numbered(f"{self._graph.calls[op.call].module}/{_KERNELS.get(op.name, op.name)}")

    def _numbered(self, key: str) -> str:
        self._numbers[key] += 1
        return key if self._numbers[key] == 1 else f"{key}#{self._numbers[key]}"

    def _edges_into(self, op: Op) -> set[tuple[str, str]]:
        key = self._op_keys[op.id]
        read = [value for value in op.inputs if not self._is_own(self._graph.values[value], op)]
        return {(source, key) for value in read for source in self._sources(value) if source != key}

    def _is_own(self, value: Value, op: Op) -> bool:
        """Whether the value is hidden inside the atomic module that the op is part of."""
        atom = self._atoms[op.call]
        if atom is None or self._graph.calls[atom].kind == "function":
            return False
        if value.kind not in ("param", "buffer"):
            return value.kind == "const"
        owner = f"{self._graph.calls[atom].module}."
        name = value.name or ""
        return any(alias.startswith(owner) for alias in self._graph.tied.get(name, (name,)))

    def _sources(self, id_: int) -> set[str]:
        value = self._graph.values[id_]
        if value.producer is not None:
            return {self._op_keys[value.producer]}
        if value.kind == "const":
            return {f"c:{self._constants.setdefault(id_, len(self._constants))}"}
        return {f"{_PREFIXES[value.kind]}:{value.name}"}
