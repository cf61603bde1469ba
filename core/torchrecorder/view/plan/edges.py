"""Completing a plan: inputs, outputs, loose parameters and constants, and the edges between all nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from torchrecorder.graph.model import Op
from torchrecorder.view import tuning
from torchrecorder.view.draft import Draft, Pair
from torchrecorder.view.facts import frames_around
from torchrecorder.view.model import Box, Node, NodeKind, boxes_around
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import ACTIVATIONS, LOSSES
from torchrecorder.view.plan.plan import Plan
from torchrecorder.view.plan.reads import Read, Reads, Source, Sources, grouped


class Ends:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.graph = plan, plan.tree.graph
        self.reads = Reads(plan)
        self.leaves_out_constants = plan.visible.contract
        self.constant = self.reads.constant_ops() if self.leaves_out_constants else set()
        self.sources = Sources(self.reads, self.constant)
        self.outlets = _Outlets(self.reads)
        self.before: list[Node] = []
        self.after: list[Node] = []
        self.source_of: dict[int, int] = {}
        """By value the node that brings it from outside."""
        self.edges: dict[Pair, int] = {}
        """Value by the pair of node ids it joins; ids of ends are negative until `joined` renumbers."""
        self.backs: dict[Pair, int] = {}
        """Likewise, of data that the next turn of a loop reads."""

    def joined(self) -> Draft:
        fed: dict[Source, dict[int, list[Read]]] = {}
        again = set[int]()
        for read in self.reads:
            if read.repeated and read.tail is None and self.sources.of(replace(read, repeated=False)) is not None:
                again.add(read.head)
            if read.is_back and read.tail is not None:
                if not self._is_constant(read.origin):
                    self.backs.setdefault((read.tail, read.head), read.value)
            elif read.tail is not None and not self._is_constant(read.origin):
                pair, aside = (read.tail, read.head), self.plan.visible.facts.aside
                if self.edges.setdefault(pair, read.value) in aside:  # data tells more
                    self.edges[pair] = read.value
                self.outlets.note(read.value, read.op)
            elif read.op.id not in self.constant and (source := self.sources.of(read)) is not None:
                fed.setdefault(source, {}).setdefault(read.head, []).append(read)
        # nodes whose later turns get what the turn before them gave, in the place of what the first one begins with
        begun, loops = {head for _, head in self.backs} - again, {box for _, box in self.plan.loops}
        for source, by_head in fed.items():
            is_input = source.kind == "input"
            is_hub = not is_input and len(by_head) > tuning.GHOST_FANOUT
            for heads in [[head] for head in by_head] if is_hub else [[*by_head]]:
                reads = [read for head in heads for read in by_head[head]]
                values = tuple(dict.fromkeys(read.origin for read in reads))
                paths = [[it.id for it in boxes_around(self.plan.boxes, self.plan.nodes[at].box)] for at in heads]
                outer = loops if not is_input and begun.issuperset(heads) else ()
                common = (box for box in paths[0] if all(box in path for path in paths) and box not in outer)
                box = None if is_input else next(common, None)
                node_id = self._add(source.kind, source.name, values if is_input else values[:1], box=box, op=source.op)
                for read in reads:
                    self.edges.setdefault((node_id, read.head), read.value)
        for node in self.plan.nodes:  # a call that ran no op, because it raised or does nothing, still got its inputs
            if node.kind == "call" and not self.plan.tree.n_ops[node.calls[0]]:
                call = node.calls[0]
                inputs = self.graph.calls[call].inputs if call else self.graph.inputs
                for value in inputs.values():
                    if (tail := self._tail(value)) != node.id:
                        self.edges.setdefault((tail, node.id), value)
        self._draw_outputs()
        self.outlets.mark()
        return self._draft(self._checks() if self.leaves_out_constants else set())

    def _draw_outputs(self) -> None:
        root = self.plan.root
        idle = self.plan.node_of_call.get(root) if not self.plan.tree.n_ops[root] else None
        paths = self._returned() if root == 0 else self._given_by(root)
        for values in paths.values():
            for value in values:
                self.outlets.note(value, None)
        names, layers = grouped([*paths]), {path: self.outlets.series(ids[-1]) for path, ids in paths.items() if ids}
        made = Counter((path.partition(".")[0], layer[0]) for path, layer in layers.items() if layer is not None)
        of_series = {head for (head, _), n in made.items() if n > 1}
        named: dict[str, tuple[list[int], tuple[str, ...]]] = {}  # the values that one node stands for, and their layer
        for path, values in paths.items():
            layer, (head, dot, _) = layers.get(path), path.partition(".")
            name = head if dot and (head in of_series or path.count(".") > 1) else names[path]
            differs = (f"of {self.outlets.giver(*layer)}",) if layer is not None and name == path else ()
            named.setdefault(name, ([], differs))[0].extend(values)
        said = self._said({name: values for name, (values, _) in named.items()})
        for name, (outputs, of_layer) in named.items():
            if name != next(iter(named)) and self._is_scattered(outputs):
                continue
            node = self._add("output", said[name], tuple(dict.fromkeys(outputs)), differs=of_layer)
            for value in outputs:
                self.edges.setdefault((self._tail(value) if idle is None else idle, node), value)

    def _said(self, paths: Mapping[str, Sequence[int]]) -> dict[str, str]:
        """By path of a part of the result, what the forward calls it, `mu`; the path itself where two are called so.

        Of a number the function or loss that made it.
        """
        root, end = self.plan.root, self.plan.tree.end[self.plan.root]
        alike = (row for row in self.graph.calls[root:end] if row.outputs == self.graph.calls[root].outputs)
        modules = [row.module for row in alike if row.module in self.graph.returned][:1]
        said = {path: "".join(self.graph.part(module, path) for module in modules) for path in paths}
        said = {
            path: said[path] or (path.isdigit() and self._maker(values[-1])) or path for path, values in paths.items()
        }
        return {path: name if [*said.values()].count(name) == 1 else path for path, name in said.items()}

    def _maker(self, value: int) -> str:
        """The outermost function that gave a tensor, or the op if it is a loss or an activation."""
        made = self.graph.values[self.reads.origin[value]].producer
        if made is None:
            return ""
        op = self.graph.ops[made]
        around = [*takewhile(lambda row: row.id != self.plan.root, self.graph.around(op.call))]
        if frames := frames_around(self.graph, around[-1].frame if around else op.frame):
            return self.graph.frames[frames[-1]].short
        name = "" if around else plain(op.name)
        return name if name in ACTIVATIONS or name.endswith(LOSSES) else ""

    def _returned(self) -> Mapping[str, tuple[int, ...]]:
        """Outputs, but for caches: later lists of what layers made and did not return, but kept in an object."""
        groups: dict[str, list[str]] = {}
        for path in self.graph.outputs if self.plan.visible.options.depth != "all" else ():
            groups.setdefault(path.partition(".")[0], []).append(path)
        later = [paths for paths in [*groups.values()][1:] if len(paths) > 1]
        caches = {path for paths in later if all(map(self._is_kept, paths)) for path in paths}
        return {path: values for path, values in self.graph.outputs.items() if path not in caches}

    def _is_scattered(self, outputs: Iterable[int]) -> bool:
        """Whether so many nodes give a list, as one of all hidden states, that its lines would cross all others."""
        is_asked = self.plan.root != 0 or self.plan.visible.options.depth == "all"
        return not is_asked and len({self.reads.node_of_value(value) for value in outputs}) > tuning.GIVERS

    def _is_kept(self, path: str) -> bool:
        made = [(value, self.graph.values[value].producer) for value in self.graph.outputs[path]]
        calls = [(value, self.graph.calls[self.graph.ops[op].call]) for value, op in made if op is not None]
        return bool(calls) and all(call.id and value not in call.outputs.values() for value, call in calls)

    def _given_by(self, call: int) -> dict[str, tuple[int, ...]]:
        given: dict[str, tuple[int, ...]] = {path: (value,) for path, value in self.graph.calls[call].outputs.items()}
        if call == self.plan.visible.root:
            return given
        passed = self.plan.visible.passed(call)  # around it that is drawn from where it comes
        given = {path: values for path, values in given.items() if values[0] not in passed}
        tree, is_read = self.plan.tree, self.plan.visible.is_read_outside
        # an inset is for other calls of the class too, of which something may read another output
        again = [row for row in self.graph.calls if tree.cls(row.id) == tree.cls(call)]
        read = {path for row in again for path, value in row.outputs.items() if is_read(value, row.id)}
        return {path: values for path, values in given.items() if path in read} or given

    def _tail(self, value: int) -> int:
        """Node that gives the value, made if it comes from outside and nothing else reads it."""
        origin = self.reads.origin[value]
        tail = self.reads.node_of_value(value)
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
        self,
        kind: NodeKind,
        name: str,
        values: tuple[int, ...],
        *,
        box: int | None = None,
        op: int | None = None,
        differs: tuple[str, ...] = (),
    ) -> int:
        id_ = -1 - len(self.before) - len(self.after)
        ops = self._making(op) if op is not None and op in self.constant else ()
        node = Node(id_, kind, box, op=op, ops=ops, values=values, name=name, differs=differs)
        if kind == "output":
            self.after.append(node)
        else:
            self.before.append(node)
            for value in values:
                self.source_of.setdefault(value, node.id)
        return node.id

    def _making(self, op: int) -> tuple[int, ...]:
        making, pending = set[int](), {op}
        while pending:
            making |= pending
            read = (self.reads.origin[value] for last in pending for value in self.graph.ops[last].inputs)
            makers = (self.graph.values[value].producer for value in read)
            pending = {made for made in makers if made is not None and made in self.constant} - making
        return tuple(sorted(making))

    def _checks(self) -> set[int]:
        """Nodes that only decide what the code does next: numbers that no op reads, and what feeds them alone.

        A part that no op reads is one too, since its shape alone was asked for; its tensor is drawn.
        """
        if self.graph.info.failure is not None:
            return set()
        heads: dict[int, list[int]] = {}
        for tail, head in (*self.edges, *self.backs):
            heads.setdefault(tail, []).append(head)
        checks: set[int] = set()
        parts: set[int] = set()
        for node in [*reversed(self.plan.nodes), *self.before]:
            below = heads.get(node.id, ())
            if not checks.issuperset(below):
                continue
            op = self.graph.ops[node.op] if node.kind == "op" and node.op is not None else None
            if op is not None and op.name == "getitem":
                parts.add(node.id)
                checks.add(node.id)
                continue
            if below:
                is_check = parts.isdisjoint(below) or node.kind not in ("op", "call")
            else:  # one number
                metas = [self.graph.values[value].meta for value in op.outputs] if op and not op.mutates else []
                is_check = bool(metas) and all(meta is not None and not meta.shape for meta in metas)
            if is_check:
                checks.add(node.id)
        return checks

    def _deciding(self, checks: set[int]) -> set[int]:
        """Nodes whose values decide a branch of the code; for one that is not drawn, those that feed it."""
        before: dict[int, list[int]] = {}
        for tail, head in self.edges if self.graph.decisions else ():
            before.setdefault(head, []).append(tail)
        deciding: set[int] = set()
        nodes = [self._drawn(value) for decision in self.graph.decisions for value in decision.values]
        while nodes:
            node = nodes.pop()
            if node in checks:
                nodes += before.get(node, ())
            elif node is not None:
                deciding.add(node)
        return deciding

    def _drawn(self, value: int) -> int | None:
        origin = self.reads.origin[value]
        tail = None if self._is_constant(origin) else self.reads.node_of_value(value)
        return self.source_of.get(origin) if tail is None else tail

    def _draft(self, checks: set[int]) -> Draft:
        read = {tail for tail, _ in self.edges}  # a repeat may give in the place of a constant what is none
        constants = {node.id for node in self.plan.nodes if node.kind == "op" and node.op in self.constant} - read
        inputs = [node for node in self.before if node.kind == "input"]
        loose = [node for node in self.before if node.kind != "input"]
        planned = [node for node in self.plan.nodes if node.id not in constants]
        order = [node for node in (*inputs, *loose, *planned) if node.id not in checks] + self.after
        place, deciding = {node.id: position for position, node in enumerate(order)}, self._deciding(checks)
        nodes = (replace(node, id=place[node.id], decides=node.id in deciding) for node in order)
        draft = Draft(self.graph, self.plan.boxes, nodes)
        for tail, head, value in sorted((place[t], place[h], v) for (t, h), v in self.edges.items() if h not in checks):
            draft.join(tail, head, value)
        draft.backs = {(place[t], place[h]): value for (t, h), value in self.backs.items() if {t, h} <= place.keys()}
        draft.settle()
        return draft


class _Outlets:
    """Layers of those drawn once that give data to the outside: a reader expects the last of a stack alone to do so."""

    def __init__(self, reads: Reads) -> None:
        self.plan, self.graph, self.reads = reads.plan, reads.graph, reads
        self._given: defaultdict[int, set[int]] = defaultdict(set)
        """By run the turns that something outside of it reads."""
        self._left: defaultdict[int, set[int]] = defaultdict(set)
        """Likewise by loop."""

    def note(self, value: int, reader: Op | None) -> None:
        inside = self._turns(reader.call) if reader is not None else {}
        for run, turn in self._made_in(value).items():
            if run not in inside:
                self._given[run].add(turn)
        producer = self.graph.values[self.reads.origin[value]].producer
        around = self.reads.turn_of.get(-1 if reader is None else reader.id, {})
        for loop, turn in self.reads.turn_of.get(-1 if producer is None else producer, {}).items():
            if loop not in around:
                self._left[loop].add(turn)

    def series(self, value: int) -> tuple[int, int] | None:
        """The series that gives data of several turns, and the turn of the value."""
        return next(((run, turn) for run, turn in self._made_in(value).items() if self._is_told(run)), None)

    def giver(self, run: int, turn: int) -> str:
        thing = self.plan.things[run]
        period = thing.period if isinstance(thing, Box) else 1
        return self.graph.calls[thing.calls[turn * period + period - 1]].module

    def mark(self) -> None:
        for loop, turns in self._left.items():
            (of_loop, box), n = self.plan.loops[loop], len(turns)
            if of_loop.repetition == "loop" and turns != {len(of_loop.turns) - 1}:
                which = f"outputs ×{n}" if n == len(of_loop.turns) else f"{n} outputs"
                self.plan.boxes[box] = replace(self.plan.boxes[box], differs=(which,))
        for run, turns in self._given.items():
            if not self._is_told(run):
                continue
            thing = self.plan.things[run]
            names = [self.giver(run, turn).rpartition(".")[2] for turn in sorted(turns)]
            which = f"outputs {', '.join(names)}" if all(name.isdigit() for name in names) else f"{len(turns)} outputs"
            which = f"outputs ×{thing.repeat}" if len(turns) == thing.repeat else which
            marked = replace(thing, differs=(*thing.differs, which))
            if isinstance(marked, Box):
                self.plan.boxes[thing.id] = marked
            else:
                self.plan.nodes[thing.id] = marked

    def _is_told(self, run: int) -> bool:
        thing, turns = self.plan.things[run], self._given[run]
        return thing.repetition == "series" and not turns <= {thing.repeat - 1}

    def _made_in(self, value: int) -> dict[int, int]:
        producer = self.graph.values[self.reads.origin[value]].producer
        return {} if producer is None else self._turns(self.graph.ops[producer].call)

    def _turns(self, call: int) -> dict[int, int]:
        turns: dict[int, int] = {}
        for around in self.graph.around(call):
            turns = self.plan.turns.get(around.id, {}) | turns
        return turns
