"""Completing a plan with its ends: inputs, outputs, loose parameters and constants, and the edges between all nodes."""

from __future__ import annotations

from dataclasses import replace

from torchrecorder.graph.plan import Plan
from torchrecorder.graph.skips import skips
from torchrecorder.graph.sources import Source, Sources, constant_ops, grouped
from torchrecorder.graph.viewmodel import Edge, Node
from torchrecorder.graph.wiring import Read, Wiring

_SUMS = frozenset(("add", "add_", "sub", "sub_"))
_GHOST_FANOUT = 3
"""A parameter or constant read by more nodes than this is drawn beside each of them: long edges hide the structure."""


class Ends:
    """Joins the planned nodes with one another and with what lies outside."""

    def __init__(self, plan: Plan, *, constants: bool) -> None:
        self.plan = plan
        self.graph = plan.tree.graph
        self.wiring = Wiring(plan)
        self.constant = constant_ops(plan, self.wiring) if constants else set()
        self.sources = Sources(plan, self.wiring, self.constant)
        self.before: list[Node] = []
        self.after: list[Node] = []
        self.edges: dict[tuple[int, int], int] = {}
        """Value by the pair of node ids it joins; ids of ends are negative until `joined` renumbers."""

    def joined(self) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """All nodes and edges, with their final ids."""
        fed: dict[Source, list[Read]] = {}
        for read in self.wiring.reads():
            if read.tail is not None and self._made_by_constants(read.origin) is False:
                self.edges.setdefault((read.tail, read.head), read.value)
            elif read.op.id not in self.constant:
                source = self.sources.of(read)
                if source is not None:
                    fed.setdefault(source, []).append(read)
        for source, reads in fed.items():
            self._draw_source(source, reads)
        self._failed_calls()
        self._draw_outputs()
        return self._renumbered()

    def _made_by_constants(self, origin: int) -> bool:
        return self.graph.values[origin].producer in self.constant

    def _draw_source(self, source: Source, reads: list[Read]) -> None:
        heads = list(dict.fromkeys(read.head for read in reads))
        is_end = source.kind == "input"
        split = not is_end and len(heads) > _GHOST_FANOUT
        for some in ([head] for head in heads) if split else (heads,):
            here = [read for read in reads if read.head in some]
            node = self._add_source(source, here, None if is_end else self._common_box(some))
            for read in here:
                self.edges.setdefault((node, read.head), read.value)

    def _add_source(self, source: Source, reads: list[Read], box: int | None) -> int:
        values = tuple(dict.fromkeys(read.origin for read in reads)) if source.kind == "input" else (reads[0].origin,)
        id_ = -1 - len(self.before) - len(self.after)
        self.before.append(
            Node(
                id_,
                source.kind,
                box,
                op=source.op,
                values=values,
                name=source.name.lstrip("#0123456789"),
            )
        )
        return id_

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

    def _failed_calls(self) -> None:
        """A call that raised before its first op still got its inputs."""
        for node in self.plan.nodes:
            if node.kind == "call" and not self.plan.tree.n_ops[node.calls[0]]:
                for value in self.graph.calls[node.calls[0]].inputs.values():
                    tail = self.wiring.node_of_value(value)
                    if tail is not None and tail != node.id:
                        self.edges.setdefault((tail, node.id), value)

    def _draw_outputs(self) -> None:
        for name, values in self._outputs().items():
            id_ = -1 - len(self.before) - len(self.after)
            self.after.append(Node(id_, "output", None, values=tuple(dict.fromkeys(values)), name=name))
            for value in values:
                tail = self._tail_of_output(value)
                if tail is not None:
                    self.edges.setdefault((tail, id_), value)

    def _outputs(self) -> dict[str, list[int]]:
        root = self.plan.root
        paths = self.graph.outputs if root == 0 else {p: (v,) for p, v in self.graph.calls[root].outputs.items()}
        groups = grouped([*paths])
        found: dict[str, list[int]] = {}
        for path, values in paths.items():
            found.setdefault(groups[path], []).extend(values)
        return found

    def _tail_of_output(self, value: int) -> int | None:
        origin = self.wiring.origin[value]
        tail = self.wiring.node_of_value(value)
        if tail is not None and not self._made_by_constants(origin):
            return tail
        return next((node.id for node in self.before if origin in node.values), None) or self._loose_output(origin)

    def _loose_output(self, origin: int) -> int:
        """A source for an output that no op touched."""
        value = self.graph.values[origin]
        kind = "input" if value.kind in ("input", "op") else value.kind
        name = self.sources.names.get(origin) or value.name or ""
        id_ = -1 - len(self.before) - len(self.after)
        self.before.append(Node(id_, kind, None, op=value.producer, values=(origin,), name=name))
        return id_

    def _renumbered(self) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        hidden = {node.id for node in self.plan.nodes if node.op in self.constant}
        planned = [node for node in self.plan.nodes if node.id not in hidden]
        inputs = [node for node in self.before if node.kind == "input"]
        loose = [node for node in self.before if node.kind != "input"]
        order = [*inputs, *loose, *planned, *self.after]
        new = {node.id: position for position, node in enumerate(order)}
        nodes = tuple(replace(node, id=new[node.id]) for node in order)
        pairs = {(new[t], new[h]): value for (t, h), value in self.edges.items()}
        sums = [node.id for node in nodes if node.op is not None and self._is_sum(node)]
        skipping = skips(len(nodes), [*pairs], sums)
        edges = tuple(Edge(t, h, value, (t, h) in skipping) for (t, h), value in sorted(pairs.items()))
        return nodes, edges

    def _is_sum(self, node: Node) -> bool:
        return node.kind == "op" and node.op is not None and self.graph.ops[node.op].name in _SUMS
