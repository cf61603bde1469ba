"""A Graph as torchrecorder 1.0.3 shows models: autograd's nodes as operations, and its nodes, scopes and names.

1.0.3 walks through autograd's graph where the call of a module begins or ends; the same walk is made here, through
plain data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from torchrecorder.graph import Call, Graph, Op, Value
from torchrecorder.graph.edit import renumbered
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, TensorNode


def autograd_graph(graph: Graph) -> Graph:
    """The Graph with the nodes that its ops have in autograd's graph in the place of those ops.

    The target of such an op is its name. Ops without nodes stay: autograd did not follow them, or none were kept.
    """
    rows = _AutogradOps(graph)
    for value in graph.values:
        rows.add(value)
    return renumbered(replace(graph, ops=tuple(rows.ops), values=tuple(rows.values)))


class _AutogradOps:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._done: set[int] = set()
        self._new_ids = count(len(graph.values))
        self.ops: list[Op] = []
        self.values: list[Value] = []
        """Those of the Graph, by their ids in it, and new ones."""

    def add(self, value: Value) -> None:
        """Add a value in the order of the Graph, and with the first one of an op all that it made."""
        if value.producer is None:
            self.values.append(value)
        elif value.producer not in self._done:
            self._done.add(value.producer)
            self._op(self._graph.ops[value.producer])

    def _op(self, op: Op) -> None:
        nodes, inside = op.autograd, list[int]()
        given = {output for node in nodes for output in node.outputs}
        rest = tuple(output for output in op.outputs if output not in given)
        read = {id_ for node in nodes for id_ in node.inputs}
        beside = [id_ for id_ in op.inputs if id_ not in read]
        if not nodes:
            self._made(op, op.inputs, op.outputs)
        for place, node in enumerate(nodes):
            inputs = [inside[~id_] if id_ < 0 else id_ for id_ in node.inputs]
            outputs = (*node.outputs, *rest) if place == len(nodes) - 1 else node.outputs
            is_whole = bool({*op.outputs[:1]} & {*outputs})
            named = replace(op, name=node.name, target=node.name, autograd=())
            if not is_whole:
                named = replace(named, kernels=(), flops=None)
            self._made(named, [*inputs, *beside] if is_whole else inputs, outputs, ~place in read)
            inside.append(self.values[-1].id)

    def _made(self, op: Op, inputs: Sequence[int], outputs: Sequence[int], is_read_inside: bool = False) -> None:
        """Add an op with its results; behind them one that has no value in the Graph, if it is read."""
        id_ = len(self.ops)
        made = [replace(self._graph.values[output], producer=id_, index=i) for i, output in enumerate(outputs)]
        if is_read_inside or not outputs:
            made.append(Value(next(self._new_ids), "op", id_, len(outputs)))
        self.values += made
        mutates = tuple(output for output in outputs if output in op.mutates)
        ids = tuple(value.id for value in made)
        self.ops.append(replace(op, id=id_, inputs=tuple(dict.fromkeys(inputs)), outputs=ids, mutates=mutates))


@dataclass(slots=True)
class ClassicNodes:
    """Nodes for a renderer of 1.0.3: numbers in the place of live objects, and rows of a Graph as `fn`."""

    nodes: dict[int, BaseNode] = field(default_factory=dict)
    edges: set[tuple[int, int]] = field(default_factory=set)


def classic_nodes(graph: Graph) -> ClassicNodes:
    """The nodes that 1.0.3 would have recorded, in its order, of an `autograd_graph`."""
    walk = _Walk(graph)
    walk.layers()
    walk.inputs()
    running: list[Call] = []
    for call in graph.calls:
        while running and running[-1].id != call.parent:
            walk.leave(running.pop())
        walk.enter(call)
        running.append(call)
    while running:
        walk.leave(running.pop())
    if graph.info.failure is not None:
        walk.unfinished()
    walk.name_outputs()
    return walk.found


class _Walk:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.found = ClassicNodes()
        self.nodes = self.found.nodes
        self._names: Counter[str] = Counter()
        self._layers: dict[str, int] = {}
        self._of_value: dict[int, int] = {}
        self._of_op: dict[int, int] = {}
        self._taken: dict[int, list[int]] = {}
        self._takers: dict[int, set[int]] = {}
        """By value, the calls of layers that were given it, if none had made it."""
        self._given: set[int] = set()
        self._params: dict[str, list[Value]] = {}
        for value in graph.values:
            if value.kind == "param" and value.name is not None:
                self._params.setdefault(value.name.rpartition(".")[0], []).append(value)
        self._functions = [_outermost_function(graph, op) for op in graph.ops]
        self._sources: dict[int, list[int]] = {}
        """By op, the values it was made from; the ops in a custom autograd function are one, the first of them."""
        first: dict[int, int] = {}
        self._unit = [
            op.id if f is None else first.setdefault(f, op.id) for op, f in zip(graph.ops, self._functions, strict=True)
        ]
        for op in graph.ops:
            inside = {v for v in op.inputs if self._producer(v) == self._unit[op.id]}
            self._sources.setdefault(self._unit[op.id], []).extend(v for v in op.inputs if v not in inside)
        self._is_live = self._live_ops()

    def layers(self) -> None:
        for path, module in self.graph.modules.items():
            if path.startswith("~"):  # it is not registered, and 1.0.3 puts what it does into the layer around it
                continue
            holder, _, key = path.rpartition(".")
            kind = module.cls.rpartition(".")[2]
            parent = self._layers.get(holder) if path else None
            depth = 0 if parent is None else self.nodes[parent].depth + 1
            self._layers[path] = self._add(LayerNode(f"{key}\n({kind})" if path else kind, module, depth, parent))

    def inputs(self) -> None:
        values = self.graph.inputs
        for number, value in enumerate(values.values(), 1):
            name = "Input" if len(values) == 1 else f"Input-{number}"
            self._of_value[value] = self._add(TensorNode(name, self.graph.values[value], 0))
            self._names["Tensor"] += 1

    def enter(self, call: Call) -> None:
        """As 1.0.3's `prehook`: the parameters of a layer, what made its inputs, and those."""
        layer = self._layer(call)
        if layer is None:
            return
        for value in self._params.get(call.module, ()):
            self._param(value, layer)
        scope = self._scope_before(call)
        if scope is not None:
            for id_ in dict.fromkeys(call.inputs.values()):
                self._take(id_, layer, scope)
                self._takers.setdefault(id_, set()).add(call.id)
        self._taken[call.id] = [self._of_value[v] for v in call.inputs.values() if v in self._of_value]

    def leave(self, call: Call) -> None:
        """As 1.0.3's `posthook`: what made the results of a layer, and those."""
        layer = self._layer(call)
        if layer is None or not call.ok:
            return
        for id_ in dict.fromkeys(call.outputs.values()):
            value = self.graph.values[id_]
            known = self._param(value, layer) if value.kind == "param" else self._of_value.get(id_)
            if known is not None and value.kind != "param" and known not in self._taken[call.id]:
                node, beside = self.nodes[known], self.nodes[layer]
                if node.depth > beside.depth:  # a layer inside gave it, and the scope around this one gives it too
                    node.depth, node.parent = beside.depth, beside.parent
                continue
            given = self._tensor(value, layer)
            origin, through = self._origin(value, known, layer)
            self._of_value[id_] = given
            self._given.add(id_)
            if origin is None:
                for source in through or self._taken[call.id]:
                    self._edge(source, layer)
                origin = layer
            self._edge(origin, given)

    def unfinished(self) -> None:
        """Nodes of ops since the last layer began or ended, before the forward raised."""
        for op in self.graph.ops:
            scope = self._around(op.call)
            if scope is not None and self._is_live[self._unit[op.id]] and op.kind != "pass":
                self._walk(self._unit[op.id], scope)

    def name_outputs(self) -> None:
        outputs = self.graph.outputs
        for number, (path, values) in reversed([*enumerate(outputs.items(), 1)]):
            if values and values[0] in self._of_value:
                self.nodes[self._of_value[values[0]]].name = f"Output-{number}" if path else "Output"

    def _take(self, id_: int, layer: int, scope: int) -> None:
        value = self.graph.values[id_]
        if id_ in self._of_value:
            return
        if value.kind == "param":
            self._param(value, scope)
            return
        origin = self._made_by(id_)
        if origin is not None:
            self._walk(origin, scope)
        taken = self._of_value[id_] = self._tensor(value, layer)
        if origin is not None:
            self._edge(self._of_op[origin], taken)

    def _origin(self, value: Value, known: int | None, layer: int) -> tuple[int | None, list[int]]:
        """The node that made a result; without one, what it came from unchanged, as far as that is known."""
        if value.kind == "param":
            return known, []
        if known is not None:
            return None, [known]
        before = self._unchanged(value.id)
        if before != value.id:
            return None, [self._of_value[before]] if before in self._of_value else []
        origin = self._made_by(value.id)
        if origin is None:
            return None, []
        self._walk(origin, layer)
        return self._of_op[origin], []

    def _walk(self, op: int, scope: int) -> None:
        """As 1.0.3's `op_acc`: a node for an op and for each before it that has none yet."""
        if op in self._of_op:
            return
        self._op(op, scope)
        path = [(op, iter(self._sources[op]))]
        while path:
            current, sources = path[-1]
            for source in sources:
                id_ = self._unchanged(source)
                if id_ in self._of_value and self._is_seen(id_, current):
                    self._edge(self._of_value[id_], self._of_op[current])
                elif self.graph.values[id_].kind == "param":
                    self._edge(self._param(self.graph.values[id_], scope), self._of_op[current])
                elif (before := self._made_by(id_)) is not None:
                    is_new = before not in self._of_op
                    if is_new:
                        self._op(before, scope)
                    self._edge(self._of_op[before], self._of_op[current])
                    if is_new:
                        path.append((before, iter(self._sources[before])))
                        break
            else:
                path.pop()

    def _is_seen(self, value: int, op: int) -> bool:
        """1.0.3 gives the node of a value to layers only; other ops read what made it."""
        takers, made = self._takers.get(value, ()), self._made_by(value)
        if value in self._given or made is None or self.graph.ops[made].target != self.graph.ops[made].name:
            return True
        return any(call.id in takers for call in self.graph.around(self.graph.ops[op].call))

    def _op(self, op: int, scope: int) -> None:
        row, function = self.graph.ops[op], self._functions[op]
        name = row.name if function is None else f"{self.graph.calls[function].module}Backward"
        self._of_op[op] = self._add(OpNode(self._numbered(name), row, self.nodes[scope].depth + 1, scope))

    def _param(self, value: Value, scope: int) -> int:
        """The node of a parameter, in the layer that owns it, else in the one where it is met."""
        if value.id not in self._of_value:
            owner, _, key = (value.name or "").rpartition(".")
            layer = self._layers.get(owner)
            number = self._numbered("Parameter")
            name, layer = (number, scope) if layer is None else (key, layer)
            self._of_value[value.id] = self._add(ParamNode(name, value, self.nodes[layer].depth + 1, layer))
        return self._of_value[value.id]

    def _tensor(self, value: Value, layer: int) -> int:
        beside = self.nodes[layer]
        return self._add(TensorNode(self._numbered("Tensor"), value, beside.depth, beside.parent))

    def _numbered(self, name: str) -> str:
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}-{self._names[name]}"

    def _add(self, node: BaseNode) -> int:
        self.nodes[len(self.nodes)] = node
        return len(self.nodes) - 1

    def _edge(self, tail: int, head: int) -> None:
        if tail != head:
            self.found.edges.add((tail, head))

    def _layer(self, call: Call) -> int | None:
        return self._layers.get(call.module) if call.kind == "module" else None

    def _around(self, call: int | None) -> int | None:
        layers = map(self._layer, self.graph.around(call))
        return next((layer for layer in layers if layer is not None), None)

    def _scope_before(self, call: Call) -> int | None:
        """Scope of ops that ran before a layer: the one around it, or another that has and calls it."""
        caller, module = self._around(call.parent), self.graph.modules[call.module]
        holders = [self._layers.get(path.rpartition(".")[0]) for path in (module.fqn, *module.aliases) if path]
        return caller if caller in holders else next(iter(holders), None)

    def _producer(self, value: int) -> int | None:
        producer = self.graph.values[value].producer
        return None if producer is None else self._unit[producer]

    def _made_by(self, value: int) -> int | None:
        op = self._producer(value)
        return op if op is not None and self._is_live[op] else None

    def _unchanged(self, value: int) -> int:
        """Argument of a layer that returns it, if the result has no node of its own."""
        while value not in self._of_value:
            producer = self.graph.values[value].producer
            if producer is None or self.graph.ops[producer].kind != "pass" or not self.graph.ops[producer].inputs:
                break
            value = self.graph.ops[producer].inputs[0]
        return value

    def _live_ops(self) -> dict[int, bool]:
        """By op, whether an input, a parameter or an end of a layer leads to it, however far back."""
        layers = [call for call in self.graph.calls if call.kind == "module" and not call.module.startswith("~")]
        passed = {value for call in layers for value in (*call.inputs.values(), *call.outputs.values())}
        found: dict[int, bool] = {}
        for op in self.graph.ops:
            values = [self.graph.values[id_] for id_ in op.inputs]
            unit, made_by = self._unit[op.id], (self._unit[it.producer] for it in values if it.producer is not None)
            is_given = any(it.kind in ("input", "param") or it.id in passed for it in values)
            found[unit] = found.get(unit, False) or is_given or any(map(found.get, made_by))
        return found


def _outermost_function(graph: Graph, op: Op) -> int | None:
    """The call of the custom autograd function that an op ran in, if it did."""
    found, at = None, op.call
    while graph.calls[at].kind == "function" and found != at:
        found, at = at, graph.calls[at].parent or 0
    return found
