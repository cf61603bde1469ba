"""Completing a plan with its ends: inputs, outputs, loose parameters and constants, and the edges between all nodes."""

from __future__ import annotations

from torchrecorder.view.model import Edge, Node, NodeKind
from torchrecorder.view.plan import Plan
from torchrecorder.view.skips import skips
from torchrecorder.view.sources import Source, Sources, constant_ops, grouped
from torchrecorder.view.wiring import Read, Wiring

_SUMS = frozenset(("add", "add_", "sub", "sub_"))
_GHOST_FANOUT = 3
"""A parameter or constant read by more nodes than this is drawn beside each of them: long edges hide the structure."""


class Ends:
    """Joins the planned nodes with one another and with what lies outside."""

    def __init__(self, plan: Plan, *, constants: bool, weights: bool = False) -> None:
        self.plan = plan
        self.graph = plan.tree.graph
        self.wiring = Wiring(plan)
        self.leaves_out_constants = constants
        self.constant = constant_ops(plan, self.wiring) if constants else set()
        self.sources = Sources(plan, self.wiring, self.constant, weights=weights)
        self.before: list[Node] = []
        self.after: list[Node] = []
        self.source_of: dict[int, int] = {}
        """By value the node that brings it from outside."""
        self.edges: dict[tuple[int, int], int] = {}
        """Value by the pair of node ids it joins; ids of ends are negative until `joined` renumbers."""

    def joined(self) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """All nodes and edges, with their final ids."""
        self._draw_reads()
        self._draw_idle_calls()
        self._draw_outputs()
        return self._renumbered(self._checks() if self.leaves_out_constants else set())

    def _draw_reads(self) -> None:
        fed: dict[Source, dict[int, list[Read]]] = {}
        for read in self.wiring.reads():
            if read.tail is not None and not self._is_constant(read.origin):
                self._join(read.tail, read.head, read.value)
            elif read.op.id not in self.constant:
                source = self.sources.of(read)
                if source is not None:
                    fed.setdefault(source, {}).setdefault(read.head, []).append(read)
        for source, by_head in fed.items():
            self._draw_source(source, by_head)

    def _draw_source(self, source: Source, by_head: dict[int, list[Read]]) -> None:
        is_input = source.kind == "input"
        is_hub = not is_input and len(by_head) > _GHOST_FANOUT
        for heads in [[head] for head in by_head] if is_hub else [[*by_head]]:
            reads = [read for head in heads for read in by_head[head]]
            values = tuple(dict.fromkeys(read.origin for read in reads))
            box = None if is_input else self._common_box(heads)
            node = self._add(source.kind, source.name, values if is_input else values[:1], box=box, op=source.op)
            for read in reads:
                self._join(node, read.head, read.value)

    def _common_box(self, heads: list[int]) -> int | None:
        """The innermost box around all the heads."""
        paths = [self._boxes_around(self.plan.nodes[head].box) for head in heads]
        common: int | None = None
        for level in zip(*paths, strict=False):
            if len(set(level)) > 1:
                break
            common = level[0]
        return common

    def _boxes_around(self, box: int | None) -> list[int]:
        path = []
        while box is not None:
            path.append(box)
            box = self.plan.boxes[box].parent
        return path[::-1]

    def _draw_idle_calls(self) -> None:
        """A call that ran no op, because it raised or is a model that does nothing, still got its inputs."""
        for node in self.plan.nodes:
            if node.kind == "call" and not self.plan.tree.n_ops[node.calls[0]]:
                call = node.calls[0]
                inputs = self.graph.calls[call].inputs if call else self.graph.inputs
                for value in inputs.values():
                    tail = self._tail(value)
                    if tail != node.id:
                        self._join(tail, node.id, value)

    def _draw_outputs(self) -> None:
        idle = self.plan.node_of_call.get(self.plan.root) if not self.plan.tree.n_ops[self.plan.root] else None
        for name, values in self._outputs().items():
            node = self._add("output", name, tuple(dict.fromkeys(values)))
            for value in values:
                self._join(self._tail(value) if idle is None else idle, node, value)

    def _outputs(self) -> dict[str, list[int]]:
        root = self.plan.root
        paths = self.graph.outputs if root == 0 else {p: (v,) for p, v in self.graph.calls[root].outputs.items()}
        groups = grouped([*paths])
        found: dict[str, list[int]] = {}
        for path, values in paths.items():
            found.setdefault(groups[path], []).extend(values)
        return found

    def _tail(self, value: int) -> int:
        """The node that gives the value, made if it comes from outside and nothing else reads it."""
        origin = self.wiring.origin[value]
        tail = self.wiring.node_of_value(value)
        if tail is not None and not self._is_constant(origin):
            return tail
        if origin not in self.source_of:
            row = self.graph.values[origin]
            kind: NodeKind = "const" if self._is_constant(origin) else "input" if row.kind == "op" else row.kind
            name = self.sources.names.get(origin) or row.name or ""
            self._add(kind, name, (origin,), op=row.producer)
        return self.source_of[origin]

    def _is_constant(self, origin: int) -> bool:
        return self.graph.values[origin].producer in self.constant

    def _add(
        self, kind: NodeKind, name: str, values: tuple[int, ...], *, box: int | None = None, op: int | None = None
    ) -> int:
        node = Node(-1 - len(self.before) - len(self.after), kind, box, op=op, values=values, name=name)
        if kind == "output":
            self.after.append(node)
        else:
            self.before.append(node)
            for value in values:
                self.source_of.setdefault(value, node.id)
        return node.id

    def _join(self, tail: int, head: int, value: int) -> None:
        self.edges.setdefault((tail, head), value)

    def _checks(self) -> set[int]:
        """The nodes that only decide what the code does next: a number that no op reads, such as `mask.all()`.

        What feeds nothing but such nodes is one of them. A part that no op reads, `ids[:, -1]`, is one too, since the
        code asked for no more than its shape; but what computed the tensor that it is a part of is drawn.
        """
        if self.graph.info.failure is not None:
            return set()
        heads: dict[int, list[int]] = {}
        for tail, head in self.edges:
            heads.setdefault(tail, []).append(head)
        found: set[int] = set()
        parts: set[int] = set()
        for node in [*reversed(self.plan.nodes), *self.before]:
            below = heads.get(node.id, ())
            if not found.issuperset(below):
                continue
            if self._is_part(node):
                parts.add(node.id)
                found.add(node.id)
            elif (parts.isdisjoint(below) or node.kind not in ("op", "call")) if below else self._is_lone_number(node):
                found.add(node.id)
        return found

    def _is_part(self, node: Node) -> bool:
        return node.kind == "op" and node.op is not None and self.graph.ops[node.op].name == "getitem"

    def _is_lone_number(self, node: Node) -> bool:
        if node.kind != "op" or node.op is None or self.graph.ops[node.op].mutates:
            return False
        metas = [self.graph.values[value].meta for value in self.graph.ops[node.op].outputs]
        return bool(metas) and all(meta is not None and not meta.shape for meta in metas)

    def _renumbered(self, checks: set[int]) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        planned = [node for node in self.plan.nodes if node.op not in self.constant or node.kind != "op"]
        planned = [node for node in planned if node.id not in checks]
        before = [node for node in self.before if node.id not in checks]
        inputs = [node for node in before if node.kind == "input"]
        loose = [node for node in before if node.kind != "input"]
        order = [*inputs, *loose, *planned, *self.after]
        new = {node.id: position for position, node in enumerate(order)}
        nodes = tuple(node.moved(position) for position, node in enumerate(order))
        pairs = {(new[t], new[h]): value for (t, h), value in self.edges.items() if h not in checks}
        sums = [node.id for node in nodes if self._is_sum(node)]
        skipping = skips(len(nodes), [*pairs], sums)
        skipping -= {(t, h) for t, h in skipping if nodes[h].kind == "output"}  # leads out, not past
        edges = tuple(Edge(t, h, value, (t, h) in skipping) for (t, h), value in sorted(pairs.items()))
        return nodes, edges

    def _is_sum(self, node: Node) -> bool:
        return node.kind == "op" and node.op is not None and self.graph.ops[node.op].name in _SUMS
